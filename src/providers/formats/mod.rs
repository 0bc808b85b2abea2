//! Wire formats: prompt ⇄ JSON, one folder per vendor, and the rules that all vendors share. Pure: no HTTP, no keys.

pub mod anthropic;
mod files;
#[cfg(test)]
#[path = "tests/fuzz.rs"]
mod fuzz;
pub mod gemini;
pub mod openai;
mod tool_calls;

#[cfg(test)]
pub(super) mod samples;

pub use files::LoadedFiles;

use super::{Completion, ModelSettings, Prompt, ProviderError, ProviderErrorKind, Usage};
use serde_json::Value;
use std::time::Duration;

/// As long as an answer may become, with thinking, unless an agent's `options` say more.
const MAX_OUTPUT_TOKENS: u64 = 16_384;

text_enum! {
    /// Whose API a server has.
    Vendor "a vendor" { Anthropic = "anthropic", OpenAi = "openai", Gemini = "gemini" }
}

/// Assembles a streamed response into the JSON of the same response without streaming.
pub trait StreamAssembler: Send {
    /// Adds one event and returns the text that it adds to the answer, if any.
    fn push(&mut self, event: &Value) -> Result<String, ProviderErrorKind>;
    /// The whole response; `None` if the stream ended before the model did.
    fn finish(self: Box<Self>) -> Option<Value>;
}

impl Vendor {
    /// Whether this is the vendor's own service, not a compatible server.
    pub fn is_official(self, base_url: &str) -> bool {
        base_url.contains(match self {
            Self::Anthropic => "//api.anthropic.com",
            Self::OpenAi => "//api.openai.com",
            Self::Gemini => "//generativelanguage.googleapis.com",
        })
    }

    /// The path of a request below the base URL.
    pub fn path(self, model: &str, stream: bool) -> String {
        match (self, stream) {
            (Self::Anthropic, _) => "/v1/messages".to_owned(),
            (Self::OpenAi, _) => "/chat/completions".to_owned(),
            (Self::Gemini, true) => format!("/v1beta/models/{model}:streamGenerateContent?alt=sse"),
            (Self::Gemini, false) => format!("/v1beta/models/{model}:generateContent"),
        }
    }

    pub fn request(self, settings: &ModelSettings, prompt: &Prompt, files: &LoadedFiles) -> Value {
        let mut body = match self {
            Self::Anthropic => anthropic::request(settings, prompt, files),
            Self::OpenAi => openai::request(settings, prompt, files),
            Self::Gemini => gemini::request(settings, prompt, files),
        };
        for (name, value) in &settings.options {
            merge_options(&mut body[name.as_str()], value);
        }
        if self == Self::Anthropic {
            anthropic::reconcile_options(&mut body);
        }
        body
    }

    /// How long an answer may become, with thinking.
    pub fn max_output_tokens(self, settings: &ModelSettings) -> u64 {
        let options = &settings.options;
        let number =
            |name: &str, path: &str| options.get(name).and_then(|value| value.pointer(path)?.as_u64());
        let limit = match self {
            Self::Anthropic => {
                let thinking = number("thinking", "/budget_tokens").map(|budget| budget + MAX_OUTPUT_TOKENS);
                number("max_tokens", "").max(thinking)
            }
            Self::OpenAi => number("max_completion_tokens", "").or(number("max_tokens", "")),
            Self::Gemini => number("generationConfig", "/maxOutputTokens"),
        };
        limit.unwrap_or_default().max(MAX_OUTPUT_TOKENS)
    }

    /// Fingerprint of the conversation that signed reasoning in the response is bound to, where the vendor binds it.
    pub fn fingerprint(self, request: &Value) -> Option<String> {
        (self == Self::Anthropic).then(|| anthropic::fingerprint(request))
    }

    /// Reads a response. An error carries the tokens that the response reports.
    pub fn completion(self, model: &str, response: &Value) -> Result<Completion, ProviderError> {
        let completion = match self {
            Self::Anthropic => anthropic::completion(model, response),
            Self::OpenAi => openai::completion(model, response),
            Self::Gemini => gemini::completion(model, response),
        };
        completion.map_err(|kind| self.failure(kind, model, response))
    }

    /// The tokens that a response reports. `model` is the requested one.
    pub fn usage(self, model: &str, response: &Value) -> Usage {
        match self {
            Self::Anthropic => anthropic::usage(model, response),
            Self::OpenAi => openai::usage(model, response),
            Self::Gemini => gemini::usage(model, response),
        }
    }

    /// The error for a response that cannot be used, with the tokens that it reports.
    pub fn failure(self, kind: ProviderErrorKind, model: &str, response: &Value) -> ProviderError {
        let usage = self.usage(model, response);
        let usage = usage.input_tokens.map(|_| {
            // Gemini omits counts that are zero.
            let output_tokens = usage.output_tokens.or(Some(0));
            Box::new(Usage { output_tokens, ..usage })
        });
        ProviderError { kind, usage }
    }

    pub fn stream_assembler(self) -> Box<dyn StreamAssembler> {
        match self {
            Self::Anthropic => Box::<anthropic::AnthropicStream>::default(),
            Self::OpenAi => Box::<openai::OpenAiStream>::default(),
            Self::Gemini => Box::<gemini::GeminiStream>::default(),
        }
    }

    /// The error in a response body or a streamed event, if there is one.
    pub fn parse_error(self, response: &Value) -> Option<ApiError> {
        match self {
            Self::Anthropic => anthropic::parse_error(response),
            Self::OpenAi => openai::parse_error(response),
            Self::Gemini => gemini::parse_error(response),
        }
    }
}

/// An error as the server reports it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ApiError {
    /// The status in the body: routers answer 200 and put the upstream's status here.
    pub status: Option<u16>,
    /// Code, type or status, whichever the server gives.
    pub kind: String,
    pub message: String,
    /// The wait that the body asks for.
    pub retry_after: Option<Duration>,
}

/// Merges an agent's `options` into the request: objects are merged, other values replaced.
fn merge_options(body: &mut Value, options: &Value) {
    match (body, options) {
        (Value::Object(body), Value::Object(options)) => {
            for (name, value) in options {
                merge_options(body.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (body, options) => *body = options.clone(),
    }
}

fn invalid(why: &str) -> ProviderErrorKind {
    ProviderErrorKind::InvalidResponse(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_error_carries_the_tokens_that_the_response_reports() {
        let counted = |vendor: Vendor, response: Value| {
            let usage = vendor.failure(ProviderErrorKind::Refused, "m", &response).usage?;
            Some((usage.model.clone(), usage.input_tokens, usage.output_tokens))
        };
        let usage = json!({ "prompt_tokens": 100, "completion_tokens": 0 });
        let openai = counted(Vendor::OpenAi, json!({ "model": "gpt", "usage": usage }));
        assert_eq!(openai, Some(("gpt".to_owned(), Some(100), Some(0))));
        let usage = json!({ "input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 3 });
        let anthropic = counted(Vendor::Anthropic, json!({ "usage": usage }));
        assert_eq!(anthropic, Some(("m".to_owned(), Some(100), Some(3))));
        let gemini = counted(Vendor::Gemini, json!({ "usageMetadata": { "promptTokenCount": 100 } }));
        assert_eq!(gemini, Some(("m".to_owned(), Some(100), Some(0))));
        assert_eq!(counted(Vendor::Gemini, json!({ "promptFeedback": {} })), None);
    }
}
