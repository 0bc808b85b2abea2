//! What a file is said to be: all that is known of it, or the answer to one question.

use super::meaning::Fact;
use super::say::{bullets, clipped, plain, readable_lines};

/// How the tool's lines begin, by what they tell.
const PLACE: &str = "Warning: the place";
const PLACE_INSIDE: &str =
    "The place where it was taken is in the file. Say “remove the metadata” and I'll take it out.";

/// The facts of one file, as a list.
pub fn facts(text: &str) -> String {
    let facts: Vec<String> = readable_lines(text).map(|line| told(&line)).take(40).collect();
    format!("Here is what I know:\n{}", bullets(&facts))
}

fn told(line: &str) -> String {
    if line.starts_with(PLACE) { PLACE_INSIDE.into() } else { plain(&clipped(line, 200)) }
}

/// The one thing that was asked about.
pub fn fact(wanted: Fact, text: &str) -> String {
    let starts: &[&str] = match wanted {
        Fact::Camera => &["Camera:", "Lens:", "Settings:"],
        Fact::Date => &["Taken:"],
        Fact::Place => &[PLACE],
        Fact::Colours => &["Main colours:"],
    };
    let lines: Vec<String> = readable_lines(text)
        .filter(|line| starts.iter().any(|start| line.starts_with(start)))
        .map(|line| told(&line))
        .collect();
    match (wanted, lines.as_slice()) {
        (Fact::Camera, []) => "The file doesn't say which camera took it.".into(),
        (Fact::Date, []) => "The file doesn't say when it was taken.".into(),
        (Fact::Place, []) => "There is no location in the file.".into(),
        (Fact::Colours, []) => "I can't tell its colours.".into(),
        (Fact::Place, _) => PLACE_INSIDE.into(),
        (_, [only]) => format!("{}.", only.trim_end_matches('.')),
        (_, lines) => bullets(lines).trim_start().to_owned(),
    }
}
