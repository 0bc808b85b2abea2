//! Last resort for a message that teloxide cannot parse: takes text, file and reply target straight from the JSON
//! and builds a plain message of them.

use chrono::Utc;
use serde_json::{Map, Value, json};
use teloxide::types::Message;

/// Fields of a message that may hold one file.
const FILE_FIELDS: [&str; 7] =
    ["animation", "document", "video", "audio", "voice", "video_note", "live_photo"];

/// How deep below an unknown field a file is looked for.
const MAX_SEARCH_DEPTH: usize = 3;

/// How deep texts are nested in a rich message.
const MAX_RICH_DEPTH: usize = 8;
/// Fields of a rich message that hold text.
const RICH_TEXTS: [&str; 3] = ["text", "title", "caption"];

/// Fields whose files belong to another message, to a person or to a chat.
const FOREIGN_FIELDS: [&str; 12] = [
    "reply_to_message",
    "external_reply",
    "pinned_message",
    "forward_origin",
    "quote",
    "from",
    "chat",
    "sender_chat",
    "via_bot",
    "new_chat_photo",
    "reply_to_story",
    "chat_background",
];

/// A message of known fields only; none if there is neither text nor a file in it.
pub fn rebuild(message: &Value) -> Option<Value> {
    let found = find_file(message);
    let text = message["text"].as_str().or(message["caption"].as_str());
    let text = text.or_else(|| found.as_ref()?.caption.as_deref());
    let rich = rich_text(&message["rich_message"]);
    let text = text.or(rich.as_deref());
    let mut rebuilt = rebuild_header(message)?;
    match (&found, text) {
        (Some(found), text) => {
            rebuilt.insert(found.field.to_owned(), found.file.clone());
            rebuilt.extend(text.map(|text| ("caption".to_owned(), text.into())));
        }
        (None, Some(text)) => {
            rebuilt.insert("text".to_owned(), text.into());
        }
        (None, None) => return None,
    }
    Some(Value::Object(rebuilt))
}

/// The target of a reply: its text and file, or its id alone. None if teloxide cannot parse even that.
pub fn rebuild_target(target: &Value) -> Option<Value> {
    let rebuilt = match rebuild(target) {
        Some(rebuilt) => rebuilt,
        None => {
            let mut bare = rebuild_header(target)?;
            bare.insert("text".to_owned(), "".into());
            Value::Object(bare)
        }
    };
    serde_json::from_value::<Message>(rebuilt.clone()).is_ok().then_some(rebuilt)
}

/// What a reply quotes from elsewhere: its file, and the message if that is named. None if there is no file.
pub fn rebuild_external_reply(reply: &Value) -> Option<Value> {
    let found = find_file(reply)?;
    let mut rebuilt = Map::new();
    let origin = json!({ "type": "hidden_user", "date": 0, "sender_user_name": "a chat" });
    rebuilt.insert("origin".to_owned(), origin);
    rebuilt.insert(found.field.to_owned(), found.file);
    // teloxide wants both, if only as null.
    rebuilt.insert("chat".to_owned(), rebuild_chat(&reply["chat"]).unwrap_or_default());
    rebuilt.insert("message_id".to_owned(), reply["message_id"].as_i64().into());
    Some(Value::Object(rebuilt))
}

/// Who, when, where (chat and topic), the album and the reply target.
fn rebuild_header(message: &Value) -> Option<Map<String, Value>> {
    let mut header = Map::new();
    header.insert("message_id".to_owned(), message["message_id"].as_i64()?.into());
    header
        .insert("date".to_owned(), message["date"].as_i64().unwrap_or_else(|| Utc::now().timestamp()).into());
    header.insert("chat".to_owned(), rebuild_chat(&message["chat"])?);
    if let Some(id) = message["from"]["id"].as_u64() {
        let from = &message["from"];
        let is_bot = from["is_bot"].as_bool().unwrap_or_default();
        let name = from["first_name"].as_str().unwrap_or_default();
        header.insert("from".to_owned(), json!({ "id": id, "is_bot": is_bot, "first_name": name }));
    }
    if let Some(topic) = message["message_thread_id"].as_i64().filter(|id| i32::try_from(*id).is_ok()) {
        header.insert("message_thread_id".to_owned(), topic.into());
        header.insert("is_topic_message".to_owned(), (message["is_topic_message"] == true).into());
    }
    if let Some(album) = message["media_group_id"].as_str() {
        header.insert("media_group_id".to_owned(), album.into());
    }
    let target = Some(&message["reply_to_message"]).filter(|target| target.is_object());
    if let Some(target) = target.and_then(rebuild_target) {
        header.insert("reply_to_message".to_owned(), target);
    }
    if let Some(reply) = rebuild_external_reply(&message["external_reply"]) {
        header.insert("external_reply".to_owned(), reply);
    }
    if message["forward_origin"].is_object() {
        let origin = json!({ "type": "hidden_user", "date": 0, "sender_user_name": "a chat" });
        header.insert("forward_origin".to_owned(), origin);
    }
    Some(header)
}

/// A chat of an unknown type is private if its id is that of a person, else a group.
fn rebuild_chat(chat: &Value) -> Option<Value> {
    let id = chat["id"].as_i64()?;
    let name = |field: &str| chat[field].as_str().unwrap_or_default();
    Some(match chat["type"].as_str() {
        Some(kind @ ("supergroup" | "channel")) => json!({ "id": id, "type": kind, "title": name("title") }),
        _ if id > 0 => json!({ "id": id, "type": "private", "first_name": name("first_name") }),
        _ => json!({ "id": id, "type": "group", "title": name("title") }),
    })
}

/// The words of a rich message, one line for each of its texts.
fn rich_text(message: &Value) -> Option<String> {
    let mut lines = Vec::new();
    collect_texts(message, MAX_RICH_DEPTH, &mut lines);
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// A text is a string, a list of texts, or an object with a text in it.
fn collect_texts(value: &Value, depth: usize, lines: &mut Vec<String>) {
    match value {
        Value::Array(items) if depth > 0 => {
            items.iter().for_each(|item| collect_texts(item, depth - 1, lines));
        }
        Value::Object(fields) if depth > 0 => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if RICH_TEXTS.contains(&name.as_str()) => lines.push(text.clone()),
                    Value::Array(items) if RICH_TEXTS.contains(&name.as_str()) => {
                        lines.push(items.iter().map(inline_text).collect());
                    }
                    other => collect_texts(other, depth - 1, lines),
                }
            }
        }
        _ => {}
    }
}

fn inline_text(value: &Value) -> String {
    value.as_str().or(value["text"].as_str()).unwrap_or_default().to_owned()
}

struct FoundFile {
    /// The field of a known message that holds such a file.
    field: &'static str,
    file: Value,
    /// The words beside the file, for a message that has none of its own.
    caption: Option<String>,
}

fn find_file(message: &Value) -> Option<FoundFile> {
    let fields = message.as_object()?;
    if let Some(found) = file_among(fields) {
        return Some(found);
    }
    if message["sticker"]["file_id"].is_string() {
        return Some(FoundFile { field: "document", file: plain_file(&message["sticker"])?, caption: None });
    }
    let unknown = fields.iter().filter(|(name, _)| !FOREIGN_FIELDS.contains(&name.as_str()));
    unknown.filter(|(name, _)| *name != "sticker").find_map(|(_, value)| {
        let file = plain_file(value).map(|file| FoundFile { field: "document", file, caption: None });
        file.or_else(|| search(value, MAX_SEARCH_DEPTH))
    })
}

/// Looks for a file in an unknown field. Embedded messages are other people's, and stickers decorate gifts.
fn search(value: &Value, depth: usize) -> Option<FoundFile> {
    match value {
        Value::Array(items) if depth > 0 => items.iter().find_map(|item| search(item, depth - 1)),
        Value::Object(fields) if depth > 0 && !fields.contains_key("message_id") => {
            let inner = || {
                let own = fields.iter().filter(|(name, _)| !FOREIGN_FIELDS.contains(&name.as_str()));
                own.filter(|(name, _)| *name != "sticker").find_map(|(_, value)| search(value, depth - 1))
            };
            file_among(fields).or_else(inner)
        }
        _ => None,
    }
}

/// The photo or file in the fields of one object.
fn file_among(fields: &Map<String, Value>) -> Option<FoundFile> {
    let words = fields.get("caption").or(fields.get("text")).and_then(Value::as_str);
    let caption = words.map(str::to_owned);
    if let Some(size) = fields.get("photo").and_then(largest_size) {
        return Some(FoundFile { field: "photo", file: json!([size]), caption });
    }
    let file = FILE_FIELDS.iter().find_map(|name| fields.get(*name).and_then(plain_file))?;
    Some(FoundFile { field: "document", file, caption })
}

fn largest_size(sizes: &Value) -> Option<Value> {
    let area = |size: &&Value| {
        let side = |name: &str| size[name].as_u64().unwrap_or_default();
        side("width").saturating_mul(side("height"))
    };
    let sizes = sizes.as_array()?.iter().filter(|size| size["file_id"].is_string());
    let largest = sizes.max_by_key(area)?;
    let number = |field: &str| largest[field].as_u64().unwrap_or_default();
    let mut size = plain_file(largest)?;
    size["width"] = number("width").into();
    size["height"] = number("height").into();
    Some(size)
}

/// The fields that every file has.
fn plain_file(file: &Value) -> Option<Value> {
    let id = file["file_id"].as_str()?;
    let unique_id = file["file_unique_id"].as_str().unwrap_or(id);
    let mut plain = json!({ "file_id": id, "file_unique_id": unique_id });
    for field in ["file_name", "mime_type"] {
        if file[field].is_string() {
            plain[field] = file[field].clone();
        }
    }
    if file["file_size"].as_u64().is_some_and(|size| size < u64::from(u32::MAX)) {
        plain["file_size"] = file["file_size"].clone();
    }
    Some(plain)
}
