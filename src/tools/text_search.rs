//! Patterns that search a text line by line. The pattern and each call of the matcher are bounded, and the search can
//! be stopped between two calls, so that no pattern and no text occupies a worker for long.

use super::{ToolError, arguments::bad_argument};
use regex_automata::{
    Input,
    meta::{BuildError, Config, Regex},
    util::syntax,
};
use std::ops::Range;

/// Of the compiled pattern, and of what matching it may keep in memory.
const REGEX_BYTES: usize = 1 << 20;
/// A longer line is matched in windows of this size.
pub(super) const WINDOW_BYTES: usize = 16 << 10;
/// How much of a window the next one repeats: matches up to this length are found wherever they lie in a long line.
pub(super) const OVERLAP_BYTES: usize = 1 << 10;

/// How the text of a pattern is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    Regex,
    /// Every character stands for itself.
    Literal,
}

/// A pattern; upper and lower case are alike.
pub(super) struct Pattern {
    text: String,
    regex: Regex,
}

/// The search was stopped before its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stopped;

impl Pattern {
    pub(super) fn new(text: String, syntax: Syntax) -> Result<Self, ToolError> {
        let escaped;
        let source = match syntax {
            Syntax::Regex => &text,
            Syntax::Literal => {
                escaped = regex::escape(&text);
                &escaped
            }
        };
        let limits = Config::new()
            .nfa_size_limit(Some(REGEX_BYTES))
            .onepass_size_limit(Some(REGEX_BYTES))
            .hybrid_cache_capacity(REGEX_BYTES);
        let regex = Regex::builder()
            .configure(limits)
            .syntax(syntax::Config::new().case_insensitive(true))
            .build(source)
            .map_err(|error| {
                bad_argument(format!(
                    "grep {text:?} is not a regular expression that works here: {}. To find characters such as ( [ * \
                     + ? . themselves, set literal to true.",
                    explain(&error)
                ))
            })?;
        Ok(Self { text, regex })
    }

    /// As it was written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The first match in a line. Asks `is_stopped` before each window.
    pub(super) fn find(
        &self,
        line: &str,
        is_stopped: &impl Fn() -> bool,
    ) -> Result<Option<Range<usize>>, Stopped> {
        let mut start = 0;
        loop {
            if is_stopped() {
                return Err(Stopped);
            }
            let end = line.floor_char_boundary(start + WINDOW_BYTES);
            // Anchors and word boundaries still see the whole line.
            if let Some(found) = self.regex.find(Input::new(line).range(start..end)) {
                return Ok(Some(found.range()));
            }
            if end == line.len() {
                return Ok(None);
            }
            start = line.floor_char_boundary(end - OVERLAP_BYTES);
        }
    }
}

fn explain(error: &BuildError) -> String {
    if error.size_limit().is_some() {
        return "it is too large; repeat less".to_owned();
    }
    let full = error.syntax_error().map_or_else(|| error.to_string(), ToString::to_string);
    let last = full.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn find(pattern: &str, line: &str) -> Option<Range<usize>> {
        Pattern::new(pattern.to_owned(), Syntax::Regex).unwrap().find(line, &|| false).unwrap()
    }

    #[test]
    fn a_match_is_found_across_the_edges_of_windows() {
        let needle = "needle".repeat(100);
        for before in (0..3 * WINDOW_BYTES).step_by(97) {
            let line = format!("{}{needle}{}", "ö".repeat(before / 2), "-".repeat(WINDOW_BYTES));
            let found = find("(?:NEEDLE){100}", &line);
            assert_eq!(found, Some(before / 2 * 2..before / 2 * 2 + needle.len()), "{before}");
        }
    }

    #[test]
    fn the_edge_of_a_window_is_not_the_edge_of_the_line() {
        let line = format!("{}x", "ab".repeat(2 * WINDOW_BYTES));
        assert_eq!(find("b$", &line), None);
        assert_eq!(find(r"\bb", &line), None);
        assert_eq!(find("^b", &line), None);
        assert_eq!(find("x$", &line), Some(line.len() - 1..line.len()));
    }

    #[test]
    fn a_search_can_be_stopped_within_a_line() {
        let asked = Cell::new(0);
        let is_stopped = || {
            asked.set(asked.get() + 1);
            asked.get() == 3
        };
        let pattern = Pattern::new("x".to_owned(), Syntax::Regex).unwrap();
        assert_eq!(pattern.find(&"-".repeat(50 << 20), &is_stopped), Err(Stopped));
        assert_eq!(asked.get(), 3, "two windows were searched");
    }

    #[test]
    fn every_character_of_a_literal_stands_for_itself() {
        let literal = Pattern::new("price (EUR)*".to_owned(), Syntax::Literal).unwrap();
        let find = |line| literal.find(line, &|| false).unwrap();
        assert_eq!(find("the Price (eur)* of it"), Some(4..16));
        assert_eq!(find("price EUREUR"), None);
    }
}
