//! `read_image_text`, and kinds of text that can be hidden: numbers, phone numbers, e-mail addresses, plates, names.

use super::examine::examine;
use crate::{
    domain::Attachment,
    providers::ToolSpec,
    tools::{
        Tool, ToolContext, ToolError, ToolResult,
        arguments::{self, object},
        schema::{CORNERS, Corners, region_properties},
        wording,
    },
};
use futures::{FutureExt as _, future::BoxFuture};
use imaging::Region;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::LazyLock;
use vision::{Finding, TextLine};

const MAX_TEXT_CHARS: usize = 6_000;

pub(super) struct ReadImageText;

impl Tool for ReadImageText {
    fn spec(&self) -> ToolSpec {
        let mut region = object(region_properties(), &CORNERS);
        region["description"] = "Only text in this part of the image. All of it if left out.".into();
        ToolSpec {
            name: "read_image_text",
            progress: "reading {photos}",
            description: "Reads printed text in an image on this machine, line by line with its places. Handwriting and \
                          decorated letters may come out wrong.",
            parameters: object(
                json!({
                    "image": {"type": "string", "description": "Attachment id of the image."},
                    "region": region,
                }),
                &["image"],
            ),
        }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        #[derive(Deserialize)]
        struct ReadArguments {
            image: String,
            region: Option<Corners>,
        }
        async move {
            let asked: ReadArguments = arguments::read(&self.spec().parameters, &arguments)?;
            let id = arguments::id("image", &asked.image)?;
            let within = asked.region.map(|corners| corners.region("region")).transpose()?;
            let file = context.renderer.attachments.find(&context.scope, id).await?;
            let lines = read_lines(context, &file, within).await?;
            Ok(ToolResult::text_only(describe(&file.filename, &lines)))
        }
        .boxed()
    }
}

async fn read_lines(
    context: &ToolContext,
    file: &Attachment,
    within: Option<Region>,
) -> Result<Vec<TextLine>, ToolError> {
    let lines = examine(context, file, |models, pixels, stop| models.text(pixels, stop)).await?;
    let inside = |line: &TextLine| {
        let (x, y) = (
            (line.region.left() + line.region.right()) / 2.0,
            (line.region.top() + line.region.bottom()) / 2.0,
        );
        within.is_none_or(|area| {
            (area.left()..=area.right()).contains(&x) && (area.top()..=area.bottom()).contains(&y)
        })
    };
    Ok(lines.into_iter().filter(inside).collect())
}

fn describe(filename: &str, lines: &[TextLine]) -> String {
    if lines.is_empty() {
        return format!("Found no text in {filename}.");
    }
    let mut text = format!("Text in {filename}, {}:", wording::count(lines.len(), "line"));
    for line in lines {
        let written = wording::shortened(&line.text, 300);
        text += &format!("\n- {:.0}% {} {written}", line.score * 100.0, json!(line.region));
    }
    wording::shortened(&text, MAX_TEXT_CHARS)
}

/// What of the text is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    All,
    Numbers,
    PhoneNumbers,
    Emails,
    Plates,
    Names,
}

/// A pattern that is written in this file; `None` would be a mistake of this file and matches nothing.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"[+(]?\d[\d\s.,:/()\-–]*\d|\d"));
static PHONE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"[+(]?\d(?:[\s.\-–/()]*\d){5,15}"));
/// Readers confuse the signs of an address; anything around an @ is taken.
static EMAIL: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"[\w.+\-]+\s?@\s?[\w\-]+(?:\s?[.,]\s?[\w\-]+)*"));
static PLATE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"\b(?:[A-ZÄÖÜ]{1,3}[\s\-·:.]{0,2}[A-Z]{0,2}[\s\-]?\d{1,4}[A-Z]{0,3}|\d{1,4}[\s\-]?[A-Z]{1,3}[\s\-]?\d{0,4})\b",
    )
});
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?:(?i:name|mr|mrs|ms|dr|dear|from|to)\b[.:]?\s*)?\b\p{Lu}[\p{Ll}'’\-]+(?:\s+\p{Lu}\.)?(?:\s+\p{Lu}[\p{Ll}'’\-]+)+",
    )
});

/// The parts of the text of this kind, with what they say.
pub(super) async fn find_text(
    context: &ToolContext,
    file: &Attachment,
    kind: TextKind,
    within: Option<Region>,
) -> Result<Vec<Finding>, ToolError> {
    let lines = read_lines(context, file, within).await?;
    Ok(lines.iter().flat_map(|line| parts_of(line, kind)).collect())
}

fn parts_of(line: &TextLine, kind: TextKind) -> Vec<Finding> {
    let finding = |region: Region, text: &str| Finding {
        label: Finding::TEXT,
        score: line.score,
        region,
        text: Some(text.to_owned()),
    };
    let pattern = match kind {
        TextKind::All => return vec![finding(line.region, &line.text)],
        TextKind::Numbers => &NUMBER,
        TextKind::PhoneNumbers => &PHONE,
        TextKind::Emails => &EMAIL,
        TextKind::Plates => &PLATE,
        TextKind::Names => &NAME,
    };
    let Some(pattern) = pattern.as_ref() else { return Vec::new() };
    let characters_before = |byte: usize| line.text[..byte].chars().count();
    let part = |found: regex::Match<'_>| {
        let characters = characters_before(found.start())..characters_before(found.end());
        Some(finding(line.part(characters)?, found.as_str()))
    };
    pattern.find_iter(&line.text).filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(pattern: &LazyLock<Option<Regex>>, text: &'a str) -> Vec<&'a str> {
        pattern.as_ref().unwrap().find_iter(text).map(|found| found.as_str()).collect()
    }

    #[test]
    fn kinds_of_text_are_told_apart() {
        assert_eq!(found(&PHONE, "Call +49 (30) 1234-567 or 112"), ["+49 (30) 1234-567"]);
        assert_eq!(found(&NUMBER, "Total 12.50 of 3 items"), ["12.50", "3"]);
        assert_eq!(found(&EMAIL, "write to ann.lee@example.org today"), ["ann.lee@example.org"]);
        assert_eq!(found(&PLATE, "car B-AB 1234 there"), ["B-AB 1234"]);
        assert_eq!(found(&NAME, "signed Ann Lee in may"), ["Ann Lee"]);
    }
}
