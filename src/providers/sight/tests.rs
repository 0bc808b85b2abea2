//! What is shown within a budget, in which order, and to whom.

use super::*;
use crate::providers::{
    Loaded,
    formats::samples::{assistant, call, picture, settings, tool, user},
};
use futures::future::BoxFuture;
use imaging::Region;
use std::sync::Mutex;

/// Files of so many bytes each; some cannot be loaded. Remembers what it was asked for.
#[derive(Default)]
struct Shelf {
    bytes: usize,
    lost: Vec<u128>,
    asked: Mutex<Vec<(u128, u32)>>,
}

impl Shelf {
    fn of(bytes: usize) -> Self {
        Self { bytes, ..Self::default() }
    }

    fn load(&self, file: &Attachment, mime: &str) -> Option<Loaded> {
        let number = number(file);
        let there = !self.lost.contains(&number);
        there.then(|| Loaded { mime: mime.into(), bytes: vec![number as u8; self.bytes].into() })
    }
}

impl MediaSource for Shelf {
    fn picture<'a>(&'a self, shown: &'a Shown, longest: u32) -> BoxFuture<'a, Option<Loaded>> {
        self.asked.lock().unwrap().push((number(&shown.attachment), longest));
        Box::pin(async { self.load(&shown.attachment, "image/jpeg") })
    }

    fn file<'a>(&'a self, file: &'a Attachment) -> BoxFuture<'a, Option<Loaded>> {
        self.asked.lock().unwrap().push((number(file), 0));
        Box::pin(async { self.load(file, &file.mime_type) })
    }
}

fn number(file: &Attachment) -> u128 {
    file.attachment_id.0.as_u128()
}

fn file(number: u128, mime: &str) -> Attachment {
    Attachment { mime_type: mime.into(), width: None, height: None, ..picture(number) }
}

fn pictures(numbers: impl IntoIterator<Item = u128>) -> Vec<Attachment> {
    numbers.into_iter().map(picture).collect()
}

fn prompt(messages: Vec<PromptMessage>) -> Prompt {
    Prompt { messages, ..Prompt::default() }
}

fn look(id: &str, shown: Shown) -> PromptMessage {
    PromptMessage::Tool {
        call_id: id.into(),
        name: "look_at_image".into(),
        text: "Seen.".into(),
        shown: vec![shown],
    }
}

fn sight(pictures: usize, bytes: usize) -> Sight {
    Sight { pictures, bytes, ..Sight::of(Vendor::Anthropic, "a-model", true) }
}

/// The numbers of the files a request shows, in its order.
async fn seen(sight: Sight, prompt: &Prompt, shelf: &Shelf) -> Vec<u128> {
    let album = sight.look(prompt, shelf).await;
    let shown = prompt.messages.iter().flat_map(|message| [given(message), looked(message)]).flatten();
    shown.filter(|shown| album.has(shown)).map(|shown| number(&shown.attachment)).collect()
}

#[tokio::test]
async fn the_most_important_are_shown_up_to_the_count() {
    let prompt = prompt(vec![user("these", pictures(1..=5))]);
    assert_eq!(seen(sight(3, 1000), &prompt, &Shelf::of(10)).await, [1, 2, 3]);
}

#[tokio::test]
async fn all_together_stay_within_the_bytes() {
    let prompt = prompt(vec![user("these", pictures(1..=5))]);
    let shelf = Shelf::of(10);
    assert_eq!(seen(sight(9, 25), &prompt, &shelf).await, [1, 2]);
    assert_eq!(seen(sight(9, 9), &prompt, &shelf).await, [0u128; 0]);
}

#[tokio::test]
async fn what_cannot_be_loaded_leaves_its_place_to_the_next() {
    let prompt = prompt(vec![user("these", pictures(1..=5))]);
    let shelf = Shelf { lost: vec![1, 3], ..Shelf::of(10) };
    assert_eq!(seen(sight(3, 1000), &prompt, &shelf).await, [2, 4, 5]);
}

#[tokio::test]
async fn a_large_file_leaves_room_for_smaller_pictures() {
    let large = Attachment { size: 500, ..file(7, PDF) };
    let prompt = prompt(vec![user("these", vec![large, picture(1)])]);
    let shelf = Shelf::of(10);
    assert_eq!(seen(sight(3, 100), &prompt, &shelf).await, [1]);
    assert_eq!(*shelf.asked.lock().unwrap(), [(1, 1568)], "it was not even fetched");
}

#[tokio::test]
async fn a_file_is_shown_once_however_often_it_is_named() {
    let prompt = prompt(vec![user("these", pictures([1, 1, 2]))]);
    let shelf = Shelf::of(10);
    let album = sight(2, 1000).look(&prompt, &shelf).await;
    assert_eq!(*shelf.asked.lock().unwrap(), [(1, 1568), (2, 1568)]);
    assert!(album.has(&Shown::whole(picture(2))));
}

#[tokio::test]
async fn a_look_comes_first_and_the_last_one_before_the_others() {
    let part = Shown { region: Region::new(0.0, 0.0, 500.0, 500.0).ok(), ..Shown::whole(picture(8)) };
    let prompt = prompt(vec![
        user("these", pictures([1, 2])),
        assistant("", vec![call("a", "look_at_image", "{}")]),
        look("a", part),
        assistant("", vec![call("b", "look_at_image", "{}")]),
        look("b", Shown { grid: true, ..Shown::whole(picture(9)) }),
    ]);
    let shelf = Shelf::of(10);
    assert_eq!(seen(sight(4, 30), &prompt, &shelf).await, [1, 8, 9]);
    let asked: Vec<u128> = shelf.asked.lock().unwrap().iter().map(|(number, _)| *number).collect();
    assert_eq!(asked[..3], [9, 8, 1]);
}

#[tokio::test]
async fn many_looks_leave_half_of_the_places_to_what_the_turn_is_about() {
    let mut messages = vec![user("these", pictures(1..=3))];
    messages.extend((11..=16).map(|number| look(&number.to_string(), Shown::whole(picture(number)))));
    let (prompt, shelf) = (prompt(messages), Shelf::of(10));
    assert_eq!(seen(sight(4, 1000), &prompt, &shelf).await, [1, 2, 15, 16]);
    assert_eq!(
        seen(sight(8, 1000), &prompt, &shelf).await,
        [1, 2, 3, 12, 13, 14, 15, 16],
        "and fill what is left"
    );
}

#[tokio::test]
async fn pictures_are_as_large_as_the_vendor_shows_them_and_looks_large_enough_to_read() {
    let closer = Shown { grid: true, ..Shown::whole(picture(2)) };
    let prompt =
        prompt(vec![user("this", pictures([1])), look("a", closer), look("b", Shown::whole(picture(3)))]);
    for (vendor, longest) in [(Vendor::OpenAi, 1280), (Vendor::Anthropic, 1568), (Vendor::Gemini, 1536)] {
        let shelf = Shelf::of(10);
        Sight::of(vendor, "a-model", true).look(&prompt, &shelf).await;
        assert_eq!(
            *shelf.asked.lock().unwrap(),
            [(3, longest), (2, LOOK_LONGEST), (1, longest)],
            "{vendor:?}"
        );
    }
}

#[tokio::test]
async fn pdfs_and_sound_go_only_to_who_takes_them() {
    let files = [(1, PDF), (2, "audio/mpeg"), (3, "audio/opus"), (4, "video/mp4"), (5, "text/plain")];
    let files = files.map(|(number, mime)| file(number, mime));
    let prompt = prompt(vec![user("these", [pictures([9]), files.to_vec()].concat())]);
    let seen_by = async |vendor, model, official| {
        seen(Sight::of(vendor, model, official), &prompt, &Shelf::of(10)).await
    };
    assert_eq!(seen_by(Vendor::Anthropic, "claude", true).await, [9, 1]);
    assert_eq!(seen_by(Vendor::Gemini, "gemini", true).await, [9, 1, 2, 3]);
    assert_eq!(seen_by(Vendor::OpenAi, "gpt", true).await, [9, 1]);
    assert_eq!(seen_by(Vendor::OpenAi, "gpt-audio", true).await, [9, 1, 2]);
    assert_eq!(seen_by(Vendor::OpenAi, "gpt-audio", false).await, [9], "a server of one's own refuses them");
}

#[tokio::test]
async fn a_voice_message_goes_by_the_name_vendors_know() {
    let voice = file(3, "audio/opus");
    let prompt = prompt(vec![user("listen", vec![voice.clone()])]);
    let album = Sight::of(Vendor::Gemini, "gemini", true).look(&prompt, &Shelf::of(10)).await;
    let shown = [Shown::whole(voice)];
    let mimes: Vec<_> = album.of(&shown).map(|(_, loaded)| loaded.mime.clone()).collect();
    assert_eq!(mimes, ["audio/ogg"]);
}

#[tokio::test]
async fn openai_is_given_a_pdf_as_a_file_and_its_likes_only_the_marker() {
    let text = "what does it say?\n[Attachment ID: 00000000-0000-0000-0000-000000000007]";
    let prompt = prompt(vec![user(text, vec![file(7, PDF)])]);
    let content = async |official| {
        let album = Sight::of(Vendor::OpenAi, "gpt", official).look(&prompt, &Shelf::of(3)).await;
        let body = Vendor::OpenAi.request(&settings("gpt"), &prompt, &album);
        body["messages"][0]["content"].clone()
    };
    let parts = content(true).await;
    assert_eq!(parts[2]["file"]["file_data"], "data:application/pdf;base64,BwcH");
    assert_eq!(content(false).await, text);
}

#[tokio::test]
async fn a_result_without_a_look_shows_nothing() {
    let prompt = prompt(vec![user("hi", Vec::new()), tool("a", "done")]);
    assert_eq!(seen(sight(3, 100), &prompt, &Shelf::of(1)).await, [0u128; 0]);
}
