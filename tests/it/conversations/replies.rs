//! Replies: any message can be replied to, and resolves to its thread and exactly its attachment, in its own chat only.

use crate::harness::{
    BotUnderTest, Person, Received, ScriptedModel, Settings, World, attachment_ids, jpeg, jpeg_of, user,
};
use image::GenericImageView as _;
use photothread::domain::Conversation;
use serde_json::{Value, json};

fn dimensions(message: &Received) -> (u32, u32) {
    let photo = message.photo.as_ref().unwrap_or_else(|| panic!("no photo in {message:?}"));
    image::load_from_memory(photo).expect("a picture").dimensions()
}

fn last_message(request: &Value) -> String {
    let messages = request["messages"].as_array().expect("messages");
    messages.last().map(ToString::to_string).unwrap_or_default()
}

/// Three photos of widths 300, 350 and 400, all 200 high.
fn three_photos() -> Vec<Vec<u8>> {
    (0..3).map(|i| jpeg_of(300 + 50 * i, 200, [200, 40, 40])).collect()
}

async fn with_model(world: &World, model: &ScriptedModel) -> (Settings, BotUnderTest, Person) {
    let settings = Settings::new(world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    (settings, bot, world.private_chat(user(1001, "Ann")))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_to_one_photo_of_an_own_album_edits_that_photo_and_all_of_them_edits_the_album() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let album = ann.sends_album(&three_photos(), "").await;
    ann.next_message().await;
    for (photo, width) in album.iter().zip([300, 350, 400]) {
        let request = ann.replies(photo, "rotate left").await;
        let rotated = ann.next_message().await;
        assert_eq!((dimensions(&rotated), rotated.reply_to), ((200, width), Some(request.message_id)));
    }
    ann.replies(&album[1], "rotate all of them left").await;
    let rotated = ann.next_album().await;
    assert_eq!(rotated.iter().map(dimensions).collect::<Vec<_>>(), [(200, 300), (200, 350), (200, 400)]);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_to_each_photo_of_the_bots_album_edits_that_photo() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let (_settings, bot, ann) = with_model(&world, &model).await;
    model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    ann.sends_album(&three_photos(), "turn them").await;
    let album = ann.next_album().await;
    assert_eq!(album.len(), 3);
    for (photo, height) in album.iter().zip([300, 350, 400]) {
        // The photo replied to is named first, then the rest of the album.
        model.next_with(|request| {
            let messages = request["messages"].as_array().cloned().unwrap_or_default();
            let last = json!({ "messages": messages.last().into_iter().collect::<Vec<_>>() });
            let arguments = json!({ "images": &attachment_ids(&last)[..1], "direction": "horizontal" });
            crate::harness::Answer::Calls(vec![("flip_image".into(), arguments)])
        });
        ann.replies(photo, "flip this one").await;
        assert_eq!(dimensions(&ann.next_message().await), (200, height));
    }
    assert_eq!(model.refusals(), [""; 0]);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_to_a_later_piece_of_a_long_answer_continues_its_thread() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let (settings, bot, ann) = with_model(&world, &model).await;
    model.next_reply(&"word ".repeat(1800));
    let question = ann.says("tell me of the pelican").await;
    let mut pieces = Vec::new();
    for _ in 0..3 {
        pieces.push(ann.next_message().await);
    }
    ann.says("/new").await;
    ann.next_message().await;
    let reply = ann.replies(&pieces[2], "shorter please").await;
    ann.next_message().await;
    let request = model.requests()[1]["messages"].to_string();
    assert!(request.contains("pelican") && request.contains("word word"), "the model sees the thread");
    let (store, place) = (settings.store().await, Conversation::telegram(1001));
    let root = store.find_message(&place, &question.message_id.to_string()).await.unwrap().unwrap();
    let reply = store.find_message(&place, &reply.message_id.to_string()).await.unwrap().unwrap();
    assert_eq!(reply.message.thread_root_id, Some(root.message.internal_id));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_continues_a_thread_of_any_age() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world)
        .with_model(&model.base_url())
        .with("PHOTOTHREAD_HISTORY__HISTORY_MAX_AGE_HOURS", "0.0000001");
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_photo(jpeg(64, 48), "my pelican").await;
    let answer = ann.next_message().await;
    ann.says("something else").await;
    ann.next_message().await;
    assert!(!model.requests()[1].to_string().contains("pelican"), "too old to be remembered unasked");
    model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    ann.replies(&answer, "turn it").await;
    assert_eq!(dimensions(&ann.next_message().await), (48, 64));
    let request = &model.requests()[2];
    assert!(request["messages"].to_string().contains("pelican"), "the root is always there");
    let system = request["messages"][0].to_string();
    assert!(system.contains("Recent Attachments in Conversation:"), "{system}");
    assert!(system.contains(&attachment_ids(request)[0]), "the thread's own file is listed: {system}");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_to_a_text_that_is_not_stored_starts_a_thread_with_that_text_as_quote() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let (settings, bot, ann) = with_model(&world, &model).await;
    let old = ann.says("the heron of 2019").await;
    ann.next_message().await;
    settings.until_settled(&world).await;
    bot.stop().await;

    let (settings, bot, ann) = with_model(&world, &model).await;
    let reply = ann.replies(&old, "what was that?").await;
    let answer = ann.next_message().await;
    assert_eq!((answer.text.as_str(), answer.reply_to), ("Done.", Some(reply.message_id)));
    let asked = last_message(&model.requests()[1]);
    assert!(asked.contains("the heron of 2019") && asked.contains("what was that?"), "{asked}");
    let store = settings.store().await;
    let place = Conversation::telegram(1001);
    let filed = store.find_message(&place, &reply.message_id.to_string()).await.unwrap().unwrap();
    assert_eq!(filed.message.thread_root_id, None, "a thread of its own");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_to_a_photo_that_is_not_stored_edits_the_photo_and_ignores_its_caption() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let old = ann.sends_photo(jpeg(640, 480), "crop to a square").await;
    assert_eq!(dimensions(&ann.next_message().await), (480, 480));
    settings.until_settled(&world).await;
    bot.stop().await;

    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    ann.replies(&old, "rotate left").await;
    assert_eq!(dimensions(&ann.next_message().await), (480, 640), "turned, and not cropped again");
    ann.replies(&old, "flip").await;
    assert_eq!(dimensions(&ann.next_message().await), (640, 480), "known from now on");
    bot.stop().await;
    ann.has_nothing_more();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_to_a_file_that_cannot_be_downloaded_is_answered_with_the_reason() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let old = ann.sends_huge_document("poster.png", 30 << 20, "").await;
    ann.next_message().await;
    settings.until_settled(&world).await;
    bot.stop().await;

    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    ann.replies(&old, "rotate left").await;
    let told = ann.next_message().await.text;
    assert!(told.contains("poster.png") && told.contains("20 MB"), "{told}");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_message_id_in_two_chats_is_two_messages() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let (ann, bob) = (world.private_chat(user(1001, "Ann")), world.private_chat(user(1002, "Bob")));
    let of_ann = ann.sends_photo(jpeg(640, 480), "").await;
    let of_bob = bob.sends_photo(jpeg(100, 60), "").await;
    assert_eq!(of_ann.message_id, of_bob.message_id);
    ann.next_message().await;
    bob.next_message().await;
    bob.replies(&of_bob, "rotate left").await;
    assert_eq!(dimensions(&bob.next_message().await), (60, 100));
    ann.replies(&of_ann, "rotate left").await;
    assert_eq!(dimensions(&ann.next_message().await), (480, 640));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attachment_of_another_chat_cannot_be_edited() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let (_settings, bot, ann) = with_model(&world, &model).await;
    let bob = world.private_chat(user(1002, "Bob"));
    ann.sends_photo(jpeg(640, 480), "mine").await;
    ann.next_message().await;
    let of_ann = attachment_ids(&model.requests()[0]).remove(0);
    model.next_calls([("rotate_image", json!({ "images": [of_ann], "degrees": 90 }))]);
    model.next_reply("I could not.");
    bob.says(&format!("rotate [Attachment ID: {of_ann}]")).await;
    let answer = bob.next_message().await;
    assert_eq!((answer.text.as_str(), answer.photo), ("I could not.", None));
    let result = last_message(&model.requests()[2]);
    assert!(result.contains("no attachment"), "{result}");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_quoted_part_of_a_message_is_in_the_prompt() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let (_settings, bot, ann) = with_model(&world, &model).await;
    model.next_reply("First the heron, then the pelican.");
    ann.says("what do you see?").await;
    let answer = ann.next_message().await;
    ann.replies_quoting(&answer, "the heron", "more of this").await;
    ann.next_message().await;
    let asked = last_message(&model.requests()[1]);
    assert!(asked.contains("they quote: <<< the heron >>>"), "{asked}");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_message_changes_the_history_and_starts_no_turn() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let (settings, bot, ann) = with_model(&world, &model).await;
    let words = ann.says("my pelikan").await;
    ann.next_message().await;
    let photo = ann.sends_photo(jpeg(64, 48), "its nets").await;
    ann.next_message().await;
    ann.edits(&words, "my pelican").await;
    ann.edits(&photo, "its nest").await;
    settings.until_settled(&world).await;
    assert_eq!(model.requests().len(), 2, "an edit is not a request");

    let store = settings.store().await;
    let place = Conversation::telegram(1001);
    let stored = store.find_message(&place, &photo.message_id.to_string()).await.unwrap().unwrap();
    assert!(stored.message.content.starts_with("its nest\n[Attachment ID: "), "{}", stored.message.content);
    ann.says("what is it?").await;
    ann.next_message().await;
    let request = model.requests()[2]["messages"].to_string();
    assert!(request.contains("my pelican") && request.contains("its nest"), "{request}");
    assert!(!request.contains("pelikan") && !request.contains("nets"), "{request}");
    bot.stop().await;
    ann.has_nothing_more();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_edited_before_its_turn_is_answered_as_edited() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let (settings, bot, ann) = with_model(&world, &model).await;
    let gate = model.hold_next();
    ann.says("think hard").await;
    gate.reached().await;
    let words = ann.says("draw a pelikan").await;
    ann.edits(&words, "draw a pelican").await;
    settings.until_looked_at(&world).await;
    gate.open();
    ann.next_message().await;
    assert_eq!(ann.next_message().await.reply_to, Some(words.message_id));
    let asked = last_message(&model.requests()[1]);
    assert!(asked.contains("pelican") && !asked.contains("pelikan"), "{asked}");
    settings.until_settled(&world).await;
    bot.stop().await;
    assert_eq!(model.requests().len(), 2);
}
