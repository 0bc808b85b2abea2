//! Wire formats: pure prompt ⇄ JSON, one file per vendor, and the rules that every vendor shares.
//! No HTTP and no keys.

pub mod anthropic;
pub mod gemini;
pub mod gemini_images;
pub mod openai;
pub mod openai_images;

use super::{Completion, Loaded, ModelSettings, Prompt, PromptMessage, ProviderError, Shown};
use crate::domain::ToolCall;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// What stands for the result of a call that never got one.
const INTERRUPTED: &str = "(interrupted)";

text_enum! {
    /// Whose language is spoken.
    Vendor "a vendor" { Anthropic = "anthropic", OpenAi = "openai", Gemini = "gemini" }
}

/// A response that comes in pieces, put together into the same JSON that it would have been in one piece.
pub trait Assembly: Send {
    /// Takes in one event and returns what it adds to the text, if anything.
    fn take(&mut self, event: &Value) -> Result<String, ProviderError>;
    /// The whole response; `None` if the stream ended before the model did.
    fn whole(self: Box<Self>) -> Option<Value>;
}

impl Vendor {
    /// Whether this is the vendor's own service, not a server that only speaks its language.
    pub fn is_official(self, base_url: &str) -> bool {
        base_url.contains(match self {
            Self::Anthropic => "//api.anthropic.com",
            Self::OpenAi => "//api.openai.com",
            Self::Gemini => "//generativelanguage.googleapis.com",
        })
    }

    /// Where requests go, below the base URL.
    pub fn path(self, model: &str, stream: bool) -> String {
        match (self, stream) {
            (Self::Anthropic, _) => "/v1/messages".to_owned(),
            (Self::OpenAi, _) => "/chat/completions".to_owned(),
            (Self::Gemini, true) => format!("/v1beta/models/{model}:streamGenerateContent?alt=sse"),
            (Self::Gemini, false) => format!("/v1beta/models/{model}:generateContent"),
        }
    }

    pub fn request(self, settings: &ModelSettings, prompt: &Prompt, album: &Album) -> Value {
        let mut body = match self {
            Self::Anthropic => anthropic::request(settings, prompt, album),
            Self::OpenAi => openai::request(settings, prompt, album),
            Self::Gemini => gemini::request(settings, prompt, album),
        };
        for (name, value) in &settings.options {
            lay_over(&mut body[name.as_str()], value);
        }
        if self == Self::Anthropic {
            anthropic::settle(&mut body);
        }
        body
    }

    /// What signed reasoning in the answer to this request is bound to, where the vendor binds it.
    pub fn seal(self, request: &Value) -> Option<String> {
        (self == Self::Anthropic).then(|| anthropic::seal(request))
    }

    pub fn completion(self, model: &str, response: &Value) -> Result<Completion, ProviderError> {
        match self {
            Self::Anthropic => anthropic::completion(model, response),
            Self::OpenAi => openai::completion(model, response),
            Self::Gemini => gemini::completion(model, response),
        }
    }

    pub fn assembly(self) -> Box<dyn Assembly> {
        match self {
            Self::Anthropic => Box::<anthropic::Pieces>::default(),
            Self::OpenAi => Box::<openai::Pieces>::default(),
            Self::Gemini => Box::<gemini::Pieces>::default(),
        }
    }

    /// The error in a response body or a streamed event, if it is one.
    pub fn fault(self, response: &Value) -> Option<Fault> {
        match self {
            Self::Anthropic => anthropic::fault(response),
            Self::OpenAi => openai::fault(response),
            Self::Gemini => gemini::fault(response),
        }
    }
}

/// An error as a server words it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// Routers put the upstream's status here and answer 200 themselves.
    pub status: Option<u16>,
    /// Code, type or status, whichever the server gives.
    pub kind: String,
    pub message: String,
    /// How long to wait, where the body says it.
    pub retry_after: Option<std::time::Duration>,
}

/// Sections of an agent's `options` are merged, values replace.
fn lay_over(below: &mut Value, above: &Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (name, value) in above {
                lay_over(below.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above.clone(),
    }
}

/// What could be loaded of what the model is to see.
#[derive(Debug, Default)]
pub struct Album(Vec<(Shown, Loaded)>);

impl Album {
    pub fn add(&mut self, shown: &Shown, loaded: Loaded) {
        self.0.push((shown.clone(), loaded));
    }

    pub fn has(&self, shown: &Shown) -> bool {
        self.find(shown).is_some()
    }

    /// Those of these that are there, in the same order.
    pub fn of<'a>(&'a self, shown: &'a [Shown]) -> impl Iterator<Item = (&'a Shown, &'a Loaded)> {
        shown.iter().filter_map(|shown| Some((shown, self.find(shown)?)))
    }

    fn find(&self, shown: &Shown) -> Option<&Loaded> {
        self.0.iter().find(|(known, _)| known == shown).map(|(_, loaded)| loaded)
    }
}

impl Loaded {
    pub fn base64(&self) -> String {
        BASE64_STANDARD.encode(&self.bytes)
    }

    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.mime, self.base64())
    }

    pub fn is_image(&self) -> bool {
        self.mime.starts_with("image/")
    }
}

/// Says whose pixels follow: the text may name more files than are shown.
fn caption(shown: &Shown) -> String {
    let part = match shown.region {
        Some(r) => format!(
            ", the part from {} to {} across and {} to {} down",
            r.left(),
            r.right(),
            r.top(),
            r.bottom()
        ),
        None => String::new(),
    };
    let grid = if shown.grid { ", with a grid" } else { "" };
    format!("[Attachment ID: {}]{part}{grid}", shown.attachment.attachment_id)
}

/// The conversation as every vendor accepts it: a call without a result, or a result without a call,
/// cannot be said in this type.
#[derive(Debug, PartialEq)]
pub enum Step<'a> {
    User { text: &'a str, shown: &'a [Shown] },
    Assistant { text: &'a str, answered: Vec<Answered<'a>>, metadata: Option<&'a Value> },
}

#[derive(Debug, PartialEq)]
pub struct Answered<'a> {
    pub call: &'a ToolCall,
    pub result: &'a str,
    pub shown: &'a [Shown],
}

/// Pairs each call with the result directly after it. Results of no call are dropped.
pub fn steps<'a>(messages: &'a [PromptMessage]) -> Vec<Step<'a>> {
    let step = |(at, message): (usize, &'a PromptMessage)| match message {
        PromptMessage::User { text, shown } => Some(Step::User { text, shown }),
        PromptMessage::Assistant { text, tool_calls, provider_metadata } => {
            let results = messages.iter().skip(at + 1).map_while(result).collect();
            let answered = answered(tool_calls, results);
            Some(Step::Assistant { text, answered, metadata: provider_metadata.as_ref() })
        }
        PromptMessage::Tool { .. } => None,
    };
    messages.iter().enumerate().filter_map(step).collect()
}

type Given<'a> = (&'a str, &'a str, &'a [Shown]);

fn result(message: &PromptMessage) -> Option<Given<'_>> {
    match message {
        PromptMessage::Tool { call_id, text, shown, .. } => Some((call_id, text, shown)),
        _ => None,
    }
}

fn answered<'a>(calls: &'a [ToolCall], mut results: Vec<Given<'a>>) -> Vec<Answered<'a>> {
    let answer = |call: &'a ToolCall| {
        let found = results.iter().position(|(id, ..)| *id == call.id).map(|at| results.remove(at));
        let (_, result, shown) = found.unwrap_or((&call.id, INTERRUPTED, &[]));
        Answered { call, result, shown }
    };
    calls.iter().map(answer).collect()
}

/// The arguments of a call as the object every vendor wants. Models make up arguments that the same server then
/// refuses to read back from the history.
fn readable_arguments(call: &ToolCall) -> Value {
    match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        _ => Value::Object(Default::default()),
    }
}

/// `^[a-zA-Z0-9_-]{1,64}$`, as the vendors enforce it.
fn legal_name(name: &str) -> String {
    let legal = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }
    };
    let name: String = name.chars().take(64).map(legal).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// The same for the same response, different for every call in it, and within OpenAI's 40 characters.
fn made_up_id(response_id: &Value, position: usize, name: &str, arguments: &str) -> String {
    let digest = Sha256::digest(serde_json::json!([response_id, position, name, arguments]).to_string());
    let hex: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("call_{hex}")
}

/// A file that came as text.
fn decoded(mime: &str, text: &str) -> Result<Loaded, ProviderError> {
    let bytes = BASE64_STANDARD.decode(text.trim()).map_err(|_| bad("a picture in it is not base64"))?;
    if bytes.is_empty() {
        return Err(bad("a picture in it is empty"));
    }
    Ok(Loaded { mime: mime.to_owned(), bytes: bytes.into() })
}

fn bad(why: &str) -> ProviderError {
    ProviderError::BadAnswer(why.to_owned())
}

#[cfg(test)]
pub(super) mod samples;
