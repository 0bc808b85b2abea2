//! Parse modes: HTML tags, and the pairs and reserved characters of Markdown. Nested Markdown and custom emoji are not
//! modelled.

use super::{api::Refusal, text::utf16_len};
use serde_json::{Value, json};

pub fn parse(mode: &str, text: &str) -> Result<(String, Vec<Value>), Refusal> {
    match mode.to_ascii_lowercase().as_str() {
        "html" => html(text),
        "markdownv2" => markdown(text, &['*', '_', '~', '`'], true),
        "markdown" => markdown(text, &['*', '_', '`'], false),
        _ => Err(Refusal::bad("unsupported parse_mode")),
    }
}

fn cannot(why: impl std::fmt::Display) -> Refusal {
    Refusal::bad(format!("can't parse entities: {why}"))
}

fn html(source: &str) -> Result<(String, Vec<Value>), Refusal> {
    let mut text = String::new();
    let mut entities = Vec::new();
    let mut open: Vec<(String, Value)> = Vec::new();
    let mut rest = source;
    while let Some(start) = rest.find('<') {
        text += &unescape(&rest[..start]);
        let at = source.len() - rest.len() + start;
        let Some(length) = rest[start..].find('>') else {
            return Err(cannot(format!("Unclosed start tag at byte offset {at}")));
        };
        let tag = &rest[start + 1..start + length];
        rest = &rest[start + length + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let name = name.trim().to_lowercase();
            let Some((opened, mut entity)) = open.pop() else {
                return Err(cannot(format!("Unexpected end tag at byte offset {at}")));
            };
            if opened != name {
                return Err(cannot(format!(
                    "Unmatched end tag at byte offset {at}, expected \"</{opened}>\", found \"</{name}>\""
                )));
            }
            let length = utf16_len(&text) as u64 - entity["offset"].as_u64().unwrap_or_default();
            entity["length"] = length.into();
            if length > 0 {
                entities.push(entity);
            }
            continue;
        }
        let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let name = name.to_lowercase();
        let kind = match name.as_str() {
            "b" | "strong" => "bold",
            "i" | "em" => "italic",
            "u" | "ins" => "underline",
            "s" | "strike" | "del" => "strikethrough",
            "span" | "tg-spoiler" => "spoiler",
            "a" => "text_link",
            "code" => "code",
            "pre" => "pre",
            "blockquote" => "blockquote",
            _ => {
                return Err(cannot(format!("Unsupported start tag \"{name}\" at byte offset {at}")));
            }
        };
        let mut entity = json!({ "type": kind, "offset": utf16_len(&text) });
        if let Some(url) = attributes.trim().strip_prefix("href=") {
            entity["url"] = unescape(url.trim_matches(['"', '\''])).into();
        }
        open.push((name, entity));
    }
    if let Some((name, _)) = open.pop() {
        return Err(cannot(format!("Can't find end tag corresponding to start tag \"{name}\"")));
    }
    text += &unescape(rest);
    entities.sort_by_key(|entity| entity["offset"].as_u64());
    Ok((text, entities))
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

fn markdown(source: &str, marks: &[char], strict: bool) -> Result<(String, Vec<Value>), Refusal> {
    const RESERVED: [char; 14] = ['>', '#', '+', '-', '=', '|', '{', '}', '.', '!', '[', ']', '(', ')'];
    let mut text = String::new();
    let mut entities = Vec::new();
    let mut open: Vec<(char, usize, usize)> = Vec::new();
    let mut link_end = None;
    let mut characters = source.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let in_code = open.iter().any(|(mark, ..)| *mark == '`');
        if character == '\\' {
            text.extend(characters.next().map(|(_, escaped)| escaped));
        } else if link_end == Some(at) {
            // The address of a link is not part of the text.
            characters.by_ref().find(|(_, next)| *next == ')');
            link_end = None;
        } else if character == '`' || (marks.contains(&character) && !in_code) {
            if open.last().is_some_and(|(mark, ..)| *mark == character) {
                let (mark, offset, _) = open.pop().unwrap_or_default();
                entities.push(
                    json!({ "type": kind(mark), "offset": offset, "length": utf16_len(&text) - offset }),
                );
            } else {
                open.push((character, utf16_len(&text), at));
            }
        } else if character == '[' && !in_code && source[at..].contains("](") {
            link_end = source[at..].find("](").map(|end| at + end);
        } else if strict && RESERVED.contains(&character) && !in_code {
            let quote = character == '>' && (at == 0 || source[..at].ends_with('\n'));
            if !quote {
                return Err(cannot(format!(
                    "Character '{character}' is reserved and must be escaped with the preceding '\\'"
                )));
            }
        } else {
            text.push(character);
        }
    }
    match open.pop() {
        Some((mark, _, at)) => {
            let mut kind = kind(mark).to_owned();
            kind[..1].make_ascii_uppercase();
            Err(cannot(format!("Can't find end of {kind} entity at byte offset {at}")))
        }
        None => Ok((text, entities)),
    }
}

fn kind(mark: char) -> &'static str {
    match mark {
        '*' => "bold",
        '_' => "italic",
        '~' => "strikethrough",
        _ => "code",
    }
}
