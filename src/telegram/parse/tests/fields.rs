//! Every field of a message, replaced by something unknown: words and files are read all the same.

use super::parse_update;
use crate::{
    agent::Routes,
    telegram::{
        bot_identity::BotIdentity,
        parse::{ReceivedMessage, parse_message},
    },
};
use serde_json::{Value, json};
use teloxide::types::UpdateKind;

/// The fields of `Message` in the Bot API, without those below.
const FIELDS: [&str; 92] = [
    "message_thread_id",
    "direct_messages_topic",
    "date",
    "from",
    "sender_chat",
    "sender_boost_count",
    "sender_business_bot",
    "sender_tag",
    "guest_query_id",
    "business_connection_id",
    "forward_origin",
    "is_topic_message",
    "is_automatic_forward",
    "reply_to_message",
    "external_reply",
    "quote",
    "reply_to_story",
    "reply_to_checklist_task_id",
    "reply_to_poll_option_id",
    "via_bot",
    "guest_bot_caller_user",
    "guest_bot_caller_chat",
    "edit_date",
    "has_protected_content",
    "is_from_offline",
    "is_paid_post",
    "media_group_id",
    "author_signature",
    "paid_star_count",
    "entities",
    "link_preview_options",
    "suggested_post_info",
    "effect_id",
    "animation",
    "audio",
    "document",
    "live_photo",
    "paid_media",
    "sticker",
    "story",
    "video",
    "video_note",
    "voice",
    "caption_entities",
    "show_caption_above_media",
    "has_media_spoiler",
    "checklist",
    "contact",
    "dice",
    "game",
    "poll",
    "venue",
    "location",
    "new_chat_members",
    "left_chat_member",
    "chat_owner_left",
    "chat_owner_changed",
    "new_chat_title",
    "new_chat_photo",
    "delete_chat_photo",
    "group_chat_created",
    "supergroup_chat_created",
    "channel_chat_created",
    "message_auto_delete_timer_changed",
    "migrate_to_chat_id",
    "migrate_from_chat_id",
    "pinned_message",
    "invoice",
    "successful_payment",
    "refunded_payment",
    "users_shared",
    "chat_shared",
    "gift",
    "unique_gift",
    "connected_website",
    "write_access_allowed",
    "passport_data",
    "proximity_alert_triggered",
    "boost_added",
    "chat_background_set",
    "checklist_tasks_done",
    "forum_topic_created",
    "forum_topic_edited",
    "forum_topic_closed",
    "giveaway",
    "video_chat_ended",
    "web_app_data",
    "reply_markup",
    "rich_message",
    "receiver_user",
    "ephemeral_message_id",
    "a_field_of_the_future",
];

fn unknown_values() -> Vec<Value> {
    vec![
        json!("unknown"),
        json!(-7),
        json!(1e300),
        json!(true),
        json!(null),
        json!([]),
        json!([{ "type": "hologram" }]),
        json!({}),
        json!({ "type": "hologram", "depth": { "of": [3] } }),
    ]
}

fn base(content: Value) -> Value {
    let mut message = json!({ "message_id": 5, "date": 1_700_000_000,
        "chat": { "id": 1001, "type": "private", "first_name": "Ann" },
        "from": { "id": 1001, "is_bot": false, "first_name": "Ann" } });
    for (name, value) in content.as_object().unwrap() {
        message[name] = value.clone();
    }
    message
}

fn photo() -> Value {
    let size =
        |id: &str, side: u32| json!({ "file_id": id, "file_unique_id": id, "width": side, "height": side });
    json!([size("small", 90), size("large", 900)])
}

fn read(message: &Value) -> Option<ReceivedMessage> {
    let raw = json!({ "update_id": 7, "message": message }).to_string();
    let UpdateKind::Message(message) = parse_update(&raw).ok()?.update.kind else { return None };
    let identity = BotIdentity { user_id: 99, username: "photobot".into() };
    parse_message(&message, &identity, &Routes::default())
}

#[test]
fn no_unknown_field_takes_words_or_a_file_along() {
    let mut lost = Vec::new();
    for field in FIELDS {
        for unknown in unknown_values() {
            for content in [json!({ "text": "crop it" }), json!({ "photo": photo(), "caption": "crop it" })] {
                let has_file = content["photo"].is_array();
                let mut message = base(content);
                message[field] = unknown.clone();
                let kept = read(&message).is_some_and(|read| {
                    let file = read.file.is_some_and(|file| file.file_id == "large");
                    read.text.ends_with("crop it") && file == has_file && read.sender.0 == "1001"
                });
                if !kept {
                    lost.push(format!(
                        "{field}: {unknown} beside {}",
                        if has_file { "a photo" } else { "a text" }
                    ));
                }
            }
        }
    }
    assert!(lost.is_empty(), "{} are lost:\n{}", lost.len(), lost.join("\n"));
}

#[test]
fn the_words_of_a_photo_that_cannot_be_read_are_kept() {
    for unknown in unknown_values() {
        let read = read(&base(json!({ "photo": unknown, "caption": "crop it" }))).unwrap();
        assert_eq!(read.text, "crop it", "{unknown}");
    }
}

#[test]
fn a_photo_with_an_unknown_caption_is_kept() {
    for unknown in unknown_values().into_iter().filter(|unknown| !unknown.is_string()) {
        let read = read(&base(json!({ "photo": photo(), "caption": unknown }))).unwrap();
        assert_eq!((read.text.as_str(), read.file.unwrap().file_id.as_str()), ("", "large"));
    }
}

#[test]
fn a_rich_message_is_its_words() {
    let rich = json!({ "blocks": [
        { "type": "paragraph", "text": ["crop ", { "type": "bold", "text": "it" }] },
        { "type": "paragraph", "text": "to a square" },
    ] });
    assert_eq!(read(&base(json!({ "rich_message": rich }))).unwrap().text, "crop it\nto a square");
}

#[test]
fn an_external_reply_in_an_unknown_form_keeps_its_photo() {
    let reply = json!({ "origin": { "type": "star" }, "photo": photo(), "hologram": {},
        "chat": { "id": -9, "type": "galaxy" }, "message_id": 4 });
    let read = read(&base(json!({ "text": "crop it", "external_reply": reply }))).unwrap();
    let target = read.reply.unwrap();
    assert_eq!((read.text.as_str(), target.message_id.as_str()), ("crop it", "-9:4"));
    assert_eq!(target.file.unwrap().file_id, "large");
}
