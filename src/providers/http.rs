//! One POST to a vendor: read with a cap and with patience, every failure named by what the caller does next.
//! What the JSON means is `formats`' business.

use super::{
    ProviderError,
    formats::{Fault, Vendor},
    sse::Events,
};
use chrono::{DateTime, Utc};
use reqwest::{
    Client, RequestBuilder, Response,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use std::{error::Error as _, time::Duration};
use url::Url;

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Words and calls; pictures have a larger cap of their own.
pub const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;
const MAX_WAIT: Duration = Duration::from_secs(3600);
const MAX_QUOTE_CHARS: usize = 300;
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A client that gives up connecting in time: reqwest takes that limit on the client only, not on a request.
pub fn http_client() -> reqwest::Result<Client> {
    Client::builder().connect_timeout(CONNECT_PATIENCE).build()
}

/// A vendor's service, or a server that speaks its language.
pub struct Endpoint {
    vendor: Vendor,
    base_url: String,
    /// What of the base URL follows the path, such as Azure's `api-version`.
    query: Option<String>,
    key: SecretString,
    client: Client,
    /// How long it may be silent.
    patience: Duration,
}

impl Endpoint {
    /// An empty key sends none, as local servers want it.
    pub fn new(
        vendor: Vendor,
        base_url: &str,
        key: &SecretString,
        client: Client,
        patience: Duration,
    ) -> Self {
        let (base_url, query) = match base_url.trim().split_once('?') {
            Some((base_url, query)) => (base_url, Some(query.to_owned())),
            None => (base_url.trim(), None),
        };
        let base_url = base_url.trim_end_matches('/').to_owned();
        // A key read from a file often brings its newline, which no header may carry.
        let key = SecretString::from(key.expose_secret().trim());
        Self { vendor, base_url, query, key, client, patience }
    }

    /// A request with the key in it, for whatever body the caller gives it.
    pub fn to(&self, path: &str) -> Result<RequestBuilder, ProviderError> {
        let mut url = format!("{}{path}", self.base_url);
        if let Some(query) = &self.query {
            url = format!("{url}{}{query}", if path.contains('?') { '&' } else { '?' });
        }
        Ok(self.client.post(url).headers(self.headers()?))
    }

    /// Sends it. Whatever is not a success becomes an error that says what to do; `model` is named in it.
    pub async fn send(&self, request: RequestBuilder, model: &str) -> Result<Response, ProviderError> {
        let response = tokio::time::timeout(self.patience, request.send()).await;
        let response = response.map_err(|_| self.silent())?.map_err(|error| self.unreachable(error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let wait = wait(response.headers(), Utc::now());
        // The status alone says enough if its body cannot be had.
        let body = self.read(response, MAX_BODY_BYTES).await.ok();
        let body: Option<Value> = body.and_then(|body| serde_json::from_slice(&body).ok());
        let fault = body.as_ref().and_then(|body| self.vendor.fault(body)).unwrap_or_default();
        Err(self.error(status.as_u16(), &fault, wait, model))
    }

    /// A whole response as JSON.
    pub async fn json(
        &self,
        response: Response,
        most_bytes: usize,
        model: &str,
    ) -> Result<Value, ProviderError> {
        let (status, wait) = (response.status().as_u16(), wait(response.headers(), Utc::now()));
        let body = self.read(response, most_bytes).await?;
        let answer = serde_json::from_slice(&body).map_err(|_| self.not_json())?;
        match self.vendor.fault(&answer) {
            Some(fault) => Err(self.error(fault.status.unwrap_or(status), &fault, wait, model)),
            None => Ok(answer),
        }
    }

    /// A response in pieces: each event as JSON, as it comes. Returns when the server says that it is done, or hangs up.
    pub async fn events(
        &self,
        mut response: Response,
        model: &str,
        mut take: impl FnMut(&Value) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        let status = response.status().as_u16();
        let mut events = Events::default();
        let mut length = 0;
        loop {
            let chunk = self.chunk(&mut response).await?;
            length += chunk.as_ref().map_or(0, |chunk| chunk.len());
            if length > MAX_BODY_BYTES {
                return Err(too_long(MAX_BODY_BYTES));
            }
            let (complete, over) = match &chunk {
                Some(chunk) => (events.take(chunk), false),
                None => (std::mem::take(&mut events).end(), true),
            };
            for data in complete.map_err(|_| too_long(MAX_BODY_BYTES))? {
                if data.trim() == "[DONE]" {
                    return Ok(());
                }
                let event: Value = serde_json::from_str(&data).map_err(|_| self.not_json())?;
                if let Some(fault) = self.vendor.fault(&event) {
                    return Err(self.error(fault.status.unwrap_or(status), &fault, None, model));
                }
                take(&event)?;
            }
            if over {
                return Ok(());
            }
        }
    }

    async fn read(&self, mut response: Response, most_bytes: usize) -> Result<Vec<u8>, ProviderError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk(&mut response).await? {
            if body.len() + chunk.len() > most_bytes {
                return Err(too_long(most_bytes));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    async fn chunk(&self, response: &mut Response) -> Result<Option<bytes::Bytes>, ProviderError> {
        let chunk = tokio::time::timeout(self.patience, response.chunk()).await;
        chunk.map_err(|_| self.silent())?.map_err(|error| self.unreachable(error))
    }

    fn headers(&self) -> Result<HeaderMap, ProviderError> {
        let mut headers = HeaderMap::new();
        if self.vendor == Vendor::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
        }
        let key = self.key.expose_secret();
        if key.is_empty() {
            return Ok(headers);
        }
        let mut put = |name: HeaderName, value: String| {
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| ProviderError::Setup("the key holds characters that no key has".to_owned()))?;
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

    fn error(&self, status: u16, fault: &Fault, wait: Option<Duration>, model: &str) -> ProviderError {
        let words = format!("{} {}", fault.kind, fault.message).to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
        let wait = wait.or(fault.retry_after).map(|wait| wait.min(MAX_WAIT));
        match status {
            402 => self.no_credit(),
            // OpenAI calls an empty account "too many requests", but no waiting fills it.
            429 if says(&["insufficient_quota", "credit balance"]) => self.no_credit(),
            _ if says(&["overloaded_error", "rate_limit_error", "resource_exhausted"]) => {
                ProviderError::RetryAfter(wait)
            }
            429 | 503 | 529 => ProviderError::RetryAfter(wait),
            // Not quoted: the answer to a wrong key often repeats parts of it.
            401 => self.wrong_key(status),
            400 if says(&["api key not valid", "api_key_invalid"]) => self.wrong_key(status),
            400 if says(&["credit balance is too low"]) => self.no_credit(),
            403 => ProviderError::Setup(self.quote(status, fault)),
            413 => ProviderError::TooLong,
            _ if says(&[
                "context_length_exceeded",
                "maximum context length",
                "exceed_context_size",
                "prompt is too long",
                "exceeds the maximum number of tokens",
                "exceed context limit",
            ]) =>
            {
                ProviderError::TooLong
            }
            400 if says(&["content_filter", "content_policy_violation", "moderation_blocked"]) => {
                ProviderError::Refused
            }
            404 => self.no_such_model(model),
            400 if says(&["model_not_found", "invalid model", "does not exist"]) && says(&["model"]) => {
                self.no_such_model(model)
            }
            408 | 500.. => ProviderError::Unreachable(self.quote(status, fault)),
            _ => ProviderError::BadAnswer(self.quote(status, fault)),
        }
    }

    fn no_such_model(&self, model: &str) -> ProviderError {
        let ends = match self.vendor {
            Vendor::OpenAi => "ends in /v1",
            Vendor::Anthropic | Vendor::Gemini => "is the host alone",
        };
        ProviderError::Setup(format!(
            "there is no model {model:?} at {}; check the agent's model and {}, which {ends}",
            self.place(),
            self.setting()
        ))
    }

    fn wrong_key(&self, status: u16) -> ProviderError {
        let variable = format!("{}_API_KEY", self.vendor.as_str().to_uppercase());
        ProviderError::Setup(format!(
            "{} does not know the key (HTTP {status}); check {variable}",
            self.place()
        ))
    }

    fn no_credit(&self) -> ProviderError {
        ProviderError::Setup(format!("the account at {} has no credit left", self.place()))
    }

    fn not_json(&self) -> ProviderError {
        ProviderError::BadAnswer(format!("it is not JSON; is {} the right base_url?", self.place()))
    }

    fn silent(&self) -> ProviderError {
        ProviderError::Unreachable(format!("{} took too long", self.place()))
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
            return ProviderError::Setup(format!("{} is not a usable URL", self.setting()));
        }
        let place = self.place();
        if error.is_timeout() {
            return self.silent();
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

    fn setting(&self) -> String {
        format!("providers.{}.base_url", self.vendor)
    }

    /// The base URL without what it may hold of a password.
    pub fn place(&self) -> String {
        let Ok(mut url) = Url::parse(&self.base_url) else {
            return self.setting();
        };
        // Fails only for URLs that cannot hold credentials.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        self.without_key(url.as_str())
    }
}

fn too_long(most_bytes: usize) -> ProviderError {
    ProviderError::BadAnswer(format!("it is longer than {} MB", most_bytes >> 20))
}

/// How long the server asks us to wait: `retry-after-ms`, else `retry-after` in seconds or as a date.
fn wait(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
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
    exact.or_else(usual).map(|wait| wait.min(MAX_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_say_wait_is_understood_and_capped() {
        let now = DateTime::parse_from_rfc3339("2026-03-01T12:00:00Z").unwrap().to_utc();
        let wait_for = |pairs: &[(&'static str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap()));
            wait(&pairs.collect::<HeaderMap>(), now).map(|wait| wait.as_millis())
        };
        assert_eq!(wait_for(&[]), None);
        assert_eq!(wait_for(&[("retry-after", "1.5")]), Some(1_500));
        assert_eq!(wait_for(&[("retry-after", "9"), ("retry-after-ms", "250")]), Some(250));
        assert_eq!(wait_for(&[("retry-after", "9"), ("retry-after-ms", "soon")]), Some(9_000));
        assert_eq!(wait_for(&[("retry-after", "Sun, 01 Mar 2026 12:00:30 GMT")]), Some(30_000));
        assert_eq!(wait_for(&[("retry-after", "Sun, 01 Mar 2026 11:00:00 GMT")]), Some(0));
        for long in ["86400", "1e300", "Mon, 02 Mar 2026 12:00:00 GMT"] {
            assert_eq!(wait_for(&[("retry-after", long)]), Some(MAX_WAIT.as_millis()), "{long}");
        }
        for nonsense in ["-3", "nan", "inf", "later"] {
            assert_eq!(wait_for(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
    }
}
