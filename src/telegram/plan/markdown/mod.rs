//! Markdown as the agent writes it → text with Telegram's message entities. Entities, unlike a parse mode, cannot be
//! malformed.

mod table;
#[cfg(test)]
pub(super) mod tests;
mod writer;

use super::formatted::Formatted;
use pulldown_cmark::{Options, Parser};
use std::collections::HashMap;
use url::Url;

/// How often one link label may be defined. A text with more definitions is sent as plain text.
const MAX_REPEATED_DEFINITIONS: usize = 8;

/// Renders Markdown. No word is lost: what Telegram cannot format is sent as text.
pub fn render(source: &str) -> Formatted {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let Some((source, definitions)) = show_link_definitions(source.clone()) else {
        return Formatted::plain(source);
    };
    let resolve = |link: pulldown_cmark::BrokenLink| {
        definitions.get(&label_key(&link.reference)).map(|url| (url.clone().into(), "".into()))
    };
    let parser = Parser::new_with_broken_link_callback(&source, options(), Some(resolve));
    let (text, spans) = writer::write(&source, parser.into_offset_iter());
    let rendered = Formatted::from_spans(text, spans).trimmed();
    if rendered.is_blank() { Formatted::plain(source) } else { rendered }
}

fn options() -> Options {
    Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES
}

/// The URL if Telegram accepts it as a text link. Telegram refuses hosts without a dot and reads `mailto:` as a web
/// host, so such targets are written into the text instead.
fn linkable(url: &str) -> Option<Url> {
    let url = Url::parse(url).ok()?;
    match url.scheme() {
        "http" | "https" => url.host_str().is_some_and(|host| host.contains(['.', ':'])).then_some(url),
        "tg" => Some(url),
        _ => None,
    }
}

/// CommonMark hides `[label]: target` lines, even those that were never meant as links. This escapes them, so that they
/// stay in the text, and returns their targets, so that links still resolve. `None` if too many remain.
fn show_link_definitions(mut source: String) -> Option<(String, HashMap<String, String>)> {
    let mut targets = HashMap::new();
    for _ in 0..MAX_REPEATED_DEFINITIONS {
        let parser = Parser::new_ext(&source, options());
        let definitions = parser.reference_definitions();
        let mut starts = Vec::new();
        for (label, definition) in definitions.iter() {
            starts.push(definition.span.start);
            if linkable(&definition.dest).is_some() {
                targets.entry(label_key(label)).or_insert_with(|| definition.dest.to_string());
            }
        }
        if starts.is_empty() {
            return Some((source, targets));
        }
        starts.sort_unstable();
        let mut escaped = String::with_capacity(source.len() + starts.len());
        let mut from = 0;
        for start in starts {
            escaped.push_str(&source[from..start]);
            escaped.push('\\');
            from = start;
        }
        escaped.push_str(&source[from..]);
        source = escaped;
    }
    None
}

fn label_key(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
