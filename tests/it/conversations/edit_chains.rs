//! Several edits in one message: one answer, one file, and every intermediate step can be restored.

use crate::harness::{BotUnderTest, Person, Settings, World, jpeg_of, user};
use image::GenericImageView as _;
use photothread::domain::{Attachment, AttachmentSource, Conversation};

const FIVE: &str =
    "crop to a square, then rotate left, then flip it, then resize to 200 px, then make it black and white";

async fn made(settings: &Settings, person: &Person) -> Vec<Attachment> {
    let store = settings.store().await;
    let place = Conversation::telegram(person.chat_id);
    let all = store.recent_attachments(&place, chrono::DateTime::UNIX_EPOCH, 100).await.unwrap();
    store.close().await;
    all.into_iter().rev().filter(|file| file.source == AttachmentSource::Tool).collect()
}

fn size(photo: &Option<bytes::Bytes>) -> (u32, u32) {
    image::load_from_memory(photo.as_ref().expect("a photo")).expect("a picture").dimensions()
}

#[tokio::test(flavor = "multi_thread")]
async fn five_edits_in_one_message_make_one_file_and_every_step_can_be_restored() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_photo(jpeg_of(640, 480, [200, 90, 60]), FIVE).await;
    let answer = ann.next_message().await;
    assert_eq!(size(&answer.photo), (200, 200));
    bot.stop().await;

    let steps = made(&settings, &ann).await;
    let files: Vec<bool> = steps.iter().map(Attachment::is_stored).collect();
    assert_eq!(files, [false, false, false, false, true], "only what was sent is a file");

    // After a restart nothing is left in memory; the recipes are enough.
    let bot = BotUnderTest::start(&settings).await;
    ann.replies(&answer, "undo").await;
    let before = ann.next_message().await;
    assert_eq!(size(&before.photo), (200, 200));
    let colours = image::load_from_memory(before.photo.as_ref().unwrap()).unwrap().to_rgb8();
    let pixel = colours.get_pixel(100, 100);
    assert!(pixel[0] > 150 && pixel[2] < 110, "in colour again: {pixel:?}");

    ann.replies(&before, "undo").await;
    let earlier = ann.next_message().await;
    assert_eq!(size(&earlier.photo), (480, 480), "before it was made small");
    bot.stop().await;
    let files = made(&settings, &ann).await.iter().filter(|step| step.is_stored()).count();
    assert_eq!(files, 3, "what was asked for has become a file");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_undone_in_the_same_message_is_not_sent() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_photo(jpeg_of(640, 480, [200, 90, 60]), "crop to a square, then undo").await;
    assert_eq!(size(&ann.next_message().await.photo), (640, 480));
    bot.stop().await;
}
