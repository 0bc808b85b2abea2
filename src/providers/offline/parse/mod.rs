//! Parser: text → clauses. Stages, in order: `lexer` (tokens), `grammar` (the meaning of phrases), `atoms`
//! (meanings in context), `intent` (what a clause asks for), `clauses` (one per request).
//!
//! `positions`, `measures`, `labels`, `overlay_text` and `things` read the details of a clause; the planner calls them.

pub mod atoms;
pub mod clauses;
pub mod grammar;
pub mod intent;
pub mod labels;
mod lexer;
pub mod meaning;
pub mod measures;
pub mod overlay_text;
pub mod positions;
pub mod things;

use clauses::{ParsedMessage, read_clauses};
use grammar::Grammar;

/// Never fails: what the grammar does not know is listed in `ParsedMessage::not_understood`.
pub fn parse(grammar: &Grammar, text: &str) -> ParsedMessage {
    read_clauses(grammar, lexer::source_chars(without_outer_quotes(text)))
}

/// People copy an example together with its quotes.
fn without_outer_quotes(text: &str) -> &str {
    let quote = |c: char| "\"'`“”„‘’«»".contains(c);
    let inner = text.trim().trim_matches(quote);
    if text.trim().starts_with(quote) && !inner.contains(quote) { inner } else { text }
}
