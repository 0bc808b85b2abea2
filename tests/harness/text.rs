//! Text at Telegram: UTF-16 lengths, limits, and detected entities. Parse modes are in `markup`.

use super::{api::Refusal, markup, uploads::Params};
use regex::Regex;
use serde_json::{Value, json};
use std::sync::LazyLock;

pub const TEXT_LIMIT: usize = 4096;
pub const CAPTION_LIMIT: usize = 1024;

pub fn utf16_len(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Text of the bot, validated and trimmed as Telegram does it.
pub struct Words {
    pub text: String,
    pub entities: Vec<Value>,
}

impl Words {
    pub fn of_message(params: &Params) -> Result<Words, Refusal> {
        let words = Words::read(params.text("text").unwrap_or_default(), params, "entities")?;
        if words.text.is_empty() {
            return Err(Refusal::bad("message text is empty"));
        }
        match utf16_len(&words.text) > TEXT_LIMIT {
            true => Err(Refusal::bad("message is too long")),
            false => Ok(words),
        }
    }

    pub fn of_caption(params: &Params) -> Result<Words, Refusal> {
        let words = Words::read(params.text("caption").unwrap_or_default(), params, "caption_entities")?;
        match utf16_len(&words.text) > CAPTION_LIMIT {
            true => Err(Refusal::bad("message caption is too long")),
            false => Ok(words),
        }
    }

    fn read(text: String, params: &Params, entities_key: &str) -> Result<Words, Refusal> {
        let (text, mut entities) = match params.text("parse_mode").filter(|mode| !mode.is_empty()) {
            Some(mode) => markup::parse(&mode, &text)?,
            None => {
                let entities = params.list(entities_key)?;
                check_entities(&text, &entities)?;
                (text, entities)
            }
        };
        let text = text.trim_end().to_owned();
        let end = utf16_len(&text) as i64;
        entities.retain_mut(|entity| {
            let offset = entity["offset"].as_i64().unwrap_or_default();
            let length = entity["length"].as_i64().unwrap_or_default().min(end - offset);
            entity["length"] = length.into();
            length > 0
        });
        Ok(Words { text, entities })
    }
}

fn check_entities(text: &str, entities: &[Value]) -> Result<(), Refusal> {
    let length = utf16_len(text) as i64;
    // Valid UTF-16 offsets and their byte positions.
    let mut starts = vec![None; length as usize + 1];
    let mut at = 0;
    for (byte, character) in text.char_indices() {
        starts[at] = Some(byte);
        at += character.len_utf16();
    }
    starts[at] = Some(text.len());
    let byte_near =
        |offset: i64| starts[offset as usize..].iter().find_map(|start| *start).unwrap_or(text.len());
    for entity in entities {
        let (Some(begin), Some(span)) = (entity["offset"].as_i64(), entity["length"].as_i64()) else {
            return Err(Refusal::bad(
                "can't parse entities: Can't parse MessageEntity: offset and length must be numbers",
            ));
        };
        if !entity["type"].is_string() {
            return Err(Refusal::bad(
                "can't parse entities: Can't parse MessageEntity: Can't find field \"type\"",
            ));
        }
        let end = begin + span;
        let complaint = if begin < 0 {
            format!("receive an entity with incorrect offset {begin}")
        } else if span < 0 {
            format!("receive an entity with incorrect length {span}")
        } else if begin > length {
            format!("entity begins after the end of the text at UTF-16 offset {begin}")
        } else if end > length {
            format!(
                "entity beginning at UTF-16 offset {begin} ends after the end of the text at UTF-16 offset {end}"
            )
        } else if starts[begin as usize].is_none() {
            format!("entity begins in a middle of a UTF-16 symbol at byte offset {}", byte_near(begin))
        } else if starts[end as usize].is_none() {
            let byte = byte_near(end);
            format!(
                "entity beginning at UTF-16 offset {begin} ends in a middle of a UTF-16 symbol at byte offset {byte}"
            )
        } else {
            continue;
        };
        return Err(Refusal::bad(complaint));
    }
    Ok(())
}

static COMMAND: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?:^|[^\w/<>@])(/[A-Za-z0-9_]{1,64}(?:@\w{3,32})?)"));
static MENTION: LazyLock<Regex> = LazyLock::new(|| regex(r"(?:^|[^\w/@])(@[A-Za-z0-9_]{3,32})"));
static URL: LazyLock<Regex> = LazyLock::new(|| regex(r"(?:^|\s)(https?://[^\s]+)"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

/// Commands, mentions and links that Telegram detects in typed text.
pub fn detect_entities(text: &str) -> Vec<Value> {
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    for (kind, pattern) in [("url", &URL), ("bot_command", &COMMAND), ("mention", &MENTION)] {
        for captures in pattern.captures_iter(text) {
            let hit = captures.get(1).expect("the pattern has a group");
            let overlaps = found.iter().any(|(start, end, _)| hit.start() < *end && *start < hit.end());
            let runs_on = text[hit.end()..].starts_with(|next: char| next.is_alphanumeric() || next == '/');
            if !overlaps && !runs_on {
                found.push((hit.start(), hit.end(), kind));
            }
        }
    }
    found.sort();
    let entity = |(start, end, kind): (usize, usize, &str)| json!({ "type": kind, "offset": utf16_len(&text[..start]), "length": utf16_len(&text[start..end]) });
    found.into_iter().map(entity).collect()
}
