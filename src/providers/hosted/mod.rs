//! A model at a vendor or on a compatible server: loads the shown files, sends the request, reads the response whole or
//! as a stream.

use super::{
    Completion, Listener, MediaSource, ModelSettings, Prompt, Provider, ProviderError, ProviderErrorKind,
    formats::Vendor,
    http::{Endpoint, MAX_BODY_BYTES},
    image_selection::SelectionLimits,
};
use futures::future::BoxFuture;
use reqwest::{Client, Response};
use secrecy::SecretString;
use serde_json::Value;
use std::{fmt, sync::Arc, time::Duration};

pub struct Hosted {
    vendor: Vendor,
    settings: ModelSettings,
    endpoint: Endpoint,
    limits: SelectionLimits,
    media: Arc<dyn MediaSource>,
}

impl fmt::Debug for Hosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { vendor, settings, endpoint, .. } = self;
        f.debug_struct("Hosted")
            .field("vendor", vendor)
            .field("url", &endpoint.display_url())
            .field("model", &settings.model)
            .finish()
    }
}

impl Hosted {
    /// An empty key is not sent: local servers expect none. A server that sends nothing for `silence_timeout` is given
    /// up.
    pub fn new(
        vendor: Vendor,
        base_url: &str,
        key: &SecretString,
        settings: ModelSettings,
        silence_timeout: Duration,
        client: Client,
        media: Arc<dyn MediaSource>,
    ) -> Self {
        let limits = SelectionLimits::of(vendor, &settings.model, vendor.is_official(base_url));
        let endpoint = Endpoint::new(vendor, base_url, key, client, silence_timeout);
        Self { vendor, settings, endpoint, limits, media }
    }

    async fn ask(&self, prompt: &Prompt, heard: Listener<'_>) -> Result<Completion, ProviderError> {
        let ModelSettings { model, stream, .. } = &self.settings;
        let files = self.limits.load_files(prompt, &*self.media).await;
        let body = self.vendor.request(&self.settings, prompt, &files);
        drop(files);
        let fingerprint = self.vendor.fingerprint(&body);
        let request = self.endpoint.post(&self.vendor.path(model, *stream))?.json(&body);
        let response = self.endpoint.send(request, model).await?;
        let streamed = *stream && !is_whole(&response);
        let answer = if streamed {
            self.read_stream(response, heard).await?
        } else {
            self.endpoint.read_json(response, MAX_BODY_BYTES, model).await?
        };
        let mut completion = self.vendor.completion(model, &answer)?;
        if let (Some(fingerprint), Some(Value::Object(metadata))) =
            (fingerprint, &mut completion.provider_metadata)
        {
            metadata.insert("seal".to_owned(), fingerprint.into());
        }
        if !streamed && !completion.text.is_empty() {
            heard(&completion.text);
        }
        Ok(completion)
    }

    async fn read_stream(&self, response: Response, heard: Listener<'_>) -> Result<Value, ProviderErrorKind> {
        let mut assembler = self.vendor.stream_assembler();
        let on_event = |event: &Value| {
            let text = assembler.push(event)?;
            if !text.is_empty() {
                heard(&text);
            }
            Ok(())
        };
        self.endpoint.read_events(response, &self.settings.model, on_event).await?;
        let broken = || ProviderErrorKind::Unreachable(format!("{} broke off", self.endpoint.display_url()));
        assembler.finish().ok_or_else(broken)
    }
}

/// Some servers send one JSON body although a stream was requested. An HTML page is no stream either: reading it as
/// JSON gives the right error.
fn is_whole(response: &Response) -> bool {
    let content_type = response.headers().get(reqwest::header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| value.contains("json") || value.contains("html"))
}

impl Provider for Hosted {
    fn name(&self) -> &'static str {
        self.vendor.as_str()
    }

    fn model(&self) -> &str {
        &self.settings.model
    }

    fn max_output_tokens(&self) -> u64 {
        self.vendor.max_output_tokens(&self.settings)
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
