//! Updates: what the bot gets of what people do, and how it confirms them.

use super::{bot, call};
use crate::harness::{FileKind, World, jpeg, jpeg_of, user};
use serde_json::{Value, json};
use teloxide::{
    prelude::*,
    types::{InlineKeyboardButton, InlineKeyboardMarkup, MessageEntityKind, UpdateKind},
};

async fn updates(world: &World, params: Value) -> Vec<Value> {
    let (status, answer) = call(world, "getUpdates", params).await;
    assert_eq!(status, 200, "{answer}");
    answer["result"].as_array().unwrap().clone()
}

/// All pending messages, parsed by teloxide.
async fn messages(world: &World) -> Vec<Message> {
    let message = |update: Update| match update.kind {
        UpdateKind::Message(message) => message,
        other => panic!("not a message: {other:?}"),
    };
    bot(world).get_updates().await.unwrap().into_iter().map(message).collect()
}

#[tokio::test]
async fn updates_are_delivered_again_until_a_higher_offset_confirms_them() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let first = ann.says("one").await.update_id.unwrap();
    let second = ann.says("two").await.update_id.unwrap();
    assert_eq!(updates(&world, json!({})).await.len(), 2);
    assert_eq!(updates(&world, json!({ "limit": 1 })).await[0]["update_id"], first);
    assert_eq!(updates(&world, json!({})).await.len(), 2);
    assert_eq!(updates(&world, json!({ "offset": second })).await[0]["message"]["text"], "two");
    world.wait_for_confirmed(first).await;
    assert_eq!(world.confirmed_offset(), second);
    assert_eq!(updates(&world, json!({})).await.len(), 1);
    assert!(updates(&world, json!({ "offset": second + 1 })).await.is_empty());
    world.wait_until_all_confirmed().await;
}

#[tokio::test]
async fn a_long_poll_waits_for_the_next_update() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let (seen, _) = tokio::join!(updates(&world, json!({ "timeout": 30 })), async {
        world.wait_for_calls("getUpdates", 1).await;
        ann.says("at last").await
    });
    assert_eq!(seen[0]["message"]["text"], "at last");
}

#[tokio::test]
async fn a_second_poller_ends_the_first() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let (first, second) = tokio::join!(call(&world, "getUpdates", json!({ "timeout": 30 })), async {
        world.wait_for_calls("getUpdates", 1).await;
        let (answer, _) = tokio::join!(updates(&world, json!({ "timeout": 30 })), async {
            world.wait_for_calls("getUpdates", 2).await;
            ann.says("for the second").await
        });
        answer
    });
    assert_eq!(first.0, 409);
    assert!(first.1["description"].as_str().unwrap().starts_with("Conflict: terminated by other getUpdates"));
    assert_eq!(second.len(), 1);
}

#[tokio::test]
async fn only_the_allowed_kinds_of_updates_are_delivered() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    updates(&world, json!({ "allowed_updates": ["message"] })).await;
    let message = ann.says("one").await;
    ann.edits(&message, "two").await;
    assert_eq!(updates(&world, json!({})).await.len(), 1);
}

#[tokio::test]
async fn a_reply_contains_the_message_it_replies_to_one_level_deep() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let photo = ann.sends_photo(jpeg(400, 300), "look at 😀 this").await;
    let reply = ann.replies(&photo, "rotate left").await;
    ann.replies(&reply, "no, right").await;
    ann.replies_quoting(&photo, "this", "which?").await;
    let seen = messages(&world).await;
    let original = seen[1].reply_to_message().unwrap();
    assert_eq!(original.photo().unwrap().last().unwrap().width, 400);
    assert_eq!(original.caption(), Some("look at 😀 this"));
    let nested = seen[2].reply_to_message().unwrap();
    assert_eq!((nested.text(), nested.reply_to_message().is_some()), (Some("rotate left"), false));
    let quote = seen[3].quote().unwrap();
    assert_eq!((quote.text.as_str(), quote.position), ("this", 11));
}

#[tokio::test]
async fn an_album_is_one_update_per_photo_with_the_caption_on_the_first() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let photos = [[200, 0, 0], [0, 200, 0], [0, 0, 200]].map(|colour| jpeg_of(60, 40, colour));
    ann.sends_album(&photos, "make them black and white").await;
    let seen = messages(&world).await;
    let captions: Vec<_> = seen.iter().map(|message| message.caption()).collect();
    assert_eq!(captions, [Some("make them black and white"), None, None]);
    assert!(seen.iter().all(|message| message.media_group_id() == seen[0].media_group_id()));
    assert!(seen[0].media_group_id().is_some());
}

#[tokio::test]
async fn a_photo_of_an_album_can_be_held_back() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.album_piece("g1", jpeg(20, 20), "two").await;
    world.hold_updates();
    ann.album_piece("g1", jpeg(20, 20), "").await;
    assert_eq!(updates(&world, json!({})).await.len(), 1);
    world.release_updates();
    assert_eq!(updates(&world, json!({})).await.len(), 2);
}

#[tokio::test]
async fn commands_and_mentions_get_their_entities() {
    let world = World::start().await;
    let trip = world.group("Trip");
    let ann = trip.member(user(1001, "Ann"));
    ann.says(&format!("😀 @{} look, or /help@{} or /undo at a/b", world.bot_name(), world.bot_name())).await;
    let seen = messages(&world).await;
    let entities = seen[0].parse_entities().unwrap();
    let found: Vec<_> = entities.iter().map(|entity| (entity.kind().clone(), entity.text())).collect();
    let expected = [
        (MessageEntityKind::Mention, "@photothread_bot"),
        (MessageEntityKind::BotCommand, "/help@photothread_bot"),
        (MessageEntityKind::BotCommand, "/undo"),
    ];
    assert_eq!(found, expected);
    assert!(seen[0].chat.is_supergroup());
}

#[tokio::test]
async fn teloxide_parses_everything_people_send() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let document = ann.sends_document("notes.txt", "milk, eggs", "my list").await;
    ann.forwards(&document).await;
    for kind in [FileKind::Video, FileKind::Audio, FileKind::Voice, FileKind::Sticker, FileKind::VideoNote] {
        ann.sends_file_of(kind, "bytes", "").await;
    }
    ann.sends_file_of(FileKind::Animation, "bytes", "").await;
    let seen = messages(&world).await;
    assert_eq!(seen[0].document().unwrap().file_name.as_deref(), Some("notes.txt"));
    assert_eq!(seen[1].document().unwrap().file.id, seen[0].document().unwrap().file.id);
    assert!(seen[1].forward_origin().is_some());
    assert!(seen[2].video().is_some() && seen[3].audio().is_some() && seen[4].voice().is_some());
    assert!(seen[5].sticker().is_some() && seen[6].video_note().is_some() && seen[7].animation().is_some());
}

#[tokio::test]
async fn edits_blocks_and_unknown_kinds_are_delivered_as_updates() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let said = ann.says("helo").await;
    ann.edits(&said, "hello").await;
    ann.blocks_bot();
    world.raw_update(json!({ "telepathy": { "thought": "?" } }));
    world.raw_update(json!({ "message": { "message_id": "not a number" } }));
    let seen = bot(&world).get_updates().await.unwrap();
    assert!(matches!(&seen[1].kind, UpdateKind::EditedMessage(edited) if edited.text() == Some("hello")));
    assert!(matches!(&seen[2].kind, UpdateKind::MyChatMember(_)));
    assert!(matches!(&seen[3].kind, UpdateKind::Error(_)));
    assert!(matches!(&seen[4].kind, UpdateKind::Error(_)));
}

#[tokio::test]
async fn a_pressed_button_is_answered_once() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bot = bot(&world);
    let keyboard = InlineKeyboardMarkup::new([[InlineKeyboardButton::callback("Undo", "undo:1")]]);
    bot.send_message(ChatId(1001), "done").reply_markup(keyboard).await.unwrap();
    let answer = ann.next_message().await;
    let press = ann.presses(&answer, answer.button("Undo")).await;
    let seen = bot.get_updates().await.unwrap();
    let UpdateKind::CallbackQuery(query) = &seen[0].kind else { panic!("{seen:?}") };
    assert_eq!(query.data.as_deref(), Some("undo:1"));
    bot.answer_callback_query(query.id.clone()).await.unwrap();
    world.wait_for_callback_answer(&press).await;
    assert!(bot.answer_callback_query(query.id.clone()).await.is_err());
}
