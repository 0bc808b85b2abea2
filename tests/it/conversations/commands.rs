//! The slash commands, and the text of answers: formatting, splitting, order.

use crate::harness::{BotUnderTest, ScriptedModel, Settings, World, attachment_ids, jpeg, user};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn start_greets_with_an_example_and_help_lists_the_commands() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.says("/start").await;
    let greeting = ann.next_message().await;
    assert!(greeting.text.starts_with("Hi!"), "{}", greeting.text);
    assert!(greeting.text.contains("highlight the top left in red"), "an example: {}", greeting.text);
    assert!(greeting.entities.iter().any(|entity| entity["type"] == "bold"), "{:?}", greeting.entities);
    ann.says("/help").await;
    let help = ann.next_message().await;
    for expected in ["/new", "/cancel", "/usage", "/web", "/help", "rotate left"] {
        assert!(help.text.contains(expected), "{}", help.text);
    }
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_of_the_greeting_works() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.says("/start").await;
    let greeting = ann.next_message().await.text;
    let quoted: Vec<&str> = greeting.split('“').skip(1).filter_map(|part| part.split('”').next()).collect();
    assert!(quoted.len() >= 4, "{greeting}");
    let photo = ann.sends_photo(jpeg(640, 480), "").await;
    ann.next_message().await;
    for words in quoted.iter().filter(|words| !words.starts_with("make them") && **words != "undo") {
        ann.replies(&photo, words).await;
        assert!(ann.next_message().await.photo.is_some(), "{words}");
    }
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_are_registered_with_telegram() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    world.wait_for_calls("setMyCommands", 1).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.says("/help").await;
    ann.next_message().await;
    assert_eq!(world.commands(), ["start", "help", "new", "cancel", "usage", "web"]);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_starts_a_session_and_old_photos_can_still_be_replied_to() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let photo = ann.sends_photo(jpeg(64, 48), "this is my pelican").await;
    ann.next_message().await;
    ann.says("what did I send?").await;
    ann.next_message().await;
    assert!(model.requests()[1]["messages"].to_string().contains("pelican"), "one conversation so far");

    ann.says("/new").await;
    assert!(ann.next_message().await.text.contains("fresh start"));
    ann.says("and now?").await;
    ann.next_message().await;
    let request = model.requests()[2].to_string();
    assert!(!request.contains("pelican") && !request.contains("what did I send"), "{request}");

    model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    ann.replies(&photo, "turn this one").await;
    assert!(ann.next_message().await.photo.is_some(), "the old photo is still there");
    assert!(model.requests()[3].to_string().contains("pelican"), "a reply brings its thread back");
    assert_eq!(attachment_ids(&model.requests()[3]).len(), 1);
    assert_eq!(model.refusals(), [""; 0]);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_stops_the_running_turn_and_the_next_message_is_answered() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.says("/cancel").await;
    assert!(ann.next_message().await.text.contains("nothing running"));

    model.next_reply("The long-awaited answer.");
    let gate = model.hold_next();
    ann.says("think hard").await;
    gate.reached().await;
    ann.says("/cancel").await;
    assert_eq!(ann.next_message().await.text, "Stopped.");
    gate.open();

    model.next_reply("Hello again.");
    let hello = ann.says("hello").await;
    let answer = ann.next_message().await;
    assert_eq!(answer.text, "Hello again.", "the cancelled answer never comes");
    assert_eq!(answer.reply_to, Some(hello.message_id));
    ann.says("/cancel").await;
    assert!(ann.next_message().await.text.contains("nothing running"));
    settings.until_settled(&world).await;
    bot.stop().await;
    ann.has_nothing_more();
    assert_eq!(model.refusals(), [""; 0], "a cancelled turn leaves a history that models take");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_stops_only_this_conversation() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let (ann, bob) = (world.private_chat(user(1001, "Ann")), world.private_chat(user(1002, "Bob")));
    let gate = model.hold_next();
    model.next_reply("For Ann.");
    ann.says("think hard").await;
    gate.reached().await;
    bob.says("/cancel").await;
    assert!(bob.next_message().await.text.contains("nothing running"));
    gate.open();
    assert_eq!(ann.next_message().await.text, "For Ann.");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn markdown_arrives_formatted_and_malformed_markdown_arrives_as_text() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    model.next_reply("A **bold** 🦤 word, `code` and [a link](https://example.com/).");
    ann.says("format").await;
    let answer = ann.next_message().await;
    assert_eq!(answer.text, "A bold 🦤 word, code and a link.");
    let marked = |kind: &str| {
        let entity = answer.entities.iter().find(|entity| entity["type"] == kind).expect(kind);
        let (offset, length) = (entity["offset"].as_u64().unwrap(), entity["length"].as_u64().unwrap());
        let units: Vec<u16> = answer.text.encode_utf16().collect();
        String::from_utf16(&units[offset as usize..(offset + length) as usize]).unwrap()
    };
    assert_eq!([marked("bold"), marked("code"), marked("text_link")], ["bold", "code", "a link"]);

    let broken = "2 * 3 ** 4 _ [half (of a ~~link <b>and `code ||x";
    model.next_reply(broken);
    ann.says("format badly").await;
    let answer = ann.next_message().await;
    assert_eq!(answer.text, broken);
    let refused = world.refused_calls();
    assert!(refused.is_empty(), "{refused:?}");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_answer_arrives_complete_and_in_order() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let words: Vec<String> = (0..).map(|n| format!("{n}🦤")).take(3500).collect();
    let text = words.join(" ");
    assert!(text.encode_utf16().count() > 20_000);
    model.next_reply(&text);
    let question = ann.says("tell me everything").await;
    let mut heard: Vec<String> = Vec::new();
    let mut chunks = 0;
    while heard.len() < words.len() {
        let chunk = ann.next_message().await;
        assert!(chunk.text.encode_utf16().count() <= 4096);
        assert_eq!(chunk.reply_to, (chunks == 0).then_some(question.message_id), "the first is the reply");
        heard.extend(chunk.text.split_whitespace().map(str::to_owned));
        chunks += 1;
    }
    assert_eq!(heard, words);
    assert!(chunks <= 7, "{chunks} chunks");
    settings.until_settled(&world).await;
    bot.stop().await;
    ann.has_nothing_more();
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_drops_a_batch_that_is_not_complete() {
    let world = World::start().await;
    let settings = Settings::new(&world).with("PHOTOTHREAD_TELEGRAM__BATCH__ALBUM_QUIET_MS", "9000");
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_album(&[jpeg(64, 48), jpeg(64, 48)], "make them sepia").await;
    settings.until_looked_at(&world).await;
    ann.says("/cancel").await;
    assert_eq!(ann.next_message().await.text, "Stopped.");
    ann.says("hello").await;
    ann.next_message().await;
    settings.until_settled(&world).await;
    bot.stop().await;
    ann.has_nothing_more();
    assert_eq!(world.calls("getFile"), 0, "the album was never taken up");
}
