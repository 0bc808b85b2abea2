//! `Formatted`: text with Telegram's message entities, whose offsets count UTF-16 units.

use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, ops::Range};
use teloxide::types::{MessageEntity, MessageEntityKind};

/// Text and its formatting, as one message (or caption) carries them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Formatted {
    pub text: String,
    /// Sorted by offset, outer before inner; offsets and lengths in UTF-16 units.
    pub entities: Vec<MessageEntity>,
}

/// A piece of formatting whose offsets are bytes of the text.
pub(super) type Span = (Range<usize>, MessageEntityKind);

impl Formatted {
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), entities: Vec::new() }.trimmed()
    }

    /// The length in UTF-16 units, as Telegram counts it.
    pub fn units(&self) -> usize {
        units(&self.text)
    }

    /// Whether Telegram would refuse this as an empty message.
    pub fn is_blank(&self) -> bool {
        self.text.chars().all(is_blank)
    }

    /// The part in this range of bytes. Entities are cut at its ends.
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

    /// Trims and sorts the spans and turns their byte offsets into UTF-16 offsets.
    pub(super) fn from_spans(text: String, mut spans: Vec<Span>) -> Self {
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

    /// Removes blank ends, which Telegram would cut. The indentation of a leading code block stays.
    pub(super) fn trimmed(self) -> Self {
        let Some(start) = visible_start(&self.text, 0, &self.spans()) else {
            return Self::default();
        };
        let end = self.text.trim_end().len();
        self.slice(start..end)
    }
}

/// The length of a text in UTF-16 units.
pub fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Whitespace and invisible characters. Telegram refuses a message of only these as empty.
pub(super) fn is_blank(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{2069}' | '\u{2800}' | '\u{feff}' | '\u{fffc}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// The first byte worth sending from `from` on: past the whitespace, or the start of the line in a code block, where
/// indentation has a meaning. `None` if only whitespace follows.
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

/// Removes whitespace at both ends of a span. Blocks lose only blank lines and keep the indentation of their first line.
fn trim(text: &str, span: Range<usize>, kind: &MessageEntityKind) -> Range<usize> {
    let edge: fn(char) -> bool = match kind {
        MessageEntityKind::Pre { .. } | MessageEntityKind::Blockquote => |c| c == '\n',
        _ => char::is_whitespace,
    };
    let kept = text[span.clone()].trim_end_matches(edge);
    let end = span.start + kept.len();
    end - kept.trim_start_matches(edge).len()..end
}
