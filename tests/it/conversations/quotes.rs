//! What people bring along from other chats: a quoted photo is what the person points at, and a forwarded album is an
//! album.

use crate::harness::{
    BotUnderTest, Origin, Received, ScriptedModel, Settings, World, attachment_ids, jpeg, user,
};
use image::GenericImageView as _;

fn dimensions(message: &Received) -> (u32, u32) {
    let photo = message.photo.as_ref().expect("a photo");
    image::load_from_memory(photo).expect("a picture").dimensions()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_quoted_from_another_chat_is_edited() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let channel = world.group("News").member(user(1002, "Bob"));
    world.hold_updates();
    let wanted = channel.sends_photo(jpeg(64, 48), "the news").await;
    world.forget_updates();
    world.release_updates();
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_photo(jpeg(200, 100), "").await;
    ann.next_message().await;
    for origin in [Origin::Shown, Origin::Hidden] {
        ann.replies_from_elsewhere(&wanted, origin, "rotate left").await;
        let rotated = ann.next_message().await;
        assert_eq!(dimensions(&rotated), (48, 64), "{origin:?}");
        ann.replies(&rotated, "undo").await;
        assert_eq!(dimensions(&ann.next_message().await), (64, 48), "{origin:?}");
    }
    let downloads = world.calls("download");
    ann.replies_from_elsewhere(&wanted, Origin::Shown, "crop to a square").await;
    assert_eq!(dimensions(&ann.next_message().await), (48, 48));
    assert_eq!(world.calls("download"), downloads, "what was quoted before is here");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_sees_a_document_quoted_from_another_chat() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let bob = world.private_chat(user(1002, "Bob"));
    world.hold_updates();
    let wanted = bob.sends_document("plan.jpg", jpeg(64, 48), "").await;
    world.forget_updates();
    let ann = world.private_chat(user(1001, "Ann"));
    ann.replies_from_elsewhere(&wanted, Origin::Shown, "what is it?").await;
    ann.next_message().await;
    let request = &model.requests()[0];
    assert_eq!(attachment_ids(request).len(), 1, "{request}");
    assert!(request.to_string().contains("data:image/"), "its pixels are in the request");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quote_whose_file_is_gone_is_answered_with_the_reason() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let bob = world.private_chat(user(1002, "Bob"));
    world.hold_updates();
    let wanted = bob.sends_photo(jpeg(64, 48), "").await;
    world.forget_updates();
    let ann = world.private_chat(user(1001, "Ann"));
    world.next("getFile").answers(400);
    let asked = ann.replies_from_elsewhere(&wanted, Origin::Shown, "rotate left").await;
    let answer = ann.next_message().await;
    assert_eq!(answer.reply_to, Some(asked.message_id));
    assert!(answer.text.contains("couldn't fetch"), "{}", answer.text);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forwarded_album_is_an_album() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let bob = world.private_chat(user(1002, "Bob"));
    let album = bob.sends_album(&[jpeg(64, 48), jpeg(80, 48), jpeg(96, 48)], "").await;
    bob.next_message().await;
    let ann = world.private_chat(user(1001, "Ann"));
    world.hold_updates();
    ann.says("make them sepia").await;
    let forwarded = ann.forwards_album(&album).await;
    world.release_updates();
    let sepia = ann.next_album().await;
    assert_eq!(sepia.len(), 3);
    ann.replies(&forwarded[1], "rotate left").await;
    assert_eq!(dimensions(&ann.next_message().await), (48, 80), "exactly that photo");
    bot.stop().await;
    ann.has_nothing_more();
}
