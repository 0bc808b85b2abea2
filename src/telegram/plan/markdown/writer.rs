//! Writes Markdown's events as text and notes which bytes are formatted how. Blank lines and line breaks are taken
//! from the source, so text that is not Markdown stays as it is.

use super::{linkable, table::Table};
use crate::telegram::plan::formatted::Span;
use pulldown_cmark::{CodeBlockKind, CowStr, Event, LinkType, Tag, TagEnd};
use std::ops::Range;
use teloxide::types::MessageEntityKind as Kind;

const RULE: &str = "———";
const INDENT: &str = "  ";

pub(super) fn write<'a>(
    source: &'a str,
    events: impl Iterator<Item = (Event<'a>, Range<usize>)>,
) -> (String, Vec<Span>) {
    let mut writer = EntityWriter { source, ..EntityWriter::default() };
    for (event, range) in events {
        writer.event(event, range);
    }
    let code: Vec<Range<usize>> =
        writer.spans.iter().filter(|(_, kind)| is_code(kind)).map(|s| s.0.clone()).collect();
    // Spans were noted when they closed, inner first. Entities go outer first.
    let spans = writer.spans.into_iter().rev().flat_map(|span| around_code(span, &code)).collect();
    (writer.text, spans)
}

/// A construct of the source that has started and not ended.
enum Open<'a> {
    Style(Kind, usize),
    /// A style inside the same style: needs no entity of its own.
    Nothing,
    /// Delimiters that only look like Markdown, written again at the end.
    Literal(&'a str),
    Link {
        start: usize,
        target: CowStr<'a>,
        title: CowStr<'a>,
        is_image: bool,
    },
    Code {
        start: usize,
        info: String,
    },
}

struct List {
    /// The number the author wrote last and the number shown for it; `None` in a bulleted list.
    number: Option<(u64, u64)>,
}

#[derive(Default)]
struct EntityWriter<'a> {
    source: &'a str,
    text: String,
    spans: Vec<Span>,
    open: Vec<Open<'a>>,
    lists: Vec<List>,
    quotes: usize,
    table: Option<Table>,
    cell: (usize, usize),
    /// The end of what was written last, as an offset in the source.
    written_to: usize,
    needs_break: bool,
    /// A list marker or the start of a quote was just written: the first block follows on the same line.
    after_marker: bool,
    at_line_start: bool,
}

impl<'a> EntityWriter<'a> {
    fn event(&mut self, event: Event<'a>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, range),
            Event::Text(text) if self.in_code_block() => self.text.push_str(&text),
            Event::Html(text) => self.text.push_str(&text),
            Event::Text(text) | Event::InlineHtml(text) => {
                self.inline(&text, &range);
            }
            Event::Code(text) => {
                let start = self.inline(&text, &range);
                if !self.in_link() {
                    self.spans.push((start..self.text.len(), Kind::Code));
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                self.text.push('\n');
                self.text.push_str(&INDENT.repeat(self.lists.len()));
                self.at_line_start = true;
            }
            Event::Rule => {
                self.block(range.start);
                self.text.push_str(RULE);
                self.end_block(&range);
            }
            // Turned off in `options`: their source is their text.
            Event::FootnoteReference(_)
            | Event::TaskListMarker(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_) => {
                let literal = &self.source[range.clone()];
                self.inline(literal, &range);
            }
        }
    }

    fn start(&mut self, tag: Tag<'a>, range: Range<usize>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.block(range.start),
            Tag::Heading { .. } => {
                self.block(range.start);
                self.open_style(Kind::Bold);
            }
            Tag::BlockQuote(_) => {
                self.block(range.start);
                self.after_marker = true;
                self.quotes += 1;
                self.open_style(Kind::Blockquote);
            }
            Tag::CodeBlock(kind) => {
                self.block_unindented(range.start);
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.trim().to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.open.push(Open::Code { start: self.text.len(), info });
            }
            Tag::List(first) => self.lists.push(List { number: first.map(|_| (0, 0)) }),
            Tag::Item => self.item(range.start),
            Tag::Table(alignments) => {
                self.block_unindented(range.start);
                self.table = Some(Table { alignments, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::TableCell => self.cell = (self.text.len(), self.spans.len()),
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough => {
                self.inline("", &range);
                match self.literal_delimiter(&tag, &range) {
                    Some(delimiter) => {
                        self.text.push_str(delimiter);
                        self.open.push(Open::Literal(delimiter));
                    }
                    None => self.open_style(match tag {
                        Tag::Emphasis => Kind::Italic,
                        Tag::Strong => Kind::Bold,
                        _ => Kind::Strikethrough,
                    }),
                }
            }
            Tag::Link { link_type: LinkType::Autolink | LinkType::Email, dest_url, .. } => {
                self.inline("", &range);
                let is_clear = dest_url.starts_with("http") || dest_url.contains('@');
                let (open, close) = if is_clear { ("", "") } else { ("<", ">") };
                self.text.push_str(open);
                self.open.push(Open::Literal(close));
            }
            Tag::Link { dest_url, title, .. } | Tag::Image { dest_url, title, .. } => {
                let start = self.inline("", &range);
                let is_image = self.source[range.start..].starts_with('!');
                self.open.push(Open::Link { start, target: dest_url, title, is_image });
            }
            _ => self.open.push(Open::Nothing),
        }
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::Paragraph => {}
            TagEnd::HtmlBlock => self.text.truncate(self.text.trim_end().len()),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => self.after_marker = false,
            TagEnd::TableHead | TagEnd::TableRow => return,
            TagEnd::TableCell => return self.end_cell(),
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let start = self.text.len();
                    self.text.push_str(&table.lines());
                    self.spans.push((start..self.text.len(), Kind::Pre { language: None }));
                }
            }
            TagEnd::Heading(_) | TagEnd::CodeBlock => self.close(),
            TagEnd::BlockQuote(_) => {
                self.quotes -= 1;
                self.after_marker = false;
                self.close();
            }
            _ => {
                self.close();
                self.written_to = self.written_to.max(range.end);
                return;
            }
        }
        self.end_block(&range);
    }

    /// Begins a block: writes the blank lines of the source before it, then the indentation of the list.
    fn block(&mut self, at: usize) {
        let is_new_line = !self.after_marker;
        self.block_unindented(at);
        if is_new_line {
            self.text.push_str(&INDENT.repeat(self.lists.len()));
            self.own_indent(at);
        }
    }

    /// Begins a block without indentation. Code and tables need it even in a list, because their lines must line up.
    fn block_unindented(&mut self, at: usize) {
        if !self.after_marker && !self.text.is_empty() {
            let gap = self.source.get(self.written_to..at).unwrap_or_default();
            let lines = gap.matches('\n').count().max(1);
            self.text.push_str(&"\n".repeat(lines));
        }
        self.after_marker = false;
        self.needs_break = false;
        self.at_line_start = false;
    }

    fn end_block(&mut self, range: &Range<usize>) {
        let end = range.start + self.source[range.clone()].trim_end().len();
        self.written_to = self.written_to.max(end);
        self.needs_break = true;
    }

    /// Writes text within a line. Returns the offset at which it begins.
    fn inline(&mut self, text: &str, range: &Range<usize>) -> usize {
        if self.needs_break && self.table.is_none() {
            self.block(range.start);
        }
        if std::mem::take(&mut self.at_line_start) {
            self.own_indent(range.start);
        }
        self.after_marker = false;
        let start = self.text.len();
        self.text.push_str(text);
        if !text.is_empty() {
            self.written_to = self.written_to.max(range.end);
        }
        start
    }

    /// Outside lists and quotes a line keeps the indentation of the source.
    fn own_indent(&mut self, at: usize) {
        if self.lists.is_empty() && self.quotes == 0 {
            let before = &self.source[..at];
            let indent = &before[before.rfind('\n').map_or(0, |line| line + 1)..];
            if indent.chars().all(|c| c == ' ' || c == '\t') {
                self.text.push_str(indent);
            }
        }
    }

    fn item(&mut self, at: usize) {
        let is_new_line = !self.after_marker;
        self.block_unindented(at);
        if is_new_line {
            self.text.push_str(&INDENT.repeat(self.lists.len().saturating_sub(1)));
        }
        let marker = self.source[at..].trim_start();
        let digits = marker.len() - marker.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        match self.lists.last_mut().and_then(|list| list.number.as_mut()) {
            Some((written, shown)) => {
                // Keep the numbers of the source, except when every item has the same number.
                let number = marker[..digits].parse().unwrap_or(*shown + 1);
                *shown = if *shown > 0 && number == *written { *shown + 1 } else { number };
                *written = number;
                let point = if marker[digits..].starts_with(')') { ')' } else { '.' };
                self.text.push_str(&format!("{shown}{point} "));
            }
            None => self.text.push_str("• "),
        }
        self.written_to = self.written_to.max(at);
        self.after_marker = true;
    }

    fn open_style(&mut self, kind: Kind) {
        let is_within = self.open.iter().any(|open| matches!(open, Open::Style(outer, _) if *outer == kind));
        self.open.push(if is_within { Open::Nothing } else { Open::Style(kind, self.text.len()) });
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(Open::Style(kind, start)) => self.spans.push((start..self.text.len(), kind)),
            Some(Open::Literal(delimiter)) => self.text.push_str(delimiter),
            Some(Open::Link { start, target, title, is_image }) => {
                self.close_link(start, &target, &title, is_image)
            }
            Some(Open::Code { start, info }) => self.close_code(start, &info),
            Some(Open::Nothing) | None => {}
        }
    }

    fn close_link(&mut self, start: usize, target: &str, title: &str, is_image: bool) {
        let has_text = !self.text[start..].trim().is_empty();
        if !has_text {
            self.text.push_str(target);
        }
        let url = linkable(target);
        let is_shown = !has_text || url.is_some() || is_image || self.text[start..] == *target;
        if let Some(url) = url.filter(|_| !self.in_link()) {
            self.spans.push((start..self.text.len(), Kind::TextLink { url }));
        }
        let target = target.strip_prefix("mailto:").unwrap_or(target);
        let unseen = [if is_shown { "" } else { target }, title];
        for extra in unseen.into_iter().filter(|extra| !extra.is_empty()) {
            self.text.push_str(&format!(" ({extra})"));
        }
    }

    fn close_code(&mut self, start: usize, info: &str) {
        let code = self.text.split_off(start);
        let code = code.trim_end_matches('\n');
        if code.trim().is_empty() {
            self.text.push_str(info);
            return;
        }
        let (language, rest) = info.split_once(char::is_whitespace).unwrap_or((info, ""));
        if !rest.is_empty() {
            self.text.push_str(rest.trim());
            self.text.push('\n');
        }
        let start = self.text.len();
        self.text.push_str(code);
        let language = (!language.is_empty()).then(|| language.to_owned());
        self.spans.push((start..self.text.len(), Kind::Pre { language }));
    }

    /// A cell is plain text in the block of its table, so the targets of its links are written out.
    fn end_cell(&mut self) {
        let (text_start, spans_start) = self.cell;
        let mut cell = self.text.split_off(text_start);
        for (_, kind) in self.spans.split_off(spans_start) {
            if let Kind::TextLink { url } = kind {
                cell.push_str(&format!(" ({url})"));
            }
        }
        if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
            row.push(cell.trim().to_owned());
        }
    }

    /// The delimiter, if it is not formatting: asterisks of arithmetic (`2*3*4`) and single tildes (`5~10`).
    fn literal_delimiter(&self, tag: &Tag, range: &Range<usize>) -> Option<&'a str> {
        let inside = &self.source[range.start..];
        if matches!(tag, Tag::Strikethrough) {
            return (!inside.starts_with("~~")).then_some(&inside[..1]);
        }
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let after_word = is_word(self.source[..range.start].chars().next_back());
        let before_word = is_word(self.source[range.end..].chars().next());
        let length = if matches!(tag, Tag::Strong) { 2 } else { 1 };
        (after_word && (length == 1 || before_word)).then_some(&inside[..length])
    }

    fn in_link(&self) -> bool {
        self.open.iter().any(|open| matches!(open, Open::Link { .. }))
    }

    fn in_code_block(&self) -> bool {
        matches!(self.open.last(), Some(Open::Code { .. }))
    }
}

fn is_code(kind: &Kind) -> bool {
    matches!(kind, Kind::Code | Kind::Pre { .. })
}

/// Telegram allows no entity inside code, so a style that spans code is cut into the parts around it.
fn around_code((span, kind): Span, code: &[Range<usize>]) -> Vec<Span> {
    if !matches!(kind, Kind::Bold | Kind::Italic | Kind::Strikethrough) {
        return vec![(span, kind)];
    }
    let mut parts = Vec::new();
    let mut from = span.start;
    for code in code.iter().filter(|code| code.start >= span.start && code.end <= span.end) {
        parts.push((from..code.start, kind.clone()));
        from = code.end;
    }
    parts.push((from..span.end, kind));
    parts
}
