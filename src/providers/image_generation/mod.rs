//! Client of an image generation service: new pictures from a text, or edits of a picture. The vendor's JSON is in
//! `formats`; the tools store the pictures.

use super::{
    ProviderError, ProviderErrorKind, Usage, Vendor,
    formats::{gemini, openai},
    http::Endpoint,
    image_request::{ImageEdit, ImageRequest},
    media::LoadedFile,
};
use futures::future::join_all;
use reqwest::{
    Client, RequestBuilder,
    multipart::{Form, Part},
};
use secrecy::SecretString;
use serde_json::Value;
use std::{fmt, time::Duration};

/// One response holds several pictures as base64.
const MAX_IMAGE_BODY_BYTES: usize = 64 << 20;
/// A service sends nothing while it generates.
const GENERATION_TIMEOUT: Duration = Duration::from_secs(170);

#[derive(Debug)]
pub struct GeneratedImages {
    /// Never empty.
    pub pictures: Vec<LoadedFile>,
    pub usage: Usage,
    /// Why there are fewer pictures than requested.
    pub shortfall: Option<ProviderError>,
}

pub struct ImageGenerator {
    api: ImageApi,
    model: String,
    endpoint: Endpoint,
}

#[derive(Debug, Clone, Copy)]
enum ImageApi {
    OpenAi,
    Gemini,
}

impl fmt::Debug for ImageGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.endpoint.display_url();
        f.debug_struct("ImageGenerator").field("url", &url).field("model", &self.model).finish()
    }
}

/// The default image model of a vendor's own service; none if the vendor generates no images.
pub fn default_image_model(vendor: Vendor) -> Option<&'static str> {
    match vendor {
        Vendor::OpenAi => Some("gpt-image-1"),
        Vendor::Gemini => Some("gemini-2.5-flash-image"),
        Vendor::Anthropic => None,
    }
}

impl ImageGenerator {
    /// None for a vendor that generates no images. An empty key is not sent: local servers expect none.
    pub fn new(
        vendor: Vendor,
        base_url: &str,
        key: &SecretString,
        model: String,
        timeout: Duration,
        client: Client,
    ) -> Option<Self> {
        let api = match vendor {
            Vendor::OpenAi => ImageApi::OpenAi,
            Vendor::Gemini => ImageApi::Gemini,
            Vendor::Anthropic => return None,
        };
        let endpoint = Endpoint::new(vendor, base_url, key, client, timeout.max(GENERATION_TIMEOUT));
        Some(Self { api, model, endpoint })
    }

    pub fn model(&self) -> &str {
        &self.model
    }

    pub async fn generate(&self, request: &ImageRequest) -> Result<GeneratedImages, ProviderError> {
        match self.api {
            ImageApi::OpenAi => {
                let body = openai::images::generation(&self.model, request);
                self.ask_openai(self.endpoint.post(openai::images::GENERATIONS)?.json(&body)).await
            }
            ImageApi::Gemini => {
                let body = gemini::images::request(&request.prompt, None, Some(request.shape));
                // One request makes one picture.
                let each = (0..request.count.max(1)).map(|_| self.ask_gemini(&body));
                combine(join_all(each).await)
            }
        }
    }

    /// Returns one picture.
    pub async fn edit(&self, edit: &ImageEdit) -> Result<GeneratedImages, ProviderError> {
        let shape = edit.only.as_ref().map(|only| only.shape);
        let prompt = edit.prompt();
        match self.api {
            ImageApi::OpenAi => {
                let mut form = Form::new().part("image[]", form_file("picture", &edit.picture)?);
                if let Some(only) = &edit.only {
                    let mask = LoadedFile { mime: "image/png".to_owned(), bytes: only.mask.clone() };
                    form = form.part("mask", form_file("mask", &mask)?);
                }
                for (name, value) in openai::images::edit(&self.model, &prompt, shape) {
                    form = form.text(name, value);
                }
                self.ask_openai(self.endpoint.post(openai::images::EDITS)?.multipart(form)).await
            }
            ImageApi::Gemini => {
                self.ask_gemini(&gemini::images::request(&prompt, Some(&edit.picture), shape)).await
            }
        }
    }

    async fn ask_openai(&self, request: RequestBuilder) -> Result<GeneratedImages, ProviderError> {
        let response = self.send(request).await?;
        self.read(Vendor::OpenAi, &response, openai::images::pictures(&response))
    }

    async fn ask_gemini(&self, body: &Value) -> Result<GeneratedImages, ProviderError> {
        let request = self.endpoint.post(&Vendor::Gemini.path(&self.model, false))?.json(body);
        let response = self.send(request).await?;
        let picture = gemini::images::picture(&response);
        self.read(Vendor::Gemini, &response, picture.map(|picture| vec![picture]))
    }

    /// Prices are looked up by the configured model: the reported version of an image model may have none.
    fn read(
        &self,
        vendor: Vendor,
        response: &Value,
        pictures: Result<Vec<LoadedFile>, ProviderErrorKind>,
    ) -> Result<GeneratedImages, ProviderError> {
        match pictures {
            Ok(pictures) => {
                let usage = Usage { model: self.model.clone(), ..vendor.usage(&self.model, response) };
                Ok(GeneratedImages { pictures, usage, shortfall: None })
            }
            Err(kind) => Err(vendor.failure(kind, &self.model, response)),
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<Value, ProviderErrorKind> {
        let sent = async {
            let response = self.endpoint.send(request, &self.model).await?;
            self.endpoint.read_json(response, MAX_IMAGE_BODY_BYTES, &self.model).await
        };
        sent.await.map_err(|kind| match kind {
            ProviderErrorKind::Misconfigured(why) => {
                ProviderErrorKind::Misconfigured(format!("for pictures (image_model): {why}"))
            }
            other => other,
        })
    }
}

/// Combines the results of several requests. One picture is enough; the first error becomes the shortfall.
fn combine(results: Vec<Result<GeneratedImages, ProviderError>>) -> Result<GeneratedImages, ProviderError> {
    let mut combined: Option<GeneratedImages> = None;
    let mut first_error = None;
    for result in results {
        match (result, &mut combined) {
            (Ok(images), None) => combined = Some(images),
            (Ok(images), Some(combined)) => {
                let add = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
                let usage = &mut combined.usage;
                usage.input_tokens = add(usage.input_tokens, images.usage.input_tokens);
                usage.output_tokens = add(usage.output_tokens, images.usage.output_tokens);
                combined.pictures.extend(images.pictures);
            }
            (Err(error), _) => first_error = first_error.or(Some(error)),
        }
    }
    match (combined, first_error) {
        (Some(combined), shortfall) => Ok(GeneratedImages { shortfall, ..combined }),
        (None, Some(error)) => Err(error),
        (None, None) => Err(ProviderErrorKind::InvalidResponse("it holds no picture".to_owned()).into()),
    }
}

/// OpenAI goes by the declared type of a form part, not by its bytes.
fn form_file(stem: &str, content: &LoadedFile) -> Result<Part, ProviderErrorKind> {
    let extension = content.mime.rsplit('/').next().unwrap_or("png");
    let part = Part::stream(content.bytes.clone()).file_name(format!("{stem}.{extension}"));
    part.mime_str(&content.mime)
        .map_err(|_| ProviderErrorKind::InvalidResponse("not a type of file".to_owned()))
}

#[cfg(test)]
mod tests;
