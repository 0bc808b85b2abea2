//! Markdown as the agent writes it → text with Telegram's message entities (UTF-16 offsets). Entities, unlike a
//! parse mode, cannot be malformed. Cutting a long text into messages lives in `split`.

mod table;
#[cfg(test)]
pub(super) mod tests;
mod walk;

use pulldown_cmark::{Options, Parser};
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::HashMap, ops::Range};
use teloxide::types::{MessageEntity, MessageEntityKind};
use url::Url;

/// Text and its formatting, as one message (or caption) carries them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Formatted {
    pub text: String,
    /// Sorted by offset, outer before inner; offsets and lengths in UTF-16 units.
    pub entities: Vec<MessageEntity>,
}

/// A piece of formatting while offsets are still bytes.
type Span = (Range<usize>, MessageEntityKind);

/// Nobody writes the same link label this often; beyond it the text is shown as it was written.
const MAX_REPEATED_DEFINITIONS: usize = 8;

/// Renders Markdown. Every word survives: what Telegram cannot show is shown as text.
pub fn markdown(source: &str) -> Formatted {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let Some((source, definitions)) = show_link_definitions(source.clone()) else {
        return Formatted::plain(source);
    };
    let resolve = |link: pulldown_cmark::BrokenLink| {
        definitions.get(&label_key(&link.reference)).map(|url| (url.clone().into(), "".into()))
    };
    let parser = Parser::new_with_broken_link_callback(&source, options(), Some(resolve));
    let (text, spans) = walk::walk(&source, parser.into_offset_iter());
    let rendered = Formatted::from_spans(text, spans).trimmed();
    if rendered.is_blank() { Formatted::plain(source) } else { rendered }
}

impl Formatted {
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), entities: Vec::new() }.trimmed()
    }

    /// Length as Telegram counts it.
    pub fn units(&self) -> usize {
        units(&self.text)
    }

    /// Whether Telegram would call this an empty message.
    pub fn is_blank(&self) -> bool {
        self.text.chars().all(is_blank)
    }

    /// The part in this range of bytes, its formatting cut to fit.
    pub(super) fn slice(&self, range: Range<usize>) -> Self {
        let offset = range.start;
        let mut spans = self.spans();
        for (span, _) in &mut spans {
            *span = span.start.clamp(range.start, range.end) - offset
                ..span.end.clamp(range.start, range.end) - offset;
        }
        Self::from_spans(self.text[range].to_owned(), spans)
    }

    /// Entities as byte ranges of the text.
    pub(super) fn spans(&self) -> Vec<Span> {
        let mut bytes = Vec::with_capacity(self.text.len() + 1);
        for (at, c) in self.text.char_indices() {
            bytes.extend(std::iter::repeat_n(at, c.len_utf16()));
        }
        let byte = |unit: usize| bytes.get(unit).copied().unwrap_or(self.text.len());
        let span = |e: &MessageEntity| (byte(e.offset)..byte(e.offset + e.length), e.kind.clone());
        self.entities.iter().map(span).collect()
    }

    fn from_spans(text: String, mut spans: Vec<Span>) -> Self {
        for (span, kind) in &mut spans {
            *span = trim(&text, span.clone(), kind);
        }
        spans.retain(|(span, _)| !text[span.clone()].chars().all(is_blank));
        spans.sort_by_key(|(span, _)| (span.start, Reverse(span.end)));
        let mut units = vec![0; text.len() + 1];
        let mut count = 0;
        for (at, c) in text.char_indices() {
            units[at] = count;
            count += c.len_utf16();
        }
        units[text.len()] = count;
        let entity = |(span, kind): Span| {
            MessageEntity::new(kind, units[span.start], units[span.end] - units[span.start])
        };
        Self { entities: spans.into_iter().map(entity).collect(), text }
    }

    /// Without the blank ends, which Telegram would cut; the indentation of a leading code block stays.
    fn trimmed(self) -> Self {
        let Some(start) = visible_start(&self.text, 0, &self.spans()) else {
            return Self::default();
        };
        let end = self.text.trim_end().len();
        self.slice(start..end)
    }
}

pub(super) fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Whitespace, and what Telegram shows as nothing: a message of only these is refused as empty.
pub(super) fn is_blank(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{2069}' | '\u{2800}' | '\u{feff}' | '\u{fffc}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// Where what follows `from` begins to be worth sending: past the whitespace, but at the start of the line if that
/// line is code, whose indentation means something. `None` if only whitespace follows.
pub(super) fn visible_start(text: &str, from: usize, spans: &[Span]) -> Option<usize> {
    let rest = &text[from..];
    let visible = from + rest.find(|c: char| !c.is_whitespace())?;
    let in_code = spans
        .iter()
        .find(|(span, kind)| matches!(kind, MessageEntityKind::Pre { .. }) && span.contains(&visible));
    let line = text[from..visible].rfind('\n').map(|at| from + at + 1);
    Some(match in_code {
        Some((span, _)) if span.start >= from => line.unwrap_or(from).max(span.start),
        Some(_) => line.unwrap_or(visible),
        None => visible,
    })
}

/// Blocks lose their blank lines only: the indentation of their first line is theirs.
fn trim(text: &str, span: Range<usize>, kind: &MessageEntityKind) -> Range<usize> {
    let edge: fn(char) -> bool = match kind {
        MessageEntityKind::Pre { .. } | MessageEntityKind::Blockquote => |c| c == '\n',
        _ => char::is_whitespace,
    };
    let kept = text[span.clone()].trim_end_matches(edge);
    let end = span.start + kept.len();
    end - kept.trim_start_matches(edge).len()..end
}

fn options() -> Options {
    Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES
}

/// A URL that Telegram accepts behind a text. It refuses hosts without a dot and takes `mailto:` for a web host, so
/// those are shown in the text instead.
fn linkable(url: &str) -> Option<Url> {
    let url = Url::parse(url).ok()?;
    match url.scheme() {
        "http" | "https" => url.host_str().is_some_and(|host| host.contains(['.', ':'])).then_some(url),
        "tg" => Some(url),
        _ => None,
    }
}

/// CommonMark hides `[label]: target` lines, even those that were never meant as links. Escaping them keeps them in
/// the text; the targets are returned so that links still find them. `None` if they cannot all be shown.
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
