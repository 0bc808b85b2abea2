//! The offline agent: understands requests without a model, for people without an API key and for tests. A small
//! compiler from sentences to tool calls. It is deterministic and keeps no state between requests.
//!
//! # One message, stage by stage
//!
//! A person replies to the photo `a` with "crop to a square, then make the left half black and white".
//!
//! 1. `parse::lexer`: `Word("crop") Word("to") Word("a") Word("square") Comma Word("then") Word("make") …`
//! 2. `parse::grammar` and `parse::atoms` look up the longest phrases ("crop to", "a square"): `Verb(Crop)`,
//!    `Aspect("1:1")`, `Comma`, `Then`, `Verb(Make)`, `Filler`, `Side(Left)`, `Fraction(0.5, "half")`,
//!    `Filter("grayscale")`.
//! 3. `parse::intent` and `parse::clauses`: two clauses, `Intent::Crop` and `Intent::Filter`.
//! 4. `plan`: two steps.
//!    `crop_image {"aspect": "1:1"}`, "cropped to a square";
//!    `filter_image {"filter": "grayscale", "region": {"left": 0, "top": 0, "right": 500, "bottom": 1000}}`,
//!    "turned the left half black and white".
//! 5. `targets` and `execute`: no step selects a photo, so the first works on the replied photo. The request returns
//!    the call `offline-1`, `crop_image {"aspect": "1:1", "images": ["a"]}`.
//! 6. The agent loop runs the tool, which makes `a1`, and asks again. The message is parsed and planned anew;
//!    `execute` finds the result of `offline-1` in the prompt and returns `offline-2`, `filter_image` on `a1`.
//! 7. With both results in the prompt, `reply` answers: "Here you go: cropped to a square and turned the left half black
//!    and white."
//!
//! With on-device models, a thing in the picture ("highlight the eagle", `parse::things`) becomes two steps: one looks for
//! it with `find_in_image`, the next edits the regions that were found (`plan::sights`, `execute::looks`).
//!
//! Words the grammar does not know are quoted back ("I didn't understand …"). A request that lacks something, or needs
//! eyes, becomes a question (`reply::questions`). The agent never edits on a guess.
//!
//! # Dependencies
//!
//! `parse` and `targets` know nothing of the rest; `reply` uses both; `plan` uses all three; `execute` uses `plan`.
//!
//! # How to add a word
//!
//! Add it to a list in `parse/grammar.yaml`, and a line to `tests/sentences.rs` or `tests/photo_edits.rs`.
//!
//! # How to add an edit
//!
//! 1. A `Verb` (or another `Meaning`) in `parse/meaning.rs`, its words in `parse/grammar.yaml`, loaded in
//!    `parse/grammar.rs` if it is a new list.
//! 2. An `Intent` in `parse/intent.rs`, with the verb or the words that ask for it.
//! 3. A method of `ClausePlanner` in the file of its family under `plan/`, called from `plan/mod.rs`. It adds a step
//!    with `edit`, or a question with `ask`.
//! 4. The phrase for the reply in `reply/actions.rs`, the question in `reply/questions.rs`.
//! 5. Sentences in `tests/photo_edits.rs`.

mod execute;
mod parse;
mod plan;
mod reply;
mod targets;

#[cfg(test)]
mod tests;

use super::{Completion, Listener, Prompt, Provider, ProviderError, Usage};
use execute::NextAction;
use futures::future::{BoxFuture, ready};
use parse::grammar::Grammar;
pub use parse::grammar::GrammarError;
use parse::things::Things;
use plan::FIND_TOOL;

pub struct Offline {
    grammar: Grammar,
    things: Things,
}

impl Offline {
    pub fn new() -> Result<Self, GrammarError> {
        Ok(Self { grammar: Grammar::built_in()?, things: Things::built_in()? })
    }

    fn answer(&self, prompt: &Prompt) -> Completion {
        let message = parse::parse(&self.grammar, &prompt.focus.said);
        let sees = prompt.tools.iter().any(|tool| tool.name == FIND_TOOL);
        let plan = plan::plan(&self.grammar, &message, sees.then_some(&self.things));
        let usage = Usage { provider: "offline", model: "offline".into(), ..Usage::default() };
        match execute::next_action(&self.grammar, prompt, &message, &plan) {
            NextAction::Call(tool_calls) => Completion { tool_calls, usage, ..Completion::default() },
            NextAction::Reply(text) => Completion { text, usage, ..Completion::default() },
        }
    }
}

impl Provider for Offline {
    fn name(&self) -> &'static str {
        "offline"
    }

    fn model(&self) -> &str {
        "offline"
    }

    fn max_output_tokens(&self) -> u64 {
        0
    }

    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
        heard: Listener<'a>,
    ) -> BoxFuture<'a, Result<Completion, ProviderError>> {
        let completion = self.answer(prompt);
        heard(&completion.text);
        Box::pin(ready(Ok(completion)))
    }
}
