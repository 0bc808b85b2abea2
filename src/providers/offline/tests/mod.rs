//! Test harness of the offline agent: attachments with one-letter names, fake tools that only name their outputs, and
//! whole turns recorded as one line of calls (`crop a 1:1 | flip a1 horizontal`) and the reply.

mod photo_edits;
mod sentences;
mod several_photos;
mod sights;
mod stages;
mod targets;
mod turns;

use super::Offline;
use crate::domain::{Attachment, AttachmentId, AttachmentSource, Content, Conversation, ToolCall};
use crate::providers::{Completion, Focus, Prompt, PromptMessage, Provider, ToolSpec};
use chrono::DateTime;
use futures::executor::block_on;
use serde_json::Value;
use std::{collections::HashSet, sync::LazyLock};
use uuid::Uuid;

const TOOLS: [&str; 23] = [
    "highlight_image",
    "crop_image",
    "rotate_image",
    "flip_image",
    "resize_image",
    "filter_image",
    "adjust_image",
    "redact_image",
    "annotate_image",
    "watermark_image",
    "collage_images",
    "compare_images",
    "animate_images",
    "convert_image",
    "undo_edit",
    "redo_edit",
    "revert_to_original",
    "repeat_edits",
    "image_info",
    "attach_to_response",
    "list_attachments",
    "get_attachment_info",
    "read_text_attachment",
];

fn id(name: &str) -> AttachmentId {
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
    AttachmentId(Uuid::from_bytes(bytes))
}

fn name(id: &str) -> String {
    let bytes = Uuid::parse_str(id).unwrap().into_bytes();
    String::from_utf8(bytes.into_iter().filter(|byte| *byte != 0).collect()).unwrap()
}

fn file(name: &str, mime_type: &str) -> Attachment {
    Attachment {
        attachment_id: id(name),
        conversation: Conversation::telegram(1),
        user_id: crate::domain::UserId("100".into()),
        source: AttachmentSource::User,
        mime_type: mime_type.into(),
        filename: format!("{name}.bin"),
        description: None,
        size: 1,
        width: None,
        height: None,
        content: Content::stored("none", "none"),
        created_at: DateTime::UNIX_EPOCH,
        parents: Vec::new(),
    }
}

/// Pictures with the names in "a b c".
fn photos(names: &str) -> Vec<Attachment> {
    names.split_whitespace().map(|name| file(name, "image/jpeg")).collect()
}

fn reply_to_a(said: &str) -> Focus {
    Focus { said: said.into(), replied: photos("a"), album: photos("a"), ..Focus::default() }
}

fn prompt(focus: Focus) -> Prompt {
    let tools = TOOLS.map(|name| ToolSpec { name, description: "", progress: "", parameters: Value::Null });
    let text = focus.said.clone();
    Prompt {
        messages: vec![PromptMessage::User { text, shown: Vec::new() }],
        tools: tools.into(),
        focus,
        ..Prompt::default()
    }
}

fn complete(prompt: &Prompt) -> Completion {
    static OFFLINE: LazyLock<Offline> = LazyLock::new(|| Offline::new().unwrap());
    let completion = block_on(OFFLINE.complete(prompt, &|_| {})).unwrap();
    assert_ne!(completion.text.is_empty(), completion.tool_calls.is_empty(), "either text or calls");
    completion
}

fn ids(arguments: &Value) -> Vec<String> {
    let list =
        |key: &str| arguments[key].as_array().into_iter().flatten().map(|id| id.as_str().unwrap().to_owned());
    let one = arguments["attachment_id"].as_str().or(arguments["image"].as_str()).map(str::to_owned);
    list("images").chain(list("attachment_ids")).chain(one).collect()
}

/// The name of the next version: edits of `a` make `a1`, then `a2`.
fn successor(name: &str) -> String {
    let (letter, count) = name.split_at(1);
    format!("{letter}{}", count.parse::<u32>().unwrap_or(0) + 1)
}

/// The result of a fake tool.
fn fake_tool(call: &ToolCall) -> String {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    match call.name.as_str() {
        "attach_to_response" => "Will be sent.".into(),
        "list_attachments" => {
            format!("- [{}] a.jpg (image/jpeg) - now\n- [{}] b.txt (text/plain) - now", id("a"), id("b"))
        }
        "get_attachment_info" => format!("attachment_id: {}\ntype: text/plain", ids(&arguments)[0]),
        "image_info" => "a.jpg (JPEG, 1 MB)\nSize: 4000×3000 pixels\nMain colours: red 60%, blue 40%\nCamera: Canon \
                         EOS\nTaken: 1 May 2024\nWarning: the place where it was taken (GPS) is in this file. \
                         convert_image removes it."
            .into(),
        "collage_images" | "animate_images" => format!("Made it.\n[Attachment ID: {}]", id("m1")),
        "compare_images" => format!(
            "Similarity 95.0% (SSIM of brightness). 3% of the pixels visibly changed, mainly in {{left: 0, top: 0, \
             right: 10, bottom: 10}}.\nMade: side-by-side, difference.\n[Attachment ID: {}]\n[Attachment ID: {}]",
            id("m1"),
            id("m2")
        ),
        "read_text_attachment" => "hello ```world```".into(),
        _ => ids(&arguments)
            .iter()
            .map(|made| format!("[Attachment ID: {}]\n", id(&successor(&name(made)))))
            .collect(),
    }
}

/// A call in short notation: `crop a 1:1`.
fn notation(call: &ToolCall) -> String {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    let mut parts = vec![call.name.split('_').next().unwrap().replace("attach", "send")];
    parts.extend(ids(&arguments).iter().map(|id| name(id)));
    let corners =
        |region: &Value| ["left", "top", "right", "bottom"].map(|side| region[side].to_string()).join(" ");
    parts.extend(arguments["from"].as_str().map(|from| format!("from {}", name(from))));
    for region in arguments["regions"].as_array().into_iter().flatten() {
        let mut item_notation = corners(region);
        for (key, quote) in [("color", ""), ("label", "'"), ("shape", "")] {
            if let Some(value) = region[key].as_str() {
                item_notation += &format!(" {quote}{value}{quote}");
            }
        }
        parts.push(format!("[{item_notation}]"));
    }
    if arguments["region"].is_object() {
        parts.push(format!("[{}]", corners(&arguments["region"])));
    }
    for item in arguments["items"].as_array().into_iter().flatten() {
        let mut item_notation = corners(&item["region"]);
        for (key, quote) in [("align", ""), ("color", ""), ("text", "'")] {
            if let Some(value) = item[key].as_str() {
                item_notation += &format!(" {quote}{value}{quote}");
            }
        }
        parts.push(format!("[{item_notation}]"));
    }
    parts.extend(arguments["what"].as_str().map(str::to_owned));
    const KEYS: &[&str] = &[
        "aspect",
        "degrees",
        "direction",
        "filter",
        "width",
        "height",
        "longest",
        "percent",
        "grep",
        "literal",
        "trim",
        "straighten",
        "strength",
        "brightness",
        "contrast",
        "exposure",
        "saturation",
        "warmth",
        "sharpness",
        "shadows",
        "highlights",
        "auto_levels",
        "style",
        "text",
        "position",
        "color",
        "colors",
        "background",
        "layout",
        "format",
        "seconds_per_image",
        "quality",
        "max_kb",
        "numbered",
        "factor",
    ];
    let known = [
        "image",
        "looked_for",
        "what",
        "images",
        "attachment_ids",
        "attachment_id",
        "from",
        "regions",
        "region",
        "items",
    ];
    for key in arguments.as_object().unwrap().keys() {
        assert!(
            KEYS.contains(&key.as_str()) || known.contains(&key.as_str()),
            "{key} is not in the notation"
        );
    }
    for key in KEYS {
        match &arguments[key] {
            Value::Null => {}
            Value::Bool(true) => parts.push((*key).to_owned()),
            Value::String(text) => parts.push(text.clone()),
            number => parts.push(format!("{key}={number}").replace("degrees=", "")),
        }
    }
    parts.join(" ")
}

/// The calls of a turn in short notation, and its reply.
struct PlayedTurn {
    calls: String,
    text: String,
}

/// Plays a turn to its end.
fn play_with(mut prompt: Prompt, tool: impl Fn(&ToolCall) -> String) -> PlayedTurn {
    let mut calls = Vec::new();
    let mut seen = HashSet::new();
    for _ in 0..30 {
        let completion = complete(&prompt);
        if completion.tool_calls.is_empty() {
            return PlayedTurn { calls: calls.join(" | "), text: completion.text };
        }
        for call in &completion.tool_calls {
            assert!(seen.insert(call.id.clone()), "{} was used twice", call.id);
            calls.push(notation(call));
        }
        let results: Vec<PromptMessage> = completion
            .tool_calls
            .iter()
            .map(|call| PromptMessage::Tool {
                call_id: call.id.clone(),
                name: call.name.clone(),
                text: tool(call),
                shown: Vec::new(),
            })
            .collect();
        prompt.messages.push(PromptMessage::Assistant {
            text: completion.text,
            tool_calls: completion.tool_calls,
            provider_metadata: None,
        });
        prompt.messages.extend(results);
    }
    panic!("the turn never ended: {}", calls.join(" | "));
}

fn play(focus: Focus) -> PlayedTurn {
    play_with(prompt(focus), fake_tool)
}
