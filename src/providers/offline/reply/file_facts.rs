//! Facts about a file: the answer to one question, or a list of all facts.

use super::text::{bullet_list, clip, escape_markdown, lines_without_ids};
use crate::providers::offline::parse::meaning::FileFact;

/// How `image_info` begins the line about the location.
const LOCATION_LINE: &str = "Warning: the place";
const LOCATION_IN_FILE: &str =
    "The place where it was taken is in the file. Say “remove the metadata” and I'll take it out.";
const MAX_FACTS: usize = 40;
const MAX_FACT_CHARS: usize = 200;

/// All facts of one file.
pub fn all_facts(text: &str) -> String {
    let facts: Vec<String> =
        lines_without_ids(text).map(|line| describe_line(&line)).take(MAX_FACTS).collect();
    format!("Here is what I know:\n{}", bullet_list(&facts))
}

fn describe_line(line: &str) -> String {
    if line.starts_with(LOCATION_LINE) {
        LOCATION_IN_FILE.into()
    } else {
        escape_markdown(&clip(line, MAX_FACT_CHARS))
    }
}

/// The answer to one question.
pub fn one_fact(wanted: FileFact, text: &str) -> String {
    let starts: &[&str] = match wanted {
        FileFact::Camera => &["Camera:", "Lens:", "Settings:"],
        FileFact::Date => &["Taken:"],
        FileFact::Location => &[LOCATION_LINE],
        FileFact::Colours => &["Main colours:"],
    };
    let lines: Vec<String> = lines_without_ids(text)
        .filter(|line| starts.iter().any(|start| line.starts_with(start)))
        .map(|line| describe_line(&line))
        .collect();
    match (wanted, lines.as_slice()) {
        (FileFact::Camera, []) => "The file doesn't say which camera took it.".into(),
        (FileFact::Date, []) => "The file doesn't say when it was taken.".into(),
        (FileFact::Location, []) => "There is no location in the file.".into(),
        (FileFact::Colours, []) => "I can't tell its colours.".into(),
        (FileFact::Location, _) => LOCATION_IN_FILE.into(),
        (_, [only]) => format!("{}.", only.trim_end_matches('.')),
        (_, lines) => bullet_list(lines).trim_start().to_owned(),
    }
}
