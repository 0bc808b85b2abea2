//! Topics: each topic of a forum or of a private chat is a conversation of its own, and everything the bot says in answer
//! lands in it.

use crate::harness::{
    BotUnderTest, Group, Person, ScriptedModel, Settings, World, attachment_ids, jpeg, user,
};
use image::GenericImageView as _;
use photothread::domain::Conversation;
use serde_json::json;
use std::time::Duration;

fn dimensions(photo: &[u8]) -> (u32, u32) {
    image::load_from_memory(photo).expect("a picture").dimensions()
}

/// A forum with Ann, and two topics that she opened.
fn forum(world: &World) -> (Group, Person, [Person; 2]) {
    let group = world.group("Trip").with_topics();
    let ann = group.member(user(1001, "Ann"));
    let topics = ["Birds", "Boats"].map(|name| ann.opens_topic(name));
    (group, ann, topics)
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_the_bot_sends_lands_in_the_topic_it_was_asked_in() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let (_, ann, [birds, boats]) = forum(&world);

    let long = "a pelican and ".repeat(500);
    model.next_reply(&long);
    let question = birds.says("@photothread_bot tell me everything").await;
    let first = birds.next_message().await;
    let second = birds.next_message().await;
    assert_eq!((first.reply_to, second.reply_to), (Some(question.message_id), None));
    assert_eq!(first.topic, birds.topic);

    model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    let album = birds.sends_album(&[jpeg(64, 48), jpeg(48, 32)], "@photothread_bot rotate left").await;
    let rotated = birds.next_album().await;
    assert_eq!(rotated.len(), 2);
    assert_eq!(rotated[0].reply_to, Some(album[0].message_id));

    model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    boats.sends_photo(jpeg(80, 20), "@photothread_bot rotate left").await;
    assert_eq!(dimensions(boats.next_message().await.photo.as_ref().unwrap()), (20, 80));
    boats.says("/help@photothread_bot").await;
    assert!(boats.next_message().await.text.contains("/cancel"));

    settings.until_settled(&world).await;
    bot.stop().await;
    for person in [&ann, &birds, &boats] {
        person.has_nothing_more();
    }
    assert!(world.actions_in(birds.chat_id, birds.topic).iter().any(|action| action == "typing"));
    assert!(world.actions_in(birds.chat_id, birds.topic).iter().any(|action| action == "upload_photo"));
    assert_eq!(world.actions_in(ann.chat_id, None), [""; 0], "nothing is shown in General");
    assert_eq!(world.refused_calls().len(), 0, "{}", world.story());
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_share_neither_history_nor_files_and_a_plain_message_in_one_is_no_reply() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let (_, ann, [birds, boats]) = forum(&world);
    birds.sends_photo(jpeg(64, 48), "@photothread_bot this is a pelican").await;
    birds.next_message().await;
    boats.says("@photothread_bot what did I send?").await;
    boats.next_message().await;
    ann.says("@photothread_bot what did I send?").await;
    ann.next_message().await;
    for elsewhere in &model.requests()[1..3] {
        assert!(!elsewhere.to_string().contains("pelican"), "{elsewhere}");
        assert_eq!(attachment_ids(elsewhere), [""; 0]);
    }
    birds.says("@photothread_bot what did I send?").await;
    birds.next_message().await;
    let here = model.requests()[3].to_string();
    assert!(here.contains("this is a pelican"), "one conversation goes on in its topic: {here}");

    settings.until_settled(&world).await;
    let store = settings.store().await;
    let topic = Conversation::telegram_topic(birds.chat_id, birds.topic.unwrap());
    for conversation in [&topic, &Conversation::telegram(birds.chat_id)] {
        let found = crate::harness::newest_session(&store, conversation).await;
        assert!(found.is_some(), "a session of {conversation}");
    }
    let session = crate::harness::newest_session(&store, &topic).await.unwrap();
    let all = photothread::store::Detail::WithTools;
    let messages = store.messages_of_session(session.session_id, None, None, all).await.unwrap();
    assert!(messages.iter().all(|message| message.reply.is_none()), "{messages:#?}");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_in_a_topic_finds_its_photo_and_an_album_with_gaps_stays_one() {
    let world = World::start().await;
    let settings = Settings::new(&world).with("PHOTOTHREAD_TELEGRAM__BATCH__ALBUM_QUIET_MS", "3000");
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.turns_on_topics();
    let birds = ann.opens_topic("Birds");
    birds.album_piece("7", jpeg(64, 48), "make them sepia").await;
    settings.until_looked_at(&world).await;
    birds.album_piece("7", jpeg(80, 48), "").await;
    let sepia = birds.next_album().await;
    birds.replies(&sepia[1], "rotate left").await;
    let rotated = birds.next_message().await;
    assert_eq!(dimensions(rotated.photo.as_ref().unwrap()), (48, 80));
    bot.stop().await;

    let bot = BotUnderTest::start(&settings).await;
    birds.replies(&rotated, "undo").await;
    assert_eq!(dimensions(birds.next_message().await.photo.as_ref().unwrap()), (80, 48), "after a restart");
    bot.stop().await;
    ann.has_nothing_more();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_grows_and_becomes_the_answer_in_its_topic() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url()).with_drafts(0, 100);
    let bot = BotUnderTest::start(&settings).await;
    let (_, ann, [birds, _]) = forum(&world);
    let [first, last] = model.next_slowly(["A pelican", " on a pier."]);
    let question = birds.says("@photothread_bot what is it?").await;
    first.open();
    let draft = birds.next_message().await;
    assert_eq!((draft.text.as_str(), draft.reply_to), ("A pelican …", Some(question.message_id)));
    last.open();
    world.wait_for_text(&draft, "A pelican on a pier.").await;
    settings.until_settled(&world).await;
    bot.stop().await;
    ann.has_nothing_more();
    birds.has_nothing_more();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_429_in_one_topic_holds_all_topics_of_the_chat() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let (group, _, [birds, boats]) = forum(&world);
    let bob = world.private_chat(user(1002, "Bob"));
    world.next_send().in_chat(group.chat_id).meets_flood(2);
    birds.says("/help@photothread_bot").await;
    world.wait_for_calls("sendMessage", 1).await;
    boats.says("/help@photothread_bot").await;
    bob.says("/help").await;
    bob.next_message().await;
    boats.next_message().await;
    birds.next_message().await;
    let calls = world.all_calls();
    let sends: Vec<_> = calls
        .iter()
        .filter(|call| call.method == "sendMessage" && call.chat_id == Some(group.chat_id))
        .collect();
    assert_eq!(sends.len(), 3);
    assert!(sends[1..].iter().all(|send| send.at - sends[0].at >= Duration::from_secs(2)), "one chat");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_send_of_a_chat_is_in_flight_over_all_its_topics() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let (_, ann, [birds, boats]) = forum(&world);
    let wire = world.next("sendMessage").waits();
    birds.says("/help@photothread_bot").await;
    wire.reached().await;
    boats.says("/help@photothread_bot").await;
    ann.says("/help@photothread_bot").await;
    settings.until_looked_at(&world).await;
    assert_eq!(world.calls("sendMessage"), 1, "the others wait");
    wire.open();
    for person in [&birds, &boats, &ann] {
        assert!(person.next_message().await.text.contains("/cancel"));
    }
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_a_closed_or_deleted_topic_fails_clearly_and_goes_nowhere_else() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let (group, ann, [birds, boats]) = forum(&world);
    for topic in [&birds, &boats] {
        let held = model.hold_next();
        topic.says("@photothread_bot hello").await;
        held.reached().await;
        match topic.topic == birds.topic {
            true => group.closes_topic(topic.topic.unwrap()),
            false => group.deletes_topic(topic.topic.unwrap()),
        }
        held.open();
        settings.until_settled(&world).await;
    }
    ann.says("@photothread_bot hello").await;
    ann.next_message().await;
    settings.until_settled(&world).await;
    bot.stop().await;
    let failed = settings.store().await.undelivered_sends(10).await.unwrap();
    assert_eq!(failed.len(), 2, "each was tried once: {failed:#?}");
    for send in failed {
        let reason = send.error.unwrap();
        assert!(reason.starts_with("its topic was closed or deleted"), "{reason}");
    }
    ann.has_nothing_more();
}

#[tokio::test(flavor = "multi_thread")]
async fn new_opens_a_topic_where_that_is_set_and_the_person_has_topics() {
    let world = World::start().await;
    let settings = Settings::new(&world).with("PHOTOTHREAD_TELEGRAM__NEW_OPENS_TOPIC", "true");
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.says("/new").await;
    let here = ann.next_message().await;
    assert!(here.text.contains("A fresh start. I"), "without topics it stays here: {}", here.text);
    ann.turns_on_topics();
    let photo = ann.sends_photo(jpeg(64, 48), "").await;
    ann.next_message().await;
    settings.until_settled(&world).await;
    world.next("createForumTopic").answers(502);
    bot.stop().await;
    ann.says("/new").await;

    let bot = BotUnderTest::start(&settings).await;
    world.wait_for_calls("createForumTopic", 2).await;
    ann.says("/new").await;
    world.wait_for_calls("createForumTopic", 3).await;
    settings.until_settled(&world).await;
    let topic = ann.topic_named("New conversation");
    assert!(topic.next_message().await.text.contains("topic of its own"));
    topic.says("rotate left").await;
    assert!(topic.next_message().await.photo.is_none(), "the photo is in the other conversation");
    ann.replies(&photo, "rotate left").await;
    assert!(ann.next_message().await.photo.is_some());
    bot.stop().await;
    ann.has_nothing_more();
    let troubled = settings.store().await.undelivered_sends(10).await.unwrap();
    assert_eq!(troubled.len(), 1, "a topic that may be there is not opened twice: {troubled:#?}");
    assert_eq!(world.calls("createForumTopic"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_of_the_chat_is_a_member_of_its_topics_until_they_leave() {
    let world = World::start().await;
    let settings = Settings::new(&world).with("PHOTOTHREAD_TELEGRAM__BATCH__QUIET_MS", "400");
    let bot = BotUnderTest::start(&settings).await;
    let (group, ann, [birds, boats]) = forum(&world);
    let bob = group.member(user(1002, "Bob"));
    bob.says("@photothread_bot hello").await;
    bob.next_message().await;
    let store = settings.store().await;
    let topic = |person: &Person| Conversation::telegram_topic(person.chat_id, person.topic.unwrap());
    let bobs = photothread::domain::UserId("1002".into());
    birds.says("@photothread_bot hello").await;
    birds.next_message().await;
    assert!(store.is_member(&topic(&birds), &bobs).await.unwrap(), "Bob wrote in General only");

    // His last messages in two topics are filed after he left, and do not bring him back.
    world.hold_updates();
    bob.in_topic(birds.topic).says("@photothread_bot bye").await;
    bob.in_topic(boats.topic).says("@photothread_bot bye").await;
    bob.leaves().await;
    world.release_updates();
    birds.next_message().await;
    boats.next_message().await;
    settings.until_settled(&world).await;
    for conversation in [topic(&birds), topic(&boats), Conversation::telegram(ann.chat_id)] {
        assert!(!store.is_member(&conversation, &bobs).await.unwrap(), "{conversation}");
    }
    bot.stop().await;
}
