//! A Telegram chat continued on the web: messages of the web appear in the chat and can be replied to.

use super::{Api, part, text};
use crate::harness::{Received, Settings, World, jpeg, user};
use image::GenericImageView as _;
use reqwest::multipart::Form;
use serde_json::{Value, json};

fn size(photo: &Received) -> (u32, u32) {
    let bytes = photo.photo.as_ref().expect("a photo");
    image::load_from_memory(bytes).unwrap().dimensions()
}

async fn session_of_chat(api: &Api) -> String {
    let listed = api.read("/sessions").await;
    assert_eq!(listed["totalCount"], 1);
    assert_eq!(listed["sessions"][0]["interfaceType"], "telegram");
    text(&listed["sessions"][0]["sessionId"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_telegram_chat_continues_on_the_web() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let settings = Settings::new(&world);
    let api = Api::with(world, settings).await;
    ann.sends_photo(jpeg(64, 48), "rotate left").await;
    let rotated = ann.next_message().await;
    api.settings.until_settled(&api.world).await;

    let session = session_of_chat(&api).await;
    let history = api.history(&session).await;
    let end = history.last().unwrap();
    let reply = json!({
        "content": "crop to a *square*",
        "reply_to": end["internalId"],
        "reply_attachment": end["attachments"][0]["attachmentId"],
    });
    let sent = api.says(&session, &reply).await;
    let echo = ann.next_message().await;
    assert_eq!(echo.text, "🌐 From the web\ncrop to a *square*", "as it was written");
    assert_eq!(echo.reply_to, Some(rotated.message_id), "as a reply to the same photo");
    let cropped = ann.next_message().await;
    assert_eq!(size(&cropped), (48, 48));
    let answer = api.answer(&session, &sent["turnId"]).await;
    assert_eq!(answer["attachments"][0]["width"], 48);

    // A reply in the chat to a message from the web stays in the thread.
    ann.replies(&echo, "make it sepia").await;
    ann.next_message().await;
    api.settings.until_settled(&api.world).await;
    let history = api.history(&session).await;
    let said: Vec<&Value> = history.iter().filter(|e| e["role"] == "user").collect();
    assert_eq!(said.len(), 3);
    assert_eq!(said[2]["replyTo"]["internalId"], sent["messages"][0]);
    ann.has_nothing_more();
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn photos_from_the_web_are_an_album_in_telegram_that_can_be_replied_to() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let settings = Settings::new(&world);
    let api = Api::with(world, settings).await;
    ann.says("hello").await;
    ann.next_message().await;
    api.settings.until_settled(&api.world).await;
    let session = session_of_chat(&api).await;
    let form = Form::new()
        .text("content", "make them sepia")
        .part("files", part("a.jpg", jpeg(64, 48)))
        .part("files", part("b.jpg", jpeg(80, 40)));
    api.sends(&session, form).await;
    let album = ann.next_album().await;
    assert_eq!((album.len(), album[0].caption.as_str()), (2, "🌐 From the web\nmake them sepia"));
    assert_eq!(ann.next_album().await.len(), 2, "the answer");
    api.settings.until_settled(&api.world).await;
    ann.replies(&album[1], "rotate left").await;
    assert_eq!(size(&ann.next_message().await), (40, 80), "the second of them");
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_the_web_and_its_answer_appear_in_the_topic() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.turns_on_topics();
    let birds = ann.opens_topic("Birds");
    let settings = Settings::new(&world);
    let api = Api::with(world, settings).await;
    birds.sends_photo(jpeg(64, 48), "rotate left").await;
    birds.next_message().await;
    api.settings.until_settled(&api.world).await;
    let session = session_of_chat(&api).await;
    let end = api.history(&session).await.pop().unwrap();
    api.says(&session, &json!({ "content": "rotate left", "reply_to": end["internalId"] })).await;
    assert_eq!(birds.next_message().await.text, "🌐 From the web\nrotate left");
    assert_eq!(size(&birds.next_message().await), (64, 48));
    api.settings.until_settled(&api.world).await;
    ann.has_nothing_more();
    api.bot.stop().await;
}
