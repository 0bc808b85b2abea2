//! Groups: the bot answers messages that address it, stores the others, and keeps people apart.

use crate::harness::{BotUnderTest, ScriptedModel, Settings, World, jpeg, jpeg_of, user};
use image::GenericImageView as _;

fn dimensions(photo: &[u8]) -> (u32, u32) {
    image::load_from_memory(photo).expect("a picture").dimensions()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_gets_answers_only_to_messages_that_address_the_bot() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let group = world.group("Holiday");
    let (ann, bob) = (group.member(user(1001, "Ann")), group.member(user(1002, "Bob")));

    ann.says("nobody mentions a bot here").await;
    ann.says("@photothread_bots is someone else, as is x@photothread_bot").await;
    bob.says("/help@another_bot").await;
    settings.until_settled(&world).await;
    assert_eq!(model.requests().len(), 0);

    for words in ["@photothread_bot hello", "hello @PhotoThread_Bot", "could @photothread_bot say hello?"] {
        let said = ann.says(words).await;
        let answer = ann.next_message().await;
        assert_eq!((answer.text.as_str(), answer.reply_to), ("Done.", Some(said.message_id)), "{words}");
    }
    let said = bob.says("@photothread_bot hi").await;
    let answer = bob.next_message().await;
    assert_eq!(answer.reply_to, Some(said.message_id));
    let said = ann.replies(&answer, "and to me?").await;
    assert_eq!(ann.next_message().await.reply_to, Some(said.message_id), "a reply to the bot means the bot");
    ann.replies(&said, "talking to myself").await;
    bob.says("/help@photothread_bot").await;
    assert!(bob.next_message().await.text.contains("/cancel"));
    settings.until_settled(&world).await;
    bot.stop().await;
    ann.has_nothing_more();
    assert_eq!(model.requests().len(), 5);
    assert_eq!(model.refusals(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_that_did_not_address_the_bot_can_be_edited_by_another_member() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let group = world.group("Holiday");
    let (ann, bob) = (group.member(user(1001, "Ann")), group.member(user(1002, "Bob")));
    let photo = ann.sends_photo(jpeg(640, 480), "the beach").await;
    settings.until_settled(&world).await;

    let request = bob.replies(&photo, "@photothread_bot rotate left").await;
    let rotated = bob.next_message().await;
    assert_eq!(rotated.reply_to, Some(request.message_id), "the first thing the bot says here");
    assert_eq!(dimensions(rotated.photo.as_ref().expect("a photo")), (480, 640));
    ann.replies(&rotated, "crop to a square").await;
    let cropped = ann.next_message().await;
    assert_eq!(dimensions(cropped.photo.as_ref().expect("a photo")), (480, 480), "anyone may go on");
    bot.stop().await;
    ann.has_nothing_more();
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_did_not_address_the_bot_are_in_the_context_of_the_next_turn() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let group = world.group("Holiday");
    let (ann, bob) = (group.member(user(1001, "Ann")), group.member(user(1002, "Bob")));
    ann.says("we meet at the lighthouse").await;
    settings.until_settled(&world).await;
    bob.says("@photothread_bot where do we meet?").await;
    bob.next_message().await;
    let request = model.requests()[0]["messages"].to_string();
    assert!(request.contains("lighthouse"), "{request}");
    assert!(
        !request.contains("@photothread_bot where"),
        "the mention is not part of the question: {request}"
    );
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_people_who_write_at_the_same_time_get_two_answers() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let group = world.group("Holiday");
    let (ann, bob) = (group.member(user(1001, "Ann")), group.member(user(1002, "Bob")));
    world.hold_updates();
    let of_ann = ann.says("@photothread_bot a riddle please").await;
    let of_bob = bob.says("@photothread_bot a joke please").await;
    world.release_updates();
    let answers = [ann.next_message().await, ann.next_message().await];
    let mut answered = answers.map(|answer| answer.reply_to.expect("a reply"));
    answered.sort_unstable();
    assert_eq!(answered, [of_ann.message_id, of_bob.message_id]);
    let asked: Vec<String> = model.requests().iter().map(last_words).collect();
    assert_eq!(asked.len(), 2);
    assert!(asked.iter().all(|words| words.contains("riddle") != words.contains("joke")), "{asked:?}");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_albums_at_the_same_time_stay_two_albums() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let group = world.group("Holiday");
    let (ann, bob) = (group.member(user(1001, "Ann")), group.member(user(1002, "Bob")));
    let photos = |width: u32| [jpeg_of(width, 60, [200, 0, 0]), jpeg_of(width, 80, [0, 200, 0])];
    let (of_ann, of_bob) = (photos(100), photos(200));
    world.hold_updates();
    for i in 0..2 {
        let caption = if i == 0 { "@photothread_bot make them sepia" } else { "" };
        ann.album_piece("11", of_ann[i].clone(), caption).await;
        bob.album_piece("22", of_bob[i].clone(), caption).await;
    }
    world.release_updates();
    let mut widths = Vec::new();
    for album in [ann.next_album().await, ann.next_album().await] {
        assert_eq!(album.len(), 2);
        let of_album: Vec<u32> = album.iter().map(|m| dimensions(m.photo.as_ref().unwrap()).0).collect();
        assert_eq!(of_album[0], of_album[1], "photos of one person");
        widths.push(of_album[0]);
    }
    widths.sort_unstable();
    assert_eq!(widths, [100, 200]);
    bot.stop().await;
}

/// The last message of the person in a model request.
fn last_words(request: &serde_json::Value) -> String {
    request["messages"]
        .as_array()
        .and_then(|messages| messages.last())
        .map(ToString::to_string)
        .unwrap_or_default()
}
