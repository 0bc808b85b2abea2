//! Scripted answers, independent of the vendor.

use super::super::gate::Gate;
use photothread::providers::Vendor;
use serde_json::Value;
use std::collections::VecDeque;

/// One scripted answer.
#[derive(Clone, Debug)]
pub enum Answer {
    Text(String),
    Calls(Vec<(String, Value)>),
    /// Thinking, text and calls in one answer.
    All(Said),
    /// This status and body, with the content type of JSON.
    Raw(u16, String),
    /// An error with this message, in the vendor's format.
    Error(u16, String),
    /// Text that is not JSON, with the content type of JSON.
    Garbled,
    /// An HTML page, as a wrong address returns it.
    Page(String),
    /// 429 with the time to retry.
    Busy {
        retry_after_ms: u64,
    },
    /// The connection is cut without an answer.
    Nothing,
    /// This text, then the connection is cut in the middle of the answer.
    Half(String),
    /// This text streamed, then an end without a finish reason. Not streamed, the connection is cut.
    HalfStream(String),
    /// A text in pieces, each sent once its gate is open.
    Slow(Vec<(Gate, String)>),
    /// This text if the answer is streamed, then nothing more on an open connection. Empty: nothing at all.
    Silence(String),
    /// An answer of 50 MB.
    Huge,
}

/// The content of one answer.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub thought: Option<Thought>,
    pub text: String,
    pub calls: Vec<Called>,
    /// The pieces in which the text is streamed, if not word by word.
    pub cuts: Option<Vec<String>>,
}

/// Thinking that the vendor signs and expects back unchanged.
#[derive(Clone, Debug)]
pub struct Thought {
    pub text: String,
    /// Base64, as all vendors have it.
    pub signature: String,
}

#[derive(Clone, Debug)]
pub struct Called {
    pub tool: String,
    /// As the model wrote them; may not be JSON.
    pub arguments: String,
    /// Counts the calls of this model, from 1. Set when the answer is sent.
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

    /// Adds a call with arguments exactly as given.
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

/// The answers to come, and the requests so far.
pub struct Script {
    pub lines: VecDeque<Line>,
    pub gates: VecDeque<Gate>,
    /// The answer when the script is at its end.
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
