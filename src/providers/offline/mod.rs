//! The offline agent: a small deterministic grammar over the tools, for people without an API key and for
//! tests. It keeps no state: every call reads the person's words anew and replays the turn's results.

mod atoms;
mod clauses;
mod facts;
mod files;
mod grammar;
mod heads;
mod lex;
mod looks;
mod marks;
mod meaning;
mod measures;
mod places;
mod run;
mod same;
mod say;
mod steps;
mod targets;
mod together;
mod writing;

#[cfg(test)]
mod tests;

use super::{Completion, Listener, Prompt, Provider, ProviderError, Usage};
use futures::future::{BoxFuture, ready};
use grammar::Grammar;
pub use grammar::GrammarError;
use run::Next;

pub struct Offline {
    grammar: Grammar,
}

impl Offline {
    /// With the built-in grammar.
    pub fn new() -> Result<Self, GrammarError> {
        Ok(Self { grammar: Grammar::built_in()? })
    }

    /// With other words; the format is that of the built-in `grammar.yaml`.
    pub fn with_grammar(yaml: &str) -> Result<Self, GrammarError> {
        Ok(Self { grammar: Grammar::from_yaml(yaml)? })
    }

    fn answer(&self, prompt: &Prompt) -> Completion {
        let usage = Usage { provider: "offline", model: "offline".into(), ..Usage::default() };
        match run::next(&self.grammar, prompt) {
            Next::Call(tool_calls) => Completion { tool_calls, usage, ..Completion::default() },
            Next::Say(text) => Completion { text, usage, ..Completion::default() },
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
