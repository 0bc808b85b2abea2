//! What a test has the model say or do, in no vendor's language.

use super::super::gate::Gate;
use photothread::providers::Vendor;
use serde_json::Value;
use std::collections::VecDeque;

/// What the model does when asked.
#[derive(Clone, Debug)]
pub enum Answer {
    Text(String),
    Calls(Vec<(String, Value)>),
    /// Thoughts, words and calls in one answer.
    All(Said),
    /// This status and body, said to be JSON.
    Raw(u16, String),
    /// An error in these words, as the vendor wraps it.
    Error(u16, String),
    /// Something in place of JSON, but labelled as what was wanted.
    Garbled,
    /// A page for people where an answer should be, as a wrong address gives it.
    Page(String),
    /// 429, and when to come back.
    Busy {
        retry_after_ms: u64,
    },
    /// The connection dies without an answer.
    Nothing,
    /// This text, and then the connection dies in the middle of the answer.
    Half(String),
    /// This text in pieces, and then an end without a word about why. Not streamed, the connection dies.
    HalfStream(String),
    /// A text in pieces, each sent once its gate is open.
    Slow(Vec<(Gate, String)>),
    /// This text if the answer comes in pieces, and then nothing more; the connection stays. Empty: nothing at all.
    Silence(String),
    /// An answer of 50 MB.
    Huge,
}

/// All that a model can say in one answer.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub thought: Option<Thought>,
    pub text: String,
    pub calls: Vec<Called>,
    /// How the text comes in pieces, if not by the word.
    pub cuts: Option<Vec<String>>,
}

/// Thinking that the vendor signs and wants back unchanged.
#[derive(Clone, Debug)]
pub struct Thought {
    pub text: String,
    /// Base64, as all vendors have it.
    pub signature: String,
}

#[derive(Clone, Debug)]
pub struct Called {
    pub tool: String,
    /// As the model wrote them: not necessarily JSON.
    pub arguments: String,
    /// Counts the calls of this model, from 1; given when it is said.
    pub number: usize,
}

impl Said {
    pub fn text(text: &str) -> Said {
        Said { text: text.into(), ..Said::default() }
    }

    pub fn in_pieces(pieces: impl IntoIterator<Item = String>) -> Said {
        let cuts: Vec<String> = pieces.into_iter().collect();
        Said { text: cuts.concat(), cuts: Some(cuts), ..Said::default() }
    }

    pub(super) fn pieces(&self) -> Vec<String> {
        let words = || self.text.split_inclusive(' ').map(str::to_owned).collect();
        self.cuts.clone().unwrap_or_else(words)
    }

    /// These words, and a call with arguments exactly as given.
    pub fn and_call(mut self, tool: &str, arguments: &str) -> Said {
        self.calls.push(Called { tool: tool.into(), arguments: arguments.into(), number: 0 });
        self
    }

    pub fn after_thinking(mut self, text: &str, signature: &str) -> Said {
        self.thought = Some(Thought { text: text.into(), signature: signature.into() });
        self
    }

    pub fn calling(calls: Vec<(String, Value)>) -> Said {
        let add =
            |said: Said, (tool, arguments): (String, Value)| said.and_call(&tool, &arguments.to_string());
        calls.into_iter().fold(Said::default(), add)
    }
}

type Line = Box<dyn FnOnce(&Value) -> Answer + Send>;

/// What comes next, and what was asked so far.
pub struct Script {
    pub lines: VecDeque<Line>,
    pub gates: VecDeque<Gate>,
    /// What it does once the lines are said.
    pub otherwise: Answer,
    pub asked: Vec<(Vendor, Value)>,
    pub refusals: Vec<String>,
    calls_made: usize,
}

impl Script {
    pub fn new(otherwise: Answer) -> Script {
        Script {
            lines: VecDeque::new(),
            gates: VecDeque::new(),
            otherwise,
            asked: Vec::new(),
            refusals: Vec::new(),
            calls_made: 0,
        }
    }

    pub fn answer(&mut self, request: &Value) -> Answer {
        let answer = match self.lines.pop_front() {
            Some(answer) => answer(request),
            None => self.otherwise.clone(),
        };
        let mut said = match answer {
            Answer::Text(text) => Said::text(&text),
            Answer::Calls(calls) => Said::calling(calls),
            Answer::All(said) => said,
            other => return other,
        };
        for call in &mut said.calls {
            self.calls_made += 1;
            call.number = self.calls_made;
        }
        Answer::All(said)
    }
}
