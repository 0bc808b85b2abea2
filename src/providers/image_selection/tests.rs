//! Order, limits and file types per vendor.

use super::*;
use crate::providers::{
    LoadedFile,
    formats::samples::{assistant, call, picture, settings, tool, user},
};
use futures::future::BoxFuture;
use imaging::Region;
use std::sync::Mutex;

/// Files of `bytes` bytes each; the `lost` ones cannot be loaded. Records every request.
#[derive(Default)]
struct StubMedia {
    bytes: usize,
    lost: Vec<u128>,
    asked: Mutex<Vec<(u128, u32)>>,
}

impl StubMedia {
    fn of(bytes: usize) -> Self {
        Self { bytes, ..Self::default() }
    }

    fn load(&self, file: &Attachment, mime: &str) -> Option<LoadedFile> {
        let number = number(file);
        let there = !self.lost.contains(&number);
        there.then(|| LoadedFile { mime: mime.into(), bytes: vec![number as u8; self.bytes].into() })
    }
}

impl MediaSource for StubMedia {
    fn picture<'a>(&'a self, shown: &'a ShownFile, longest: u32) -> BoxFuture<'a, Option<LoadedFile>> {
        self.asked.lock().unwrap().push((number(&shown.attachment), longest));
        Box::pin(async { self.load(&shown.attachment, "image/jpeg") })
    }

    fn file<'a>(&'a self, file: &'a Attachment) -> BoxFuture<'a, Option<LoadedFile>> {
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

fn look(id: &str, shown: ShownFile) -> PromptMessage {
    PromptMessage::Tool {
        call_id: id.into(),
        name: "look_at_image".into(),
        text: "Seen.".into(),
        shown: vec![shown],
    }
}

fn limits(pictures: usize, bytes: usize) -> SelectionLimits {
    SelectionLimits {
        max_pictures: pictures,
        max_bytes: bytes,
        ..SelectionLimits::of(Vendor::Anthropic, "a-model", true)
    }
}

/// The numbers of the files a request shows, in its order.
async fn seen(limits: SelectionLimits, prompt: &Prompt, media: &StubMedia) -> Vec<u128> {
    let files = limits.load_files(prompt, media).await;
    let shown =
        prompt.messages.iter().flat_map(|message| [shown_by_user(message), shown_by_tool(message)]).flatten();
    shown.filter(|shown| files.contains(shown)).map(|shown| number(&shown.attachment)).collect()
}

#[tokio::test]
async fn the_most_important_files_are_shown_up_to_the_count() {
    let prompt = prompt(vec![user("these", pictures(1..=5))]);
    assert_eq!(seen(limits(3, 1000), &prompt, &StubMedia::of(10)).await, [1, 2, 3]);
}

#[tokio::test]
async fn the_total_size_is_limited() {
    let prompt = prompt(vec![user("these", pictures(1..=5))]);
    let media = StubMedia::of(10);
    assert_eq!(seen(limits(9, 25), &prompt, &media).await, [1, 2]);
    assert_eq!(seen(limits(9, 9), &prompt, &media).await, [0u128; 0]);
}

#[tokio::test]
async fn a_file_that_cannot_be_loaded_does_not_count() {
    let prompt = prompt(vec![user("these", pictures(1..=5))]);
    let media = StubMedia { lost: vec![1, 3], ..StubMedia::of(10) };
    assert_eq!(seen(limits(3, 1000), &prompt, &media).await, [2, 4, 5]);
}

#[tokio::test]
async fn a_file_that_is_too_large_is_skipped() {
    let large = Attachment { size: 500, ..file(7, PDF) };
    let prompt = prompt(vec![user("these", vec![large, picture(1)])]);
    let media = StubMedia::of(10);
    assert_eq!(seen(limits(3, 100), &prompt, &media).await, [1]);
    assert_eq!(*media.asked.lock().unwrap(), [(1, 1568)], "it was not even fetched");
}

#[tokio::test]
async fn a_file_is_loaded_once() {
    let prompt = prompt(vec![user("these", pictures([1, 1, 2]))]);
    let media = StubMedia::of(10);
    let files = limits(2, 1000).load_files(&prompt, &media).await;
    assert_eq!(*media.asked.lock().unwrap(), [(1, 1568), (2, 1568)]);
    assert!(files.contains(&ShownFile::whole(picture(2))));
}

#[tokio::test]
async fn looks_come_first_newest_first() {
    let part = ShownFile { region: Region::new(0.0, 0.0, 500.0, 500.0).ok(), ..ShownFile::whole(picture(8)) };
    let prompt = prompt(vec![
        user("these", pictures([1, 2])),
        assistant("", vec![call("a", "look_at_image", "{}")]),
        look("a", part),
        assistant("", vec![call("b", "look_at_image", "{}")]),
        look("b", ShownFile { grid: true, ..ShownFile::whole(picture(9)) }),
    ]);
    let media = StubMedia::of(10);
    assert_eq!(seen(limits(4, 30), &prompt, &media).await, [1, 8, 9]);
    let asked: Vec<u128> = media.asked.lock().unwrap().iter().map(|(number, _)| *number).collect();
    assert_eq!(asked[..3], [9, 8, 1]);
}

#[tokio::test]
async fn looks_take_at_most_half_of_the_pictures_while_others_wait() {
    let mut messages = vec![user("these", pictures(1..=3))];
    messages.extend((11..=16).map(|number| look(&number.to_string(), ShownFile::whole(picture(number)))));
    let (prompt, media) = (prompt(messages), StubMedia::of(10));
    assert_eq!(seen(limits(4, 1000), &prompt, &media).await, [1, 2, 15, 16]);
    assert_eq!(
        seen(limits(8, 1000), &prompt, &media).await,
        [1, 2, 3, 12, 13, 14, 15, 16],
        "and fill what is left"
    );
}

#[tokio::test]
async fn pictures_have_the_vendors_size_and_close_ups_the_look_size() {
    let close_up = ShownFile { grid: true, ..ShownFile::whole(picture(2)) };
    let prompt = prompt(vec![
        user("this", pictures([1])),
        look("a", close_up),
        look("b", ShownFile::whole(picture(3))),
    ]);
    for (vendor, longest) in [(Vendor::OpenAi, 1280), (Vendor::Anthropic, 1568), (Vendor::Gemini, 1536)] {
        let media = StubMedia::of(10);
        SelectionLimits::of(vendor, "a-model", true).load_files(&prompt, &media).await;
        assert_eq!(
            *media.asked.lock().unwrap(),
            [(3, longest), (2, MAX_LOOK_SIDE), (1, longest)],
            "{vendor:?}"
        );
    }
}

#[tokio::test]
async fn pdfs_and_audio_are_sent_only_where_accepted() {
    let sent = [(1, PDF), (2, "audio/mpeg"), (3, "audio/opus"), (4, "video/mp4"), (5, "text/plain")];
    let sent = sent.map(|(number, mime)| file(number, mime));
    let prompt = prompt(vec![user("these", [pictures([9]), sent.to_vec()].concat())]);
    let seen_by = async |vendor, model, official| {
        seen(SelectionLimits::of(vendor, model, official), &prompt, &StubMedia::of(10)).await
    };
    assert_eq!(seen_by(Vendor::Anthropic, "claude", true).await, [9, 1]);
    assert_eq!(seen_by(Vendor::Gemini, "gemini", true).await, [9, 1, 2, 3]);
    assert_eq!(seen_by(Vendor::OpenAi, "gpt", true).await, [9, 1]);
    assert_eq!(seen_by(Vendor::OpenAi, "gpt-audio", true).await, [9, 1, 2]);
    assert_eq!(seen_by(Vendor::OpenAi, "gpt-audio", false).await, [9], "a compatible server rejects them");
}

#[tokio::test]
async fn a_voice_message_is_sent_with_its_common_type() {
    let voice = file(3, "audio/opus");
    let prompt = prompt(vec![user("listen", vec![voice.clone()])]);
    let files =
        SelectionLimits::of(Vendor::Gemini, "gemini", true).load_files(&prompt, &StubMedia::of(10)).await;
    let shown = [ShownFile::whole(voice)];
    let mimes: Vec<_> = files.of(&shown).map(|(_, loaded)| loaded.mime.clone()).collect();
    assert_eq!(mimes, ["audio/ogg"]);
}

#[tokio::test]
async fn openai_gets_a_pdf_as_a_file_and_compatible_servers_only_the_marker() {
    let text = "what does it say?\n[Attachment ID: 00000000-0000-0000-0000-000000000007]";
    let prompt = prompt(vec![user(text, vec![file(7, PDF)])]);
    let content = async |official| {
        let files =
            SelectionLimits::of(Vendor::OpenAi, "gpt", official).load_files(&prompt, &StubMedia::of(3)).await;
        let body = Vendor::OpenAi.request(&settings("gpt"), &prompt, &files);
        body["messages"][0]["content"].clone()
    };
    let parts = content(true).await;
    assert_eq!(parts[2]["file"]["file_data"], "data:application/pdf;base64,BwcH");
    assert_eq!(content(false).await, text);
}

#[tokio::test]
async fn a_result_without_a_look_shows_nothing() {
    let prompt = prompt(vec![user("hi", Vec::new()), tool("a", "done")]);
    assert_eq!(seen(limits(3, 100), &prompt, &StubMedia::of(1)).await, [0u128; 0]);
}
