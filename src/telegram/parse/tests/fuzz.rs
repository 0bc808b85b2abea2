//! Mutated updates: reading one never panics, and what has text or a file is still a message.

use super::{BotIdentity, Reading, parse_message, parse_update};
use crate::agent::Routes;
use serde_json::{Value, json};
use teloxide::types::{UpdateKind, User};

fn message(fields: Value) -> Value {
    let mut message = json!({
        "message_id": 5, "date": 1_700_000_000, "chat": { "id": 1, "type": "private", "first_name": "Ann" },
        "from": { "id": 1, "is_bot": false, "first_name": "Ann", "language_code": "en" },
    });
    for (name, value) in fields.as_object().unwrap() {
        message[name] = value.clone();
    }
    message
}

fn seeds() -> Vec<Vec<u8>> {
    let size = |id: &str| json!({ "file_id": id, "file_unique_id": id, "width": 90, "height": 60, "file_size": 1000 });
    let photo = message(json!({
        "photo": [size("s"), size("m")], "caption": "crop it, @photobot", "media_group_id": "7",
        "caption_entities": [{ "type": "mention", "offset": 9, "length": 9 }],
    }));
    let document =
        json!({ "file_id": "f", "file_unique_id": "u", "file_name": "a.png", "mime_type": "image/png" });
    let all = [
        json!({ "message": message(json!({ "text": "hello", "entities": [{ "type": "bold", "offset": 0, "length": 5 }] })) }),
        json!({ "message": photo }),
        json!({ "edited_message": message(json!({ "text": "hello", "edit_date": 1_700_000_001 })) }),
        json!({ "message": message(json!({
            "text": "bigger", "reply_to_message": photo, "quote": { "text": "crop", "position": 0 },
        })) }),
        json!({ "message": message(json!({ "document": document, "forward_origin": {
            "type": "hidden_user", "sender_user_name": "X", "date": 1 } })) }),
        json!({ "message": message(json!({ "new_chat_members": [{ "id": 2, "is_bot": false, "first_name": "Bob" }] })) }),
        json!({ "callback_query": { "id": "1", "from": { "id": 1, "is_bot": false, "first_name": "Ann" },
            "chat_instance": "1", "data": "x" } }),
    ];
    all.into_iter()
        .map(|mut update| {
            update["update_id"] = json!(77);
            update.to_string().into_bytes()
        })
        .collect()
}

#[test]
fn mutated_updates_never_panic_and_keep_their_text() {
    let (identity, routes) = (BotIdentity { user_id: 99, username: "photobot".into() }, Routes::default());
    let mutate = |seed: &[u8], _: &[Vec<u8>], rng: &mut fuzzing::SmallRng| {
        let update: Value = serde_json::from_slice(seed).unwrap();
        fuzzing::mutate_json(&update, rng).to_string().into_bytes()
    };
    fuzzing::fuzz("updates", &seeds(), mutate, |raw| {
        let Ok(raw) = std::str::from_utf8(raw) else { return };
        let Ok(parsed) = parse_update(raw) else { return };
        let (UpdateKind::Message(message) | UpdateKind::EditedMessage(message)) = &parsed.update.kind else {
            return;
        };
        let received = parse_message(message, &identity, &routes);
        let json: Value = serde_json::from_str(raw).unwrap();
        let sent = &json["message"];
        let text = sent["text"].as_str().filter(|text| !text.is_empty());
        let sender = serde_json::from_value::<User>(sent["from"].clone());
        let is_person = sender.is_ok_and(|sender| !sender.is_bot);
        if let (Some(_), true, Reading::Complete | Reading::FromRawFields) = (text, is_person, parsed.reading)
        {
            assert!(received.is_some(), "a text was lost: {raw}");
        }
    });
}
