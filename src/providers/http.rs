//! HTTP requests to a vendor: time-outs, a cap on the response, and every failure typed by what the caller does next.
//! The vendor's JSON is in `formats`. No error text contains the key.

use super::{
    ProviderErrorKind,
    formats::{ApiError, Vendor},
    sse::EventParser,
};
use chrono::{DateTime, Utc};
use reqwest::{
    Client, RequestBuilder, Response,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
    redirect::Policy,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use std::{error::Error as _, time::Duration};
use url::Url;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For text and tool calls; image generation has a larger cap.
pub const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;
/// A server's `retry-after` is cut to this.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);
const MAX_QUOTE_CHARS: usize = 300;
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The HTTP client of all vendors: reqwest has these settings on the client only, not on a request. It follows no
/// redirects: reqwest would send the headers with Anthropic's and Gemini's keys to the new address.
pub fn http_client() -> reqwest::Result<Client> {
    Client::builder().connect_timeout(CONNECT_TIMEOUT).redirect(Policy::none()).build()
}

/// A vendor's service, or a compatible server.
pub struct Endpoint {
    vendor: Vendor,
    base_url: String,
    /// The query of the base URL, such as Azure's `api-version`. It is appended after the path.
    query: Option<String>,
    key: SecretString,
    client: Client,
    /// How long the server may send nothing.
    silence_timeout: Duration,
}

impl Endpoint {
    /// An empty key is not sent: local servers expect none.
    pub fn new(
        vendor: Vendor,
        base_url: &str,
        key: &SecretString,
        client: Client,
        silence_timeout: Duration,
    ) -> Self {
        let (base_url, query) = match base_url.trim().split_once('?') {
            Some((base_url, query)) => (base_url, Some(query.to_owned())),
            None => (base_url.trim(), None),
        };
        let base_url = base_url.trim_end_matches('/').to_owned();
        // A key read from a file often ends in a newline, which a header must not contain.
        let key = SecretString::from(key.expose_secret().trim());
        Self { vendor, base_url, query, key, client, silence_timeout }
    }

    /// A POST request with the key; the caller adds the body.
    pub fn post(&self, path: &str) -> Result<RequestBuilder, ProviderErrorKind> {
        let mut url = format!("{}{path}", self.base_url);
        if let Some(query) = &self.query {
            url = format!("{url}{}{query}", if path.contains('?') { '&' } else { '?' });
        }
        Ok(self.client.post(url).headers(self.headers()?))
    }

    /// Sends the request. Any status but success becomes an error; `model` is for its text.
    pub async fn send(&self, request: RequestBuilder, model: &str) -> Result<Response, ProviderErrorKind> {
        let response = tokio::time::timeout(self.silence_timeout, request.send()).await;
        let response = response.map_err(|_| self.timed_out())?.map_err(|error| self.unreachable(error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let wait = retry_after(response.headers(), Utc::now());
        // The body is optional: the status alone is enough for an error.
        let body = self.read(response, MAX_BODY_BYTES).await.ok();
        let body: Option<Value> = body.and_then(|body| serde_json::from_slice(&body).ok());
        let error = body.as_ref().and_then(|body| self.vendor.parse_error(body)).unwrap_or_default();
        Err(self.classify(status.as_u16(), &error, wait, model))
    }

    /// Reads a whole response as JSON. Some servers send an error with status 200.
    pub async fn read_json(
        &self,
        response: Response,
        max_bytes: usize,
        model: &str,
    ) -> Result<Value, ProviderErrorKind> {
        let (status, wait) = (response.status().as_u16(), retry_after(response.headers(), Utc::now()));
        let body = self.read(response, max_bytes).await?;
        let answer = serde_json::from_slice(&body).map_err(|_| self.not_json())?;
        match self.vendor.parse_error(&answer) {
            Some(error) => Err(self.classify(error.status.unwrap_or(status), &error, wait, model)),
            None => Ok(answer),
        }
    }

    /// Reads a streamed response and passes each event on as JSON. Returns at the end mark or when the server closes.
    pub async fn read_events(
        &self,
        mut response: Response,
        model: &str,
        mut on_event: impl FnMut(&Value) -> Result<(), ProviderErrorKind>,
    ) -> Result<(), ProviderErrorKind> {
        let status = response.status().as_u16();
        let mut events = EventParser::default();
        let mut length = 0;
        loop {
            let chunk = self.chunk(&mut response).await?;
            length += chunk.as_ref().map_or(0, |chunk| chunk.len());
            if length > MAX_BODY_BYTES {
                return Err(body_too_long(MAX_BODY_BYTES));
            }
            let (complete, over) = match &chunk {
                Some(chunk) => (events.push(chunk), false),
                None => (std::mem::take(&mut events).finish(), true),
            };
            for data in complete.map_err(|_| body_too_long(MAX_BODY_BYTES))? {
                if data.trim() == "[DONE]" {
                    return Ok(());
                }
                let event: Value = serde_json::from_str(&data).map_err(|_| self.not_json())?;
                if let Some(error) = self.vendor.parse_error(&event) {
                    return Err(self.classify(error.status.unwrap_or(status), &error, None, model));
                }
                on_event(&event)?;
            }
            if over {
                return Ok(());
            }
        }
    }

    async fn read(&self, mut response: Response, max_bytes: usize) -> Result<Vec<u8>, ProviderErrorKind> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk(&mut response).await? {
            if body.len() + chunk.len() > max_bytes {
                return Err(body_too_long(max_bytes));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    async fn chunk(&self, response: &mut Response) -> Result<Option<bytes::Bytes>, ProviderErrorKind> {
        let chunk = tokio::time::timeout(self.silence_timeout, response.chunk()).await;
        chunk.map_err(|_| self.timed_out())?.map_err(|error| self.unreachable(error))
    }

    fn headers(&self) -> Result<HeaderMap, ProviderErrorKind> {
        let mut headers = HeaderMap::new();
        if self.vendor == Vendor::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
        }
        let key = self.key.expose_secret();
        if key.is_empty() {
            return Ok(headers);
        }
        let mut put = |name: HeaderName, value: String| {
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                ProviderErrorKind::Misconfigured("the key holds characters that no key has".to_owned())
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
            Ok(())
        };
        match self.vendor {
            Vendor::Anthropic => put(HeaderName::from_static("x-api-key"), key.to_owned())?,
            Vendor::Gemini => put(HeaderName::from_static("x-goog-api-key"), key.to_owned())?,
            Vendor::OpenAi => {
                put(AUTHORIZATION, format!("Bearer {key}"))?;
                if self.base_url.contains(".azure.") {
                    put(HeaderName::from_static("api-key"), key.to_owned())?;
                }
            }
        }
        Ok(headers)
    }

    fn classify(
        &self,
        status: u16,
        error: &ApiError,
        wait: Option<Duration>,
        model: &str,
    ) -> ProviderErrorKind {
        let words = format!("{} {}", error.kind, error.message).to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
        let wait = wait.or(error.retry_after).map(|wait| wait.min(MAX_RETRY_AFTER));
        match status {
            300..=399 => self.redirected(status),
            402 => self.no_credit(),
            // OpenAI answers 429 when the account has no credit; waiting does not help.
            429 if says(&["insufficient_quota", "credit balance"]) => self.no_credit(),
            _ if says(&["overloaded_error", "rate_limit_error", "resource_exhausted"]) => {
                ProviderErrorKind::RetryAfter(wait)
            }
            429 | 503 | 529 => ProviderErrorKind::RetryAfter(wait),
            // Not quoted: the response to a wrong key often repeats parts of it.
            401 => self.wrong_key(status),
            400 if says(&["api key not valid", "api_key_invalid"]) => self.wrong_key(status),
            400 if says(&["credit balance is too low"]) => self.no_credit(),
            403 => ProviderErrorKind::Misconfigured(self.quote(status, error)),
            413 => ProviderErrorKind::TooLong,
            _ if says(&[
                "context_length_exceeded",
                "maximum context length",
                "exceed_context_size",
                "prompt is too long",
                "exceeds the maximum number of tokens",
                "exceed context limit",
            ]) =>
            {
                ProviderErrorKind::TooLong
            }
            400 if says(&["content_filter", "content_policy_violation", "moderation_blocked"]) => {
                ProviderErrorKind::Refused
            }
            404 => self.no_such_model(model),
            400 if says(&["model_not_found", "invalid model", "does not exist"]) && says(&["model"]) => {
                self.no_such_model(model)
            }
            408 | 500.. => ProviderErrorKind::Unreachable(self.quote(status, error)),
            _ => ProviderErrorKind::InvalidResponse(self.quote(status, error)),
        }
    }

    fn no_such_model(&self, model: &str) -> ProviderErrorKind {
        let ends = match self.vendor {
            Vendor::OpenAi => "ends in /v1",
            Vendor::Anthropic | Vendor::Gemini => "is the host alone",
        };
        ProviderErrorKind::Misconfigured(format!(
            "there is no model {model:?} at {}; check the agent's model and {}, which {ends}",
            self.display_url(),
            self.setting_name()
        ))
    }

    fn wrong_key(&self, status: u16) -> ProviderErrorKind {
        let variable = format!("{}_API_KEY", self.vendor.as_str().to_uppercase());
        ProviderErrorKind::Misconfigured(format!(
            "{} does not know the key (HTTP {status}); check {variable}",
            self.display_url()
        ))
    }

    fn redirected(&self, status: u16) -> ProviderErrorKind {
        ProviderErrorKind::Misconfigured(format!(
            "{} answered with a redirect to another address (HTTP {status}); set {} to the final address",
            self.display_url(),
            self.setting_name()
        ))
    }

    fn no_credit(&self) -> ProviderErrorKind {
        ProviderErrorKind::Misconfigured(format!("the account at {} has no credit left", self.display_url()))
    }

    fn not_json(&self) -> ProviderErrorKind {
        ProviderErrorKind::InvalidResponse(format!(
            "it is not JSON; is {} the right base_url?",
            self.display_url()
        ))
    }

    fn timed_out(&self) -> ProviderErrorKind {
        ProviderErrorKind::Unreachable(format!("{} took too long", self.display_url()))
    }

    fn quote(&self, status: u16, error: &ApiError) -> String {
        let words = self.redact_key(&error.message);
        let words: Vec<&str> = words.split_whitespace().collect();
        let quote: String = words.join(" ").chars().take(MAX_QUOTE_CHARS).collect();
        match quote.as_str() {
            "" => format!("{} answered HTTP {status}", self.display_url()),
            quote => format!("{} answered HTTP {status}: {quote}", self.display_url()),
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> ProviderErrorKind {
        if error.is_builder() {
            return ProviderErrorKind::Misconfigured(format!("{} is not a usable URL", self.setting_name()));
        }
        let url = self.display_url();
        if error.is_timeout() {
            return self.timed_out();
        }
        let error = error.without_url();
        let mut why = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            why = format!("{why}: {inner}");
            cause = inner.source();
        }
        ProviderErrorKind::Unreachable(format!("{url}: {}", self.redact_key(&why)))
    }

    fn redact_key(&self, text: &str) -> String {
        match self.key.expose_secret() {
            "" => text.to_owned(),
            key => text.replace(key, "[key]"),
        }
    }

    fn setting_name(&self) -> String {
        format!("providers.{}.base_url", self.vendor)
    }

    /// The base URL without credentials, for logs and errors.
    pub fn display_url(&self) -> String {
        let Ok(mut url) = Url::parse(&self.base_url) else {
            return self.setting_name();
        };
        // Fails only for URLs that cannot have credentials.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        self.redact_key(url.as_str())
    }
}

fn body_too_long(max_bytes: usize) -> ProviderErrorKind {
    ProviderErrorKind::InvalidResponse(format!("it is longer than {} MB", max_bytes >> 20))
}

/// The wait that the server asks for: `retry-after-ms`, else `retry-after` in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds = |text: &str, unit: f64| {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite())?;
        Duration::try_from_secs_f64((number * unit).min(MAX_RETRY_AFTER.as_secs_f64())).ok()
    };
    let until = |text: &str| {
        let date = DateTime::parse_from_rfc2822(text).ok()?;
        Some((date.to_utc() - now).to_std().unwrap_or_default())
    };
    let exact = header("retry-after-ms").and_then(|text| seconds(text, 0.001));
    let usual = || header(RETRY_AFTER.as_str()).and_then(|text| seconds(text, 1.0).or_else(|| until(text)));
    exact.or_else(usual).map(|wait| wait.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_parsed_in_every_form_and_capped() {
        let now = DateTime::parse_from_rfc3339("2026-03-01T12:00:00Z").unwrap().to_utc();
        let wait_for = |pairs: &[(&'static str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap()));
            retry_after(&pairs.collect::<HeaderMap>(), now).map(|wait| wait.as_millis())
        };
        assert_eq!(wait_for(&[]), None);
        assert_eq!(wait_for(&[("retry-after", "1.5")]), Some(1_500));
        assert_eq!(wait_for(&[("retry-after", "9"), ("retry-after-ms", "250")]), Some(250));
        assert_eq!(wait_for(&[("retry-after", "9"), ("retry-after-ms", "soon")]), Some(9_000));
        assert_eq!(wait_for(&[("retry-after", "Sun, 01 Mar 2026 12:00:30 GMT")]), Some(30_000));
        assert_eq!(wait_for(&[("retry-after", "Sun, 01 Mar 2026 11:00:00 GMT")]), Some(0));
        for long in ["86400", "1e300", "Mon, 02 Mar 2026 12:00:00 GMT"] {
            assert_eq!(wait_for(&[("retry-after", long)]), Some(MAX_RETRY_AFTER.as_millis()), "{long}");
        }
        for invalid in ["-3", "nan", "inf", "later"] {
            assert_eq!(wait_for(&[("retry-after", invalid)]), None, "{invalid}");
        }
    }
}
