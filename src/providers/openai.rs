//! The Chat Completions client: one POST, read with a cap, every failure named by what the caller does next.
//! The JSON itself is `formats::openai`.

use super::formats::{
    Pictures, Step,
    openai::{self as format, Fault},
    steps,
};
use super::{Completion, PictureSource, Prompt, Provider, ProviderError};
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use reqwest::{
    Client, Response,
    header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use std::{error::Error as _, fmt, sync::Arc, time::Duration};
use url::Url;

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(120);
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;
const DEFAULT_WAIT: Duration = Duration::from_secs(5);
const MAX_WAIT: Duration = Duration::from_secs(120);
const MAX_QUOTE_CHARS: usize = 300;

/// OpenAI, or any server that speaks its Chat Completions: Ollama, vLLM, llama.cpp, OpenRouter, Groq.
pub struct OpenAi {
    base_url: String,
    model: String,
    key: SecretString,
    client: Client,
    pictures: Arc<dyn PictureSource>,
    patience: Duration,
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi").field("base_url", &self.place()).field("model", &self.model).finish()
    }
}

/// A client that gives up connecting in time: reqwest takes that limit on the client only, not on a request.
pub fn http_client() -> reqwest::Result<Client> {
    Client::builder().connect_timeout(CONNECT_PATIENCE).build()
}

impl OpenAi {
    /// `base_url` ends in `/v1`. An empty key sends none, as local servers want it.
    pub fn new(
        base_url: &str,
        model: String,
        key: SecretString,
        client: Client,
        pictures: Arc<dyn PictureSource>,
    ) -> Self {
        let base_url = base_url.trim().trim_end_matches('/').to_owned();
        // A key read from a file often brings its newline, which no header may carry.
        let key = SecretString::from(key.expose_secret().trim());
        Self { base_url, model, key, client, pictures, patience: PATIENCE }
    }

    async fn ask(&self, prompt: &Prompt) -> Result<Completion, ProviderError> {
        let body = format::request(&self.model, prompt, &self.load_pictures(prompt).await);
        let request = self
            .client
            .post(format!("{}/chat/completions", self.base_url))
            .headers(self.authorization()?)
            .timeout(self.patience)
            .json(&body);
        let response = request.send().await.map_err(|error| self.unreachable(error))?;
        let status = response.status();
        let wait = wait(response.headers(), Utc::now());
        let body = self.read(response).await;
        if !status.is_success() {
            // The status alone says enough if its body cannot be had.
            let fault = body.ok().and_then(|body| serde_json::from_slice(&body).ok());
            let fault = fault.as_ref().and_then(format::fault).unwrap_or_default();
            return Err(self.error(status.as_u16(), &fault, wait));
        }
        let Ok(answer) = serde_json::from_slice::<Value>(&body?) else {
            let place = self.place();
            return Err(ProviderError::BadAnswer(format!("it is not JSON; is {place} the right base_url?")));
        };
        if let Some(fault) = format::fault(&answer) {
            return Err(self.error(fault.status.unwrap_or(status.as_u16()), &fault, wait));
        }
        format::completion(&self.model, &answer)
    }

    /// One after the other: each is a full-size decode, and six at once would be felt by everyone else.
    async fn load_pictures(&self, prompt: &Prompt) -> Pictures {
        let mut pictures = Pictures::new();
        for step in steps(&prompt.messages) {
            let Step::User { images, .. } = step else { continue };
            for image in images {
                if let Some(url) = self.pictures.data_url(image).await {
                    pictures.insert(image.attachment_id, url);
                }
            }
        }
        pictures
    }

    fn authorization(&self) -> Result<HeaderMap, ProviderError> {
        let mut headers = HeaderMap::new();
        let key = self.key.expose_secret();
        if !key.is_empty() {
            let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
                .map_err(|_| ProviderError::Auth("it holds characters that no key has".to_owned()))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(headers)
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, ProviderError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(error))? {
            if body.len() + chunk.len() > MAX_BODY_BYTES {
                return Err(ProviderError::BadAnswer("it is longer than 8 MB".to_owned()));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn error(&self, status: u16, fault: &Fault, wait: Duration) -> ProviderError {
        let words = format!("{} {}", fault.kind, fault.message).to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
        match status {
            402 => self.no_credit(),
            // OpenAI calls an empty account "too many requests", but no waiting fills it.
            429 if says(&["insufficient_quota"]) => self.no_credit(),
            429 | 503 | 529 => ProviderError::RetryAfter(wait),
            // Not quoted: the answer to a wrong key often repeats parts of it.
            401 => ProviderError::Auth(format!("{} does not know it (HTTP 401)", self.place())),
            403 => ProviderError::Auth(self.quote(status, fault)),
            413 => ProviderError::TooLong,
            _ if says(&["context_length_exceeded", "maximum context length", "exceed_context_size"]) => {
                ProviderError::TooLong
            }
            400 if says(&["content_filter", "content_policy_violation"]) => ProviderError::Refused,
            404 => ProviderError::BadAnswer(format!(
                "there is no model {:?} at {} (HTTP 404); check the agent's model and providers.openai.base_url, \
                 which ends in /v1",
                self.model,
                self.place()
            )),
            408 | 500.. => ProviderError::Unreachable(self.quote(status, fault)),
            _ => ProviderError::BadAnswer(self.quote(status, fault)),
        }
    }

    fn no_credit(&self) -> ProviderError {
        ProviderError::Auth(format!("the account at {} has no credit left", self.place()))
    }

    fn quote(&self, status: u16, fault: &Fault) -> String {
        let words = self.without_key(&fault.message);
        let words: Vec<&str> = words.split_whitespace().collect();
        let quote: String = words.join(" ").chars().take(MAX_QUOTE_CHARS).collect();
        match quote.as_str() {
            "" => format!("{} answered HTTP {status}", self.place()),
            quote => format!("{} answered HTTP {status}: {quote}", self.place()),
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> ProviderError {
        if error.is_builder() {
            return ProviderError::BadAnswer("providers.openai.base_url is not a usable URL".to_owned());
        }
        let place = self.place();
        if error.is_timeout() {
            return ProviderError::Unreachable(format!("{place} took too long"));
        }
        let error = error.without_url();
        let mut why = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            why = format!("{why}: {inner}");
            cause = inner.source();
        }
        ProviderError::Unreachable(format!("{place}: {}", self.without_key(&why)))
    }

    fn without_key(&self, text: &str) -> String {
        match self.key.expose_secret() {
            "" => text.to_owned(),
            key => text.replace(key, "[key]"),
        }
    }

    /// The base URL without what it may hold of a password.
    fn place(&self) -> String {
        let Ok(mut url) = Url::parse(&self.base_url) else {
            return "providers.openai.base_url".to_owned();
        };
        url.set_query(None);
        // Fails only for URLs that cannot hold credentials.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        self.without_key(url.as_str())
    }
}

impl Provider for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn complete<'a>(&'a self, prompt: &'a Prompt) -> BoxFuture<'a, Result<Completion, ProviderError>> {
        Box::pin(self.ask(prompt))
    }
}

/// How long the server asks us to wait: `retry-after-ms`, else `retry-after` in seconds or as a date.
fn wait(headers: &HeaderMap, now: DateTime<Utc>) -> Duration {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds = |text: &str, unit: f64| {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite())?;
        Duration::try_from_secs_f64((number * unit).min(MAX_WAIT.as_secs_f64())).ok()
    };
    let until = |text: &str| {
        let date = DateTime::parse_from_rfc2822(text).ok()?;
        Some((date.to_utc() - now).to_std().unwrap_or_default())
    };
    let exact = header("retry-after-ms").and_then(|text| seconds(text, 0.001));
    let usual = || header(RETRY_AFTER.as_str()).and_then(|text| seconds(text, 1.0).or_else(|| until(text)));
    exact.or_else(usual).unwrap_or(DEFAULT_WAIT).min(MAX_WAIT)
}

#[cfg(test)]
mod tests;
