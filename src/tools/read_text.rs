//! `read_text_attachment`: some lines of a text file, numbered, fenced and bounded.

use super::{
    Tool, ToolContext, ToolError, ToolResult,
    arguments::{self, bad_argument, object},
    plain_text,
    text_search::{OVERLAP_BYTES, Pattern, Stopped, Syntax, WINDOW_BYTES},
    wording,
};
use crate::{
    attachments::format_size,
    domain::Attachment,
    providers::{ToolSpec, fence},
};
use futures::{FutureExt as _, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    ops::Range,
    time::{Duration, Instant},
};

const DEFAULT_LINES: usize = 200;
const MAX_LINES: usize = 1_000;
const MAX_RESULT_CHARS: usize = 16_000;
/// A longer line is cut to the surroundings of its match.
const MAX_MATCH_CHARS: usize = 400;
const MAX_PATTERN_CHARS: u64 = 300;
/// The largest file that is read: as large as a bot may fetch from Telegram.
const MAX_TEXT_BYTES: u64 = 20 << 20;
/// The file, and its text as UTF-8: up to three bytes for each byte of another encoding, and a spare one while it grows.
const MEMORY_PER_BYTE: u64 = 5;
/// A search that takes longer has a pattern that is too complex for the file.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct ReadTextAttachment {
    pub(super) search_timeout: Duration,
}

impl Default for ReadTextAttachment {
    fn default() -> Self {
        Self { search_timeout: SEARCH_TIMEOUT }
    }
}

#[derive(Deserialize)]
struct ReadTextArguments {
    attachment_id: String,
    grep: Option<String>,
    literal: Option<bool>,
    offset: Option<f64>,
    limit: Option<f64>,
}

/// Which lines to return.
struct LineSelection {
    grep: Option<Pattern>,
    offset: usize,
    limit: usize,
}

impl Tool for ReadTextAttachment {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read_text_attachment",
            progress: "reading notes",
            description: "Reads lines of a text file (plain text, CSV, JSON, code, logs, …), or finds lines in it. Files \
                          of up to 20 MB.",
            parameters: object(
                json!({
                    "attachment_id": {"type": "string", "description": "An attachment id of this conversation."},
                    "grep": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": MAX_PATTERN_CHARS,
                        "description": format!(
                            "Only lines that match this regular expression, upper and lower case alike. In lines over \
                             {WINDOW_BYTES} bytes a match has at most {OVERLAP_BYTES} bytes."
                        ),
                    },
                    "literal": {
                        "type": "boolean",
                        "default": false,
                        "description": "True takes every character of grep as it is, instead of as a regular expression.",
                    },
                    "offset": {
                        "type": "integer",
                        "minimum": 0,
                        "maximum": 1_000_000_000,
                        "default": 0,
                        "description": "How many lines (with grep: matching lines) to skip.",
                    },
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MAX_LINES,
                        "default": DEFAULT_LINES,
                        "description": "How many lines to return at most; about 16,000 characters in all.",
                    },
                }),
                &["attachment_id"],
            ),
        }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        async move {
            let asked: ReadTextArguments = arguments::read(&self.spec().parameters, &arguments)?;
            let id = arguments::id("attachment_id", &asked.attachment_id)?;
            let syntax = if asked.literal == Some(true) { Syntax::Literal } else { Syntax::Regex };
            let selection = LineSelection {
                grep: asked.grep.map(|grep| Pattern::new(grep, syntax)).transpose()?,
                offset: asked.offset.map_or(0, |offset| offset as usize),
                limit: asked.limit.map_or(DEFAULT_LINES, |limit| limit as usize),
            };
            let file = context.renderer.attachments.find(&context.scope, id).await?;
            if !plain_text::may_be_text(&file.mime_type) {
                return Err(no_text(&file));
            }
            let bytes = file.size.unsigned_abs();
            if bytes > MAX_TEXT_BYTES {
                return Err(too_large(&file, bytes));
            }
            let page = self.read(context, &file, selection).await?;
            Ok(ToolResult::text_only(format!("{}: {page}", file.filename)))
        }
        .boxed()
    }
}

impl ReadTextAttachment {
    async fn read(
        &self,
        context: &ToolContext,
        file: &Attachment,
        selection: LineSelection,
    ) -> Result<String, ToolError> {
        let memory = file.size.unsigned_abs() * MEMORY_PER_BYTE;
        let place = context.pool().reserve_reading(context.scope.conversation(), memory).await?;
        let bytes = context.renderer.attachments.bytes(file).await?;
        let timeout = self.search_timeout;
        let read = place.run(move |stop| {
            let since = Instant::now();
            let is_stopped = || stop.is_stopped() || since.elapsed() >= timeout;
            plain_text::decode(&bytes).map(|text| selection.select(&text, &is_stopped))
        });
        match read.await? {
            Some(Ok(page)) => page,
            Some(Err(Stopped)) => Err(slow(timeout)),
            None => Err(no_text(file)),
        }
    }
}

fn no_text(file: &Attachment) -> ToolError {
    let kind = wording::with_article(&file.mime_type);
    bad_argument(format!("{} is {kind} file, not text: it cannot be read line by line.", file.filename))
}

fn too_large(file: &Attachment, bytes: u64) -> ToolError {
    bad_argument(format!(
        "{} is {}, and text files of up to {} are read here. Ask for the part that matters.",
        file.filename,
        format_size(bytes),
        format_size(MAX_TEXT_BYTES)
    ))
}

fn slow(timeout: Duration) -> ToolError {
    bad_argument(format!(
        "The search took longer than {timeout:?} and was given up: the pattern is too complex for this file. Use a \
         simpler one, or set literal to true."
    ))
}

impl LineSelection {
    fn select(
        &self,
        text: &str,
        is_stopped: &impl Fn() -> bool,
    ) -> Result<Result<String, ToolError>, Stopped> {
        let total = text.lines().count();
        let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line));
        let Some(pattern) = &self.grep else {
            return Ok(self.number_and_fence(numbered.skip(self.offset), "lines", total, ""));
        };
        let mut matches = 0;
        let mut shown = Vec::new();
        for (number, line) in numbered {
            let Some(found) = pattern.find(line, is_stopped)? else { continue };
            // Only what may be shown is kept: a long file can have millions of matching lines.
            if matches >= self.offset && shown.len() < self.limit {
                shown.push((number, cut_around(line, found)));
            }
            matches += 1;
        }
        let whole = wording::count(total, "line");
        if matches == 0 {
            return Ok(Ok(format!("none of its {whole} matches {:?}.", pattern.text())));
        }
        let lines = shown.iter().map(|(number, line)| (*number, line.as_str()));
        Ok(self.number_and_fence(lines, "matching lines", matches, &format!(" (the file has {whole})")))
    }

    /// The selected lines, up to `MAX_RESULT_CHARS`, and the offset of the next ones.
    fn number_and_fence<'a>(
        &self,
        lines: impl Iterator<Item = (usize, &'a str)>,
        what: &str,
        all: usize,
        note: &str,
    ) -> Result<String, ToolError> {
        if self.offset >= all {
            return Err(bad_argument(format!(
                "offset is {}, but there are only {all} {what}{note}. Use an offset from 0 to {}.",
                self.offset,
                all.saturating_sub(1)
            )));
        }
        let mut shown: Vec<String> = Vec::new();
        let mut left = MAX_RESULT_CHARS;
        for (number, line) in lines.take(self.limit) {
            let line = format!("{number}: {line}");
            let length = line.chars().count() + 1;
            if length > left && !shown.is_empty() {
                break;
            }
            shown.push(wording::shortened(&line, left));
            left = left.saturating_sub(length);
        }
        let end = self.offset + shown.len();
        let mut said = format!("{what} {} to {end} of {all}{note}.", self.offset + 1);
        if end < all {
            said.push_str(&format!(" Read on with offset {end}."));
        }
        Ok(format!("{said}\n{}", fence::fenced(&shown.join("\n"))))
    }
}

/// Cuts a long line to the surroundings of the match.
fn cut_around(line: &str, found: Range<usize>) -> String {
    // A few characters of a long line, whatever its length: characters have at most four bytes.
    let from = line.floor_char_boundary(found.start.saturating_sub(MAX_MATCH_CHARS));
    let to = line.floor_char_boundary(found.start + 4 * MAX_MATCH_CHARS);
    let (before, rest) = (&line[from..found.start], &line[found.start..to]);
    let skipped = before.chars().count().saturating_sub(MAX_MATCH_CHARS / 4);
    if from == 0 && to == line.len() && line.chars().count() <= MAX_MATCH_CHARS {
        return line.to_owned();
    }
    let near: String = before.chars().skip(skipped).chain(rest.chars()).collect();
    let start = if from + skipped > 0 { "…" } else { "" };
    let shown = wording::shortened(&near, MAX_MATCH_CHARS);
    let end = if to < line.len() && !shown.ends_with('…') { "…" } else { "" };
    format!("{start}{shown}{end}")
}
