//! Tool results rewritten for people: comparison, file list, text of a file, missing characters.

use super::text::{bullet_list, clip, escape_markdown, lines_without_ids};

const MAX_COMPARISON_CHARS: usize = 400;
const MAX_GLYPH_CHARS: usize = 60;
const MAX_LISTED_FILES: usize = 60;
const MAX_LISTED_LINE_CHARS: usize = 200;
const MAX_FILE_CHARS: usize = 3_000;

/// The similarity that `compare_images` measured, without the parts meant for tools.
pub fn comparison(text: &str) -> String {
    let lines: Vec<String> = lines_without_ids(text)
        .filter(|line| !line.starts_with("Made:"))
        .map(|line| line.replace(" (SSIM of brightness)", ""))
        .map(|line| match (line.find(", mainly in {"), line.rfind('}')) {
            (Some(from), Some(to)) if from < to => format!("{}{}", &line[..from], &line[to + 1..]),
            _ => line,
        })
        .collect();
    escape_markdown(&clip(&lines.join(" "), MAX_COMPARISON_CHARS))
}

/// The characters no font has, if the tool listed any.
pub fn missing_glyphs(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("These characters have no glyph"))?;
    let (_, after) = line.split_once("left out: ")?;
    let characters = after.split(". ").next().unwrap_or(after).trim_end_matches('.');
    Some(format!(
        "My fonts don't have these characters, so I left them out: {}",
        escape_markdown(&clip(characters, MAX_GLYPH_CHARS))
    ))
}

/// The result of `list_attachments`.
pub fn file_list(text: &str) -> String {
    let lines: Vec<String> = lines_without_ids(text)
        .map(|line| escape_markdown(&clip(line.trim_start_matches(['-', '*', '•']), MAX_LISTED_LINE_CHARS)))
        .take(MAX_LISTED_FILES)
        .collect();
    match lines.as_slice() {
        [] => "There are no files yet. Send me one!".into(),
        [only] => only.clone(),
        [..] => format!("Here is what we have:\n{}", bullet_list(&lines)),
    }
}

/// Whether this is a result of `read_image_text`.
pub fn is_image_text(text: &str) -> bool {
    text.starts_with("Text in ") || text.starts_with("Found no text in ")
}

/// The lines that `read_image_text` read, without their places.
pub fn image_text(text: &str) -> String {
    let line = |line: &str| {
        let (_, rest) = line.strip_prefix("- ")?.split_once('}')?;
        Some(rest.trim().to_owned())
    };
    let lines: Vec<String> = text.lines().filter_map(line).collect();
    if lines.is_empty() {
        return "I can't find any print in it that I can read.".into();
    }
    file_text(&lines.join("\n"))
}

/// The text of a file in a code fence that is longer than any fence in the text.
pub fn file_text(text: &str) -> String {
    let text = clip(text.trim_end(), MAX_FILE_CHARS);
    if text.trim().is_empty() {
        return "There is no text in it.".into();
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}
