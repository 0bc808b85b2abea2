//! Groups: the bot answers messages that address it, stores the others, and keeps people apart.

use crate::harness::{BotUnderTest, Group, Person, ScriptedModel, Settings, World, jpeg, jpeg_of, user};
use image::GenericImageView as _;
use photothread::domain::{Conversation, UserId};

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

#[tokio::test(flavor = "multi_thread")]
async fn commands_work_with_and_without_the_name_and_those_of_other_bots_are_not_for_this_one() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.group("Holiday").member(user(1001, "Ann"));
    for command in ["/help", "/help@photothread_bot", "/help@PhotoThread_Bot"] {
        ann.says(command).await;
        assert!(ann.next_message().await.text.contains("/cancel"), "{command}");
    }
    ann.says("@photothread_bot hi").await;
    let answer = ann.next_message().await;
    ann.says("/help@another_bot").await;
    ann.replies(&answer, "/crop@another_bot this").await;
    ann.says("/forecast").await;
    settings.until_settled(&world).await;
    bot.stop().await;
    ann.has_nothing_more();
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_in_a_group_is_told_alone_where_the_bot_may_do_that() {
    let world = World::start().await;
    let settings = Settings::new(&world).with("PHOTOTHREAD_TELEGRAM__ALLOW_EVERYONE", "false");
    let settings = settings.with("PHOTOTHREAD_TELEGRAM__ALLOWED_USER_IDS", "[1001]");
    let bot = BotUnderTest::start(&settings).await;
    for (name, appointed, stranger) in [("Holiday", true, 1002), ("Office", false, 1003)] {
        let group = world.group(name);
        if appointed {
            group.appoints_bot();
        }
        let eve = group.member(user(stranger, "Eve"));
        eve.says("@photothread_bot hello").await;
        let told = eve.next_message().await;
        assert!(told.text.contains("This bot is private"), "{}", told.text);
        assert_eq!(told.only_for, appointed.then_some(stranger), "{name}");
        assert!(told.entities.iter().any(|entity| entity["type"] == "code"), "{:?}", told.entities);
    }
    bot.stop().await;
}

/// A basic group with Ann in it, in which the bot has turned a photo: the request, and the answer.
async fn talked_in_a_basic_group(world: &World) -> (Group, Person, i32) {
    let group = world.group("Holiday").into_basic_group();
    let ann = group.member(user(1001, "Ann"));
    ann.sends_photo(jpeg(64, 48), "@photothread_bot rotate left").await;
    let answer = ann.next_message().await;
    (group, ann, answer.message_id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_becomes_a_supergroup_keeps_its_history() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let (group, ann, answer) = talked_in_a_basic_group(&world).await;
    settings.until_settled(&world).await;
    let store = settings.store().await;
    let before =
        crate::harness::newest_session(&store, &Conversation::telegram(group.chat_id)).await.unwrap();

    let supergroup = group.becomes_a_supergroup();
    let ann = supergroup.member(ann.user.clone());
    settings.until_settled(&world).await;
    bot.stop().await;
    let bot = BotUnderTest::start(&settings).await;
    let here = Conversation::telegram(supergroup.chat_id);
    let after = crate::harness::newest_session(&store, &here).await.unwrap();
    assert_eq!((after.session_id, after.message_count), (before.session_id, before.message_count));
    assert!(store.is_member(&here, &UserId("1001".into())).await.unwrap());
    assert_eq!(crate::harness::newest_session(&store, &Conversation::telegram(group.chat_id)).await, None);

    // Messages are numbered anew, and none is taken for an old one of the same number.
    for _ in 0..2 * answer {
        let said = ann.says("@photothread_bot crop to a square").await;
        let cropped = ann.next_message().await;
        assert_eq!(cropped.reply_to, Some(said.message_id));
        assert_eq!(dimensions(cropped.photo.as_ref().expect("of the photo from before")), (48, 48));
    }
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_follows_a_group_that_became_a_supergroup_unnoticed() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let group = world.group("Holiday").into_basic_group();
    let ann = group.member(user(1001, "Ann"));
    let held = model.hold_next();
    ann.says("@photothread_bot hello").await;
    held.reached().await;
    world.hold_updates();
    let supergroup = group.becomes_a_supergroup();
    world.forget_updates();
    held.open();
    let ann = supergroup.member(ann.user.clone());
    let answer = ann.next_message().await;
    assert_eq!((answer.text.as_str(), answer.reply_to), ("Done.", None), "the question is in the old chat");
    settings.until_settled(&world).await;
    bot.stop().await;
    let store = settings.store().await;
    assert_eq!(store.undelivered_sends(10).await.unwrap(), []);
    let here = Conversation::telegram(supergroup.chat_id);
    let found = store.find_message(&here, &answer.message_id.to_string()).await.unwrap();
    assert_eq!(found.unwrap().message.content, "Done.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_runs_while_its_group_becomes_a_supergroup_goes_on_there() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let group = world.group("Holiday").into_basic_group();
    let ann = group.member(user(1001, "Ann"));
    let held = model.hold_next();
    ann.sends_photo(jpeg(64, 48), "@photothread_bot rotate left").await;
    held.reached().await;
    model.next_call_on_all("rotate_image", serde_json::json!({ "degrees": 90 }));
    let supergroup = group.becomes_a_supergroup();
    let ann = supergroup.member(ann.user.clone());
    let answer = ann.next_message().await;
    held.open();
    assert_eq!(dimensions(answer.photo.as_ref().expect("the photo of the old chat")), (48, 64));
    settings.until_settled(&world).await;
    bot.stop().await;
    ann.has_nothing_more();
}
