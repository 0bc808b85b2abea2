//! The `Provider` trait and the model settings of an agent.

use super::{completion::Completion, error::ProviderError, prompt::Prompt};
use futures::future::BoxFuture;
use serde_json::{Map, Value};

/// Receives each piece of text as the model produces it. The pieces add up to the text of the completion.
pub type Listener<'a> = &'a (dyn Fn(&str) + Send + Sync);

pub trait Provider: Send + Sync {
    fn name(&self) -> &'static str;
    /// The configured model.
    fn model(&self) -> &str;
    /// How long an answer may become, with thinking. For the estimate of its cost.
    fn max_output_tokens(&self) -> u64;
    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
        heard: Listener<'a>,
    ) -> BoxFuture<'a, Result<Completion, ProviderError>>;
}

/// Model settings of one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    pub model: String,
    /// None uses the vendor's default.
    pub temperature: Option<f64>,
    /// Merged into the request body as they are, for parameters that only some models have.
    pub options: Map<String, Value>,
    /// Whether to ask for a streamed response.
    pub stream: bool,
}
