//! Tolerant reading of raw updates. Telegram adds fields and kinds at any time, and teloxide turns a message with an
//! unknown one into an empty message. Nothing a person sent may be lost to that, so an empty message is repaired:
//!
//! 1. Drop the optional fields and entities that teloxide cannot parse, also in the message replied to.
//! 2. If the message is still empty, rebuild it from its raw fields (`raw_fields`).

use super::raw_fields;
use serde_json::{Map, Value, json};
use teloxide::types::{Message, MessageEntity, MessageKind, Update, UpdateId, UpdateKind, User};

/// The field of an update that holds a message, and the kind of such an update.
type MessageField = (&'static str, fn(Message) -> UpdateKind);

const MESSAGE_FIELDS: [MessageField; 2] =
    [("message", UpdateKind::Message), ("edited_message", UpdateKind::EditedMessage)];

/// Fields that every message has, or that hold its content: never dropped on their own.
const KEPT_FIELDS: [&str; 19] = [
    "message_id",
    "date",
    "chat",
    "from",
    "text",
    "entities",
    "caption",
    "caption_entities",
    "media_group_id",
    "reply_to_message",
    "photo",
    "animation",
    "document",
    "video",
    "audio",
    "voice",
    "video_note",
    "sticker",
    "forward_origin",
];

/// An update as teloxide types it, and what it took to get there.
#[derive(Debug)]
pub struct ParsedUpdate {
    pub update: Update,
    pub reading: Reading,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// teloxide parsed all of it.
    Complete,
    /// Fields that teloxide does not know were left out.
    WithoutUnknownFields,
    /// Only text, file and reply target were taken, straight from the JSON.
    FromRawFields,
}

/// Parses a raw update. The error says why it cannot be parsed; it may quote the update, so it must not be logged.
pub fn parse_update(raw: &str) -> Result<ParsedUpdate, String> {
    let mut update: Value = serde_json::from_str(raw).map_err(|_| "not JSON".to_owned())?;
    for (name, kind) in MESSAGE_FIELDS {
        if let Some(message) = update.get_mut(name) {
            let reading = repair(message);
            let message = serde_json::from_value(message.take()).map_err(|error| error.to_string())?;
            let id = update["update_id"].as_u64().and_then(|id| u32::try_from(id).ok());
            let id = UpdateId(id.ok_or("an update without an id")?);
            return Ok(ParsedUpdate { update: Update { id, kind: kind(message) }, reading });
        }
    }
    // From the text: teloxide skips the first key of an update that is a `Value`.
    match serde_json::from_str(raw) {
        Ok(Update { kind: UpdateKind::Error(_), .. }) => {
            Err("not an update this version understands".to_owned())
        }
        Ok(update) => Ok(ParsedUpdate { update, reading: Reading::Complete }),
        Err(error) => Err(error.to_string()),
    }
}

/// Changes the message until teloxide can parse its content and that of the message replied to.
fn repair(message: &mut Value) -> Reading {
    lift_live_photo(message);
    restore_sender(message);
    if let Some(target) = message.get_mut("reply_to_message") {
        lift_live_photo(target);
    }
    if is_readable(message) {
        return Reading::Complete;
    }
    if let Some(target) = message.get_mut("reply_to_message") {
        drop_unknown_fields(target);
        if !is_readable(target) {
            match raw_fields::rebuild_target(target) {
                Some(rebuilt) => *target = rebuilt,
                None => remove_reply(message),
            }
        }
    }
    drop_unknown_fields(message);
    if is_readable(message) {
        return Reading::WithoutUnknownFields;
    }
    match raw_fields::rebuild(message) {
        Some(rebuilt) => {
            *message = rebuilt;
            Reading::FromRawFields
        }
        // A service message of an unknown kind: nothing in it is worth filing.
        None => Reading::WithoutUnknownFields,
    }
}

/// A reply whose target cannot even be named is a plain message.
fn remove_reply(message: &mut Value) {
    if let Some(fields) = message.as_object_mut() {
        fields.remove("reply_to_message");
    }
}

/// A private chat has the id of its person, so a sender that cannot be read is known there.
fn restore_sender(message: &mut Value) {
    let chat = &message["chat"];
    let person = chat["id"].as_u64().filter(|_| chat["type"] == "private");
    let is_known = || serde_json::from_value::<User>(message["from"].clone()).is_ok();
    if let Some(id) = person.filter(|_| !is_known()) {
        let name = chat["first_name"].as_str().unwrap_or_default();
        message["from"] = json!({ "id": id, "is_bot": false, "first_name": name });
    }
}

/// A live photo is a photo with a short video. Its still is filed.
fn lift_live_photo(message: &mut Value) {
    let Some(fields) = message.as_object_mut() else { return };
    if let Some(still) = fields.get("live_photo").and_then(|live| live.get("photo")).cloned() {
        fields.remove("live_photo");
        fields.insert("photo".to_owned(), still);
    }
}

/// Whether teloxide finds content in the message and in the message it replies to.
fn is_readable(message: &Value) -> bool {
    fn has_content(message: &Message) -> bool {
        !matches!(message.kind, MessageKind::Empty {}) && message.reply_to_message().is_none_or(has_content)
    }
    serde_json::from_value::<Message>(message.clone()).is_ok_and(|message| has_content(&message))
}

fn drop_unknown_fields(message: &mut Value) {
    let Some(fields) = message.as_object_mut() else { return };
    for name in ["entities", "caption_entities"] {
        drop_unknown_entities(fields, name);
    }
    if let Some(quote) = fields.get_mut("quote").and_then(Value::as_object_mut) {
        drop_unknown_entities(quote, "entities");
    }
    if fields.get("forward_origin").is_some_and(|origin| !parses_beside_text("forward_origin", origin)) {
        // It stays a forward, because a forward commands no agent.
        let origin = json!({ "type": "hidden_user", "date": 0, "sender_user_name": "a chat" });
        fields.insert("forward_origin".to_owned(), origin);
    }
    if let Some(reply) =
        fields.get("external_reply").filter(|reply| !parses_beside_text("external_reply", reply))
        && let Some(rebuilt) = raw_fields::rebuild_external_reply(reply)
    {
        fields.insert("external_reply".to_owned(), rebuilt);
    }
    fields.retain(|name, value| KEPT_FIELDS.contains(&name.as_str()) || parses_beside_text(name, value));
}

fn drop_unknown_entities(fields: &mut Map<String, Value>, name: &str) {
    let Some(entities) = fields.get_mut(name) else { return };
    match entities.as_array_mut() {
        Some(entities) => {
            entities.retain(|entity| serde_json::from_value::<MessageEntity>(entity.clone()).is_ok())
        }
        None => {
            fields.remove(name);
        }
    }
}

/// Whether a plain text message with this one more field still parses as a text message.
fn parses_beside_text(name: &str, value: &Value) -> bool {
    let message = json!({
        "message_id": 1, "date": 0, "chat": { "id": 1, "type": "private", "first_name": "" }, "text": "x",
        name: value,
    });
    serde_json::from_value::<Message>(message).is_ok_and(|message| message.text().is_some())
}

#[cfg(test)]
#[path = "tests/fields.rs"]
mod fields;

#[cfg(test)]
mod tests {
    use super::*;

    fn message(fields: Value) -> Value {
        let mut message = json!({
            "message_id": 5, "date": 0, "chat": { "id": 1, "type": "private", "first_name": "Ann" },
            "from": { "id": 1, "is_bot": false, "first_name": "Ann" },
        });
        for (name, value) in fields.as_object().unwrap() {
            message[name] = value.clone();
        }
        message
    }

    fn parsed(fields: Value) -> (Message, Reading) {
        let raw = json!({ "update_id": 7, "message": message(fields) }).to_string();
        let ParsedUpdate { update, reading } = parse_update(&raw).unwrap();
        match update.kind {
            UpdateKind::Message(message) => (message, reading),
            other => panic!("{other:?}"),
        }
    }

    fn photo() -> Value {
        let size = |id: &str, side: u32| json!({ "file_id": id, "file_unique_id": id, "width": side, "height": side, "file_size": 9 });
        json!([size("small", 90), size("large", 900), size("middle", 320)])
    }

    fn entities() -> Value {
        json!([
            { "type": "bold", "offset": 0, "length": 1 },
            { "type": "hologram", "offset": 1, "length": 1, "depth": 3 },
        ])
    }

    #[test]
    fn known_messages_are_left_alone() {
        let (message, reading) = parsed(json!({ "text": "crop it", "invented": { "deep": [1] } }));
        assert_eq!((message.text(), reading), (Some("crop it"), Reading::Complete));
    }

    #[test]
    fn unknown_entities_are_dropped_and_known_ones_stay() {
        let (text, reading) = parsed(json!({ "text": "crop it", "entities": entities() }));
        assert_eq!(reading, Reading::WithoutUnknownFields);
        assert_eq!(text.entities().unwrap(), [MessageEntity::bold(0, 1)]);
        let (photo, _) =
            parsed(json!({ "photo": photo(), "caption": "crop", "caption_entities": entities() }));
        assert_eq!((photo.caption(), photo.photo().unwrap().len()), (Some("crop"), 3));
        assert_eq!(photo.caption_entities().unwrap(), [MessageEntity::bold(0, 1)]);
    }

    #[test]
    fn unknown_reply_parts_are_dropped_and_the_text_stays() {
        for unknown in [
            json!({ "external_reply": { "origin": { "type": "star" }, "hologram": {} } }),
            json!({ "quote": { "text": 5 } }),
            json!({ "reply_to_story": "new" }),
            json!({ "reply_markup": [1] }),
        ] {
            let mut fields = json!({ "text": "crop it" });
            fields.as_object_mut().unwrap().extend(unknown.as_object().unwrap().clone());
            let (message, reading) = parsed(fields);
            assert_eq!((message.text(), reading), (Some("crop it"), Reading::WithoutUnknownFields));
        }
    }

    #[test]
    fn a_quote_with_an_unknown_entity_keeps_its_words() {
        let quote = json!({ "text": "ab", "position": 0, "entities": entities() });
        let (message, _) = parsed(json!({ "text": "crop it", "quote": quote }));
        assert_eq!(message.quote().unwrap().text, "ab");
    }

    #[test]
    fn a_forward_from_an_unknown_origin_stays_a_forward() {
        let (message, _) = parsed(json!({ "text": "/new", "forward_origin": { "type": "star" } }));
        assert!(message.forward_origin().is_some());
        assert_eq!(message.text(), Some("/new"));
    }

    #[test]
    fn the_still_of_a_live_photo_is_its_photo() {
        let live = json!({ "file_id": "clip", "file_unique_id": "clip", "photo": photo(), "duration": 2 });
        let (message, reading) = parsed(json!({ "live_photo": live, "caption": "crop it" }));
        assert_eq!((message.caption(), reading), (Some("crop it"), Reading::Complete));
        assert_eq!(message.photo().unwrap().len(), 3);
    }

    #[test]
    fn a_reply_target_with_unknown_parts_keeps_its_id_text_and_photo() {
        let mut target = message(json!({ "photo": photo(), "caption": "a", "caption_entities": entities() }));
        target["message_id"] = 4.into();
        let (reply, _) = parsed(json!({ "text": "crop it", "reply_to_message": target }));
        let target = reply.reply_to_message().unwrap();
        assert_eq!((target.id.0, target.caption(), target.photo().unwrap().len()), (4, Some("a"), 3));

        let mut unknown = message(json!({ "hologram": { "depth": 3 } }));
        unknown["message_id"] = 3.into();
        let (reply, reading) = parsed(json!({ "text": "crop it", "reply_to_message": unknown }));
        assert_eq!((reply.text(), reading), (Some("crop it"), Reading::WithoutUnknownFields));
        assert_eq!(reply.reply_to_message().unwrap().id.0, 3);
    }

    #[test]
    fn a_photo_in_an_unknown_kind_is_read_from_its_raw_fields() {
        let target = message(json!({ "text": "before" }));
        let (message, reading) = parsed(json!({
            "hologram": { "photo": photo(), "depth": 3 }, "caption": "crop it", "media_group_id": "g",
            "reply_to_message": target,
        }));
        assert_eq!((message.caption(), reading), (Some("crop it"), Reading::FromRawFields));
        assert_eq!(message.photo().unwrap()[0].file.id.0, "large");
        assert_eq!(message.media_group_id().unwrap().0, "g");
        assert_eq!(message.reply_to_message().unwrap().text(), Some("before"));
    }

    #[test]
    fn a_file_in_an_unknown_kind_is_read_from_its_raw_fields() {
        let hologram = json!({ "file_id": "f", "file_unique_id": "u", "file_name": "a.holo",
            "mime_type": "model/holo", "file_size": 12 });
        let (message, reading) = parsed(json!({ "hologram": hologram }));
        let document = message.document().unwrap();
        assert_eq!(
            (document.file.id.0.as_str(), document.file.size, reading),
            ("f", 12, Reading::FromRawFields)
        );
        assert_eq!(document.file_name.as_deref(), Some("a.holo"));
    }

    #[test]
    fn a_chat_of_an_unknown_type_loses_no_text() {
        let chat = json!({ "id": -5, "type": "galaxy", "title": "Trip" });
        let (message, reading) = parsed(json!({ "chat": chat, "text": "crop it" }));
        assert_eq!(
            (message.chat.id.0, message.text(), reading),
            (-5, Some("crop it"), Reading::FromRawFields)
        );
    }

    #[test]
    fn service_messages_of_unknown_kinds_stay_empty() {
        let embedded = message(json!({ "photo": photo() }));
        for service in [
            json!({ "boost_stopped": { "boosts": 2 } }),
            json!({ "post_approved": { "suggested_post_message": embedded } }),
            json!({ "gift_sent": { "gift": { "sticker": { "file_id": "f", "file_unique_id": "u" } } } }),
        ] {
            let (message, _) = parsed(service);
            assert!(matches!(message.kind, MessageKind::Empty {}), "{message:?}");
        }
    }

    #[test]
    fn updates_of_unknown_kinds_are_refused() {
        assert!(parse_update(r#"{"update_id":1,"hologram":{}}"#).is_err());
        assert!(parse_update("{").is_err());
    }

    #[test]
    fn a_reply_whose_target_cannot_be_named_keeps_its_text() {
        for id in [json!(1e300), json!(null), json!("5"), json!(i64::MIN)] {
            let mut target = message(json!({ "text": "what" }));
            target["message_id"] = id;
            let raw = json!({ "update_id": 7, "message": message(json!({ "text": "bigger", "reply_to_message": target })) });
            let parsed = parse_update(&raw.to_string()).unwrap();
            let UpdateKind::Message(message) = parsed.update.kind else { panic!("{raw}") };
            assert_eq!(
                (message.text(), message.reply_to_message().is_none()),
                (Some("bigger"), true),
                "{raw}"
            );
        }
    }
}
