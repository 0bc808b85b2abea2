//! `read_text_attachment`: some lines of a text file, numbered, fenced and bounded.

use super::{
    Tool, ToolContext, ToolError, ToolResult,
    arguments::{self, bad_argument, object},
    plain_text, wording,
};
use crate::{
    domain::Attachment,
    providers::{ToolSpec, fence},
};
use futures::{FutureExt as _, future::BoxFuture};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::{Value, json};

const DEFAULT_LINES: usize = 200;
const MAX_LINES: usize = 1_000;
const MAX_RESULT_CHARS: usize = 16_000;
/// A longer line is cut to the surroundings of its match.
const MAX_MATCH_CHARS: usize = 400;
const MAX_PATTERN_CHARS: u64 = 300;
/// Memory of the compiled pattern, and of matching it.
const MAX_REGEX_BYTES: usize = 1 << 20;

pub(super) struct ReadTextAttachment;

#[derive(Deserialize)]
struct ReadTextArguments {
    attachment_id: String,
    grep: Option<String>,
    offset: Option<f64>,
    limit: Option<f64>,
}

/// Which lines to return.
struct LineSelection {
    grep: Option<Regex>,
    offset: usize,
    limit: usize,
}

impl Tool for ReadTextAttachment {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read_text_attachment",
            progress: "reading notes",
            description: "Reads lines of a text file (plain text, CSV, JSON, code, logs, …), or finds lines in it.",
            parameters: object(
                json!({
                    "attachment_id": {"type": "string", "description": "An attachment id of this conversation."},
                    "grep": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": MAX_PATTERN_CHARS,
                        "description": "Only lines that match this regular expression, upper and lower case alike.",
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
            let selection = LineSelection {
                grep: asked.grep.as_deref().map(compile_pattern).transpose()?,
                offset: asked.offset.map_or(0, |offset| offset as usize),
                limit: asked.limit.map_or(DEFAULT_LINES, |limit| limit as usize),
            };
            let file = context.renderer.attachments.find(&context.scope, id).await?;
            if !plain_text::may_be_text(&file.mime_type) {
                return Err(no_text(&file));
            }
            let bytes = context.bytes(&file).await?;
            let memory = bytes.len() as u64 * 3;
            let read = move || plain_text::decode(&bytes).map(|text| selection.select(&text));
            let lines = context.pool().run(memory, read).await?;
            let lines = lines.ok_or_else(|| no_text(&file))??;
            Ok(ToolResult::text_only(format!("{}: {lines}", file.filename)))
        }
        .boxed()
    }
}

fn no_text(file: &Attachment) -> ToolError {
    let kind = wording::with_article(&file.mime_type);
    bad_argument(format!("{} is {kind} file, not text: it cannot be read line by line.", file.filename))
}

fn compile_pattern(grep: &str) -> Result<Regex, ToolError> {
    RegexBuilder::new(grep)
        .case_insensitive(true)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_REGEX_BYTES)
        .build()
        .map_err(|error| {
            let why = match &error {
                regex::Error::CompiledTooBig(_) => "it is too large; repeat less".to_owned(),
                other => {
                    let message = other.to_string();
                    let last = message.lines().last().unwrap_or_default();
                    last.trim_start_matches("error: ").to_owned()
                }
            };
            bad_argument(format!(
                "grep {grep:?} is not a regular expression that works here: {why}. To find characters such as ( [ * + \
                 ? . themselves, write a backslash before each."
            ))
        })
}

impl LineSelection {
    fn select(&self, text: &str) -> Result<String, ToolError> {
        let total = text.lines().count();
        let whole = wording::count(total, "line");
        let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line));
        let Some(grep) = &self.grep else {
            return self.number_and_fence(numbered, "lines", total, "");
        };
        let matching: Vec<_> = numbered
            .filter_map(|(number, line)| Some((number, cut_around(line, grep.find(line)?.range()))))
            .collect();
        if matching.is_empty() {
            return Ok(format!("none of its {whole} matches {:?}.", grep.as_str()));
        }
        let lines = matching.iter().map(|(number, line)| (*number, line.as_str()));
        self.number_and_fence(lines, "matching lines", matching.len(), &format!(" (the file has {whole})"))
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
        for (number, line) in lines.skip(self.offset).take(self.limit) {
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
fn cut_around(line: &str, found: std::ops::Range<usize>) -> String {
    if line.chars().count() <= MAX_MATCH_CHARS {
        return line.to_owned();
    }
    let before = line[..found.start].chars().count();
    let skipped = before.saturating_sub(MAX_MATCH_CHARS / 4);
    let rest: String = line.chars().skip(skipped).collect();
    let start = if skipped > 0 { "…" } else { "" };
    format!("{start}{}", wording::shortened(&rest, MAX_MATCH_CHARS))
}
