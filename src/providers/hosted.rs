//! A model at a vendor or on a server of one's own: what it is shown is loaded, the request goes out, and the answer
//! comes back, in pieces where that is wanted.

use super::{
    Completion, Listener, MediaSource, Prompt, Provider, ProviderError,
    formats::Vendor,
    http::{Endpoint, MAX_BODY_BYTES},
    meter,
    sight::Sight,
};
use futures::future::BoxFuture;
use reqwest::Client;
use secrecy::SecretString;
use serde_json::{Map, Value};
use std::{fmt, sync::Arc, time::Duration};

/// How an agent wants its model to be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    pub model: String,
    /// None leaves it to the vendor.
    pub temperature: Option<f64>,
    /// Laid over the request as they are, for what only some models know.
    pub options: Map<String, Value>,
    /// Whether the answer comes in pieces.
    pub stream: bool,
}

pub struct Hosted {
    vendor: Vendor,
    settings: ModelSettings,
    endpoint: Endpoint,
    sight: Sight,
    media: Arc<dyn MediaSource>,
}

impl fmt::Debug for Hosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { vendor, settings, endpoint, .. } = self;
        f.debug_struct("Hosted")
            .field("vendor", vendor)
            .field("place", &endpoint.place())
            .field("model", &settings.model)
            .finish()
    }
}

impl Hosted {
    /// An empty key sends none, as local servers want it. A server that says nothing for `patience` is given up.
    pub fn new(
        vendor: Vendor,
        base_url: &str,
        key: &SecretString,
        settings: ModelSettings,
        patience: Duration,
        client: Client,
        media: Arc<dyn MediaSource>,
    ) -> Self {
        let sight = Sight::of(vendor, &settings.model, vendor.is_official(base_url));
        let endpoint = Endpoint::new(vendor, base_url, key, client, patience);
        Self { vendor, settings, endpoint, sight, media }
    }

    async fn ask(&self, prompt: &Prompt, heard: Listener<'_>) -> Result<Completion, ProviderError> {
        let ModelSettings { model, stream, .. } = &self.settings;
        let album = self.sight.look(prompt, &*self.media).await;
        let body = self.vendor.request(&self.settings, prompt, &album);
        drop(album);
        let seal = self.vendor.seal(&body);
        let request = self.endpoint.to(&self.vendor.path(model, *stream))?.json(&body);
        let response = self.endpoint.send(request, model).await?;
        // A page for people is no stream either: it is told as what it is.
        let is_whole = |value: &str| value.contains("json") || value.contains("html");
        let content_type = response.headers().get(reqwest::header::CONTENT_TYPE);
        // Some servers answer in one piece whatever they were asked for.
        let in_pieces = *stream && !content_type.and_then(|value| value.to_str().ok()).is_some_and(is_whole);
        let answer = if in_pieces {
            let mut assembly = self.vendor.assembly();
            let take = |event: &Value| {
                let said = assembly.take(event)?;
                if !said.is_empty() {
                    heard(&said);
                }
                Ok(())
            };
            self.endpoint.events(response, model, take).await?;
            let half = || ProviderError::Unreachable(format!("{} broke off", self.endpoint.place()));
            assembly.whole().ok_or_else(half)?
        } else {
            self.endpoint.json(response, MAX_BODY_BYTES, model).await?
        };
        let completion = self.vendor.completion(model, &answer);
        let mut completion = completion.inspect_err(|_| meter::unanswered(self.vendor, model, &answer))?;
        if let (Some(seal), Some(Value::Object(kept))) = (seal, &mut completion.provider_metadata) {
            kept.insert("seal".to_owned(), seal.into());
        }
        if !in_pieces && !completion.text.is_empty() {
            heard(&completion.text);
        }
        Ok(completion)
    }
}

impl Provider for Hosted {
    fn name(&self) -> &'static str {
        self.vendor.as_str()
    }

    fn model(&self) -> &str {
        &self.settings.model
    }

    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
        heard: Listener<'a>,
    ) -> BoxFuture<'a, Result<Completion, ProviderError>> {
        Box::pin(self.ask(prompt, heard))
    }
}

#[cfg(test)]
mod tests;
