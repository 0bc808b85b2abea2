//! Telegram adds fields and message kinds at any time. Messages with fields and kinds that are unknown to this version
//! are filed and answered.

use crate::harness::{BotUnderTest, Received, Settings, World, jpeg, user};
use image::GenericImageView as _;
use serde_json::{Value, json};

fn dimensions(message: &Received) -> (u32, u32) {
    let photo = message.photo.as_ref().expect("a photo");
    image::load_from_memory(photo).expect("a picture").dimensions()
}

/// Moves the photo of a message into the field `field`, wrapped by `wrap`.
fn move_photo(message: &mut Value, field: &str, wrap: impl FnOnce(Value) -> Value) {
    let photo = message.as_object_mut().and_then(|fields| fields.remove("photo")).expect("a photo");
    message[field] = wrap(photo);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_whose_caption_has_an_entity_of_an_unknown_type_is_edited() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let sent = ann
        .sends_photo_in_a_new_form(jpeg(64, 48), "rotate left", |message| {
            let unknown = json!([{ "type": "hologram", "offset": 0, "length": 6, "depth": 3 }]);
            message["caption_entities"] = unknown;
        })
        .await;
    assert_eq!(dimensions(&ann.next_message().await), (48, 64));
    ann.replies(&sent, "crop to a square").await;
    assert_eq!(dimensions(&ann.next_message().await), (48, 48));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_beside_an_unknown_external_reply_is_answered() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_photo(jpeg(64, 48), "").await;
    ann.next_message().await;
    ann.says_in_a_new_form("rotate left", |message| {
        message["external_reply"] = json!({ "origin": { "type": "star", "date": 0 }, "hologram": {} });
    })
    .await;
    assert_eq!(dimensions(&ann.next_message().await), (48, 64));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_still_of_a_live_photo_is_edited() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let sent = ann
        .sends_photo_in_a_new_form(jpeg(64, 48), "rotate left", |message| {
            move_photo(message, "live_photo", |photo| {
                json!({ "file_id": "clip", "file_unique_id": "clip", "width": 64, "height": 48, "duration": 2,
                    "photo": photo })
            });
        })
        .await;
    assert_eq!(dimensions(&ann.next_message().await), (48, 64));
    ann.replies(&sent, "crop to a square").await;
    assert_eq!(dimensions(&ann.next_message().await), (48, 48));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_in_an_unknown_kind_of_message_is_edited() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let sent = ann
        .sends_photo_in_a_new_form(jpeg(64, 48), "rotate left", |message| {
            move_photo(message, "hologram", |photo| json!({ "depth": 3, "photo": photo }));
        })
        .await;
    assert_eq!(dimensions(&ann.next_message().await), (48, 64));
    ann.replies(&sent, "crop to a square").await;
    assert_eq!(dimensions(&ann.next_message().await), (48, 48));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_with_a_date_and_a_message_from_an_unreadable_sender_are_answered() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_photo(jpeg(64, 48), "").await;
    ann.next_message().await;
    ann.says_in_a_new_form("rotate left", |message| {
        message["entities"] = json!([{ "type": "date_time", "offset": 0, "length": 6, "unix_time": 1_800_000_000,
            "date_time_format": "r" }]);
    })
    .await;
    assert_eq!(dimensions(&ann.next_message().await), (48, 64));
    ann.says_in_a_new_form("crop to a square", |message| message["from"] = json!({ "hologram": 3 })).await;
    assert_eq!(dimensions(&ann.next_message().await), (48, 48));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rich_message_is_answered() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_photo(jpeg(64, 48), "").await;
    ann.next_message().await;
    ann.says_in_a_new_form("", |message| {
        message["rich_message"] = json!({ "blocks": [{ "type": "paragraph", "text": ["rotate ", { "type": "bold", "text": "left" }] }] });
    })
    .await;
    assert_eq!(dimensions(&ann.next_message().await), (48, 64));
    bot.stop().await;
}
