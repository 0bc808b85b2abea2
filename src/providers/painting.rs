//! Pictures made by a service: from words, or from a picture and an instruction. What the JSON looks like is `formats`'
//! business; what becomes of the pictures is the tools'.

use super::{
    Loaded, ProviderError, Usage, Vendor,
    formats::{gemini_images, openai_images},
    http::Endpoint,
};
use bytes::Bytes;
use futures::future::join_all;
use imaging::Region;
use reqwest::{
    Client, RequestBuilder,
    multipart::{Form, Part},
};
use secrecy::SecretString;
use serde_json::Value;
use std::{fmt, time::Duration};

/// Several pictures come in one response, as text.
const MAX_BODY_BYTES: usize = 64 << 20;
/// A service says nothing while it paints.
const PAINTING_PATIENCE: Duration = Duration::from_secs(170);

text_enum! {
    /// What every service can paint.
    Shape "a shape" { Square = "square", Landscape = "landscape", Portrait = "portrait" }
}

impl Shape {
    pub const ALL: [Self; 3] = [Self::Square, Self::Landscape, Self::Portrait];

    /// The one that leaves the least free around a picture of this size.
    pub fn nearest(width: u32, height: u32) -> Self {
        // Halfway, by ratio, between a square and three to two.
        const HALFWAY: f64 = 1.2247;
        let ratio = f64::from(width.max(1)) / f64::from(height.max(1));
        if ratio > HALFWAY {
            Self::Landscape
        } else if ratio < 1.0 / HALFWAY {
            Self::Portrait
        } else {
            Self::Square
        }
    }

    /// In pixels, as OpenAI gives it; Gemini's differ in size only.
    pub fn size(self) -> (u32, u32) {
        match self {
            Self::Square => (1024, 1024),
            Self::Landscape => (1536, 1024),
            Self::Portrait => (1024, 1536),
        }
    }
}

/// A picture from words.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    pub prompt: String,
    pub shape: Shape,
    pub count: u32,
}

/// A picture from a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Rework {
    pub picture: Loaded,
    pub instruction: String,
    /// None lets everything change.
    pub only: Option<Only>,
}

/// What may change.
#[derive(Debug, Clone, PartialEq)]
pub struct Only {
    /// Of the picture as it is sent.
    pub part: Region,
    /// The same as a PNG of the picture's size, transparent where it may change.
    pub mask: Bytes,
    /// Of the picture as it is sent, so that what comes back lies over it.
    pub shape: Shape,
}

#[derive(Debug)]
pub struct Painted {
    /// Never empty.
    pub pictures: Vec<Loaded>,
    pub usage: Usage,
    /// Why there are fewer than asked for.
    pub short: Option<ProviderError>,
}

pub struct Painter {
    language: Language,
    model: String,
    endpoint: Endpoint,
}

#[derive(Debug, Clone, Copy)]
enum Language {
    OpenAi,
    Gemini,
}

impl fmt::Debug for Painter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.endpoint.place();
        f.debug_struct("Painter").field("place", &place).field("model", &self.model).finish()
    }
}

/// What a vendor's own service paints with if nothing else is said; none if it does not paint.
pub fn usual_image_model(vendor: Vendor) -> Option<&'static str> {
    match vendor {
        Vendor::OpenAi => Some("gpt-image-1"),
        Vendor::Gemini => Some("gemini-2.5-flash-image"),
        Vendor::Anthropic => None,
    }
}

impl Painter {
    /// None for a vendor that does not paint. An empty key sends none, as local servers want it.
    pub fn new(
        vendor: Vendor,
        base_url: &str,
        key: &SecretString,
        model: String,
        silence: Duration,
        client: Client,
    ) -> Option<Self> {
        let language = match vendor {
            Vendor::OpenAi => Language::OpenAi,
            Vendor::Gemini => Language::Gemini,
            Vendor::Anthropic => return None,
        };
        let endpoint = Endpoint::new(vendor, base_url, key, client, silence.max(PAINTING_PATIENCE));
        Some(Self { language, model, endpoint })
    }

    pub fn model(&self) -> &str {
        &self.model
    }

    pub async fn paint(&self, wish: &Wish) -> Result<Painted, ProviderError> {
        match self.language {
            Language::OpenAi => {
                let body = openai_images::generation(&self.model, wish);
                let request = self.endpoint.to(openai_images::GENERATIONS)?.json(&body);
                self.openai(request).await
            }
            Language::Gemini => {
                let body = gemini_images::request(&wish.prompt, None, Some(wish.shape));
                let each = (0..wish.count.max(1)).map(|_| self.gemini(&body));
                together(join_all(each).await)
            }
        }
    }

    /// One picture, about as the instruction says.
    pub async fn rework(&self, rework: &Rework) -> Result<Painted, ProviderError> {
        let shape = rework.only.as_ref().map(|only| only.shape);
        let prompt = rework.in_words();
        match self.language {
            Language::OpenAi => {
                let mut form = Form::new().part("image[]", file("picture", &rework.picture)?);
                if let Some(only) = &rework.only {
                    let mask = Loaded { mime: "image/png".to_owned(), bytes: only.mask.clone() };
                    form = form.part("mask", file("mask", &mask)?);
                }
                for (name, value) in openai_images::edit(&self.model, &prompt, shape) {
                    form = form.text(name, value);
                }
                self.openai(self.endpoint.to(openai_images::EDITS)?.multipart(form)).await
            }
            Language::Gemini => {
                self.gemini(&gemini_images::request(&prompt, Some(&rework.picture), shape)).await
            }
        }
    }

    async fn openai(&self, request: RequestBuilder) -> Result<Painted, ProviderError> {
        let answer = self.ask(request).await?;
        let usage = openai_images::usage(&self.model, &answer);
        Ok(Painted { pictures: openai_images::pictures(&answer)?, usage, short: None })
    }

    async fn gemini(&self, body: &Value) -> Result<Painted, ProviderError> {
        let request = self.endpoint.to(&Vendor::Gemini.path(&self.model, false))?.json(body);
        let answer = self.ask(request).await?;
        let usage = gemini_images::usage(&self.model, &answer);
        Ok(Painted { pictures: vec![gemini_images::picture(&answer)?], usage, short: None })
    }

    async fn ask(&self, request: RequestBuilder) -> Result<Value, ProviderError> {
        let asked = async {
            let response = self.endpoint.send(request, &self.model).await?;
            self.endpoint.json(response, MAX_BODY_BYTES, &self.model).await
        };
        asked.await.map_err(|error| match error {
            ProviderError::Setup(why) => ProviderError::Setup(format!("for pictures (image_model): {why}")),
            other => other,
        })
    }
}

impl Rework {
    /// Said even where there is a mask: services take one as a hint.
    fn in_words(&self) -> String {
        let instruction = self.instruction.trim();
        let Some(Only { part, .. }) = &self.only else { return instruction.to_owned() };
        let percent = |thousandths: f64| (thousandths / 10.0).round();
        format!(
            "{instruction}\n\nChange only the part of this picture that reaches from {}% to {}% of its width, counted \
             from the left, and from {}% to {}% of its height, counted from the top. Leave everything else exactly as \
             it is, in the same place and at the same size.",
            percent(part.left()),
            percent(part.right()),
            percent(part.top()),
            percent(part.bottom())
        )
    }
}

/// One answer out of several requests: what came counts, and why the rest did not.
fn together(answers: Vec<Result<Painted, ProviderError>>) -> Result<Painted, ProviderError> {
    let mut whole: Option<Painted> = None;
    let mut failed = None;
    for answer in answers {
        match (answer, &mut whole) {
            (Ok(painted), None) => whole = Some(painted),
            (Ok(painted), Some(whole)) => {
                let add = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
                let usage = &mut whole.usage;
                usage.input_tokens = add(usage.input_tokens, painted.usage.input_tokens);
                usage.output_tokens = add(usage.output_tokens, painted.usage.output_tokens);
                whole.pictures.extend(painted.pictures);
            }
            (Err(error), _) => failed = failed.or(Some(error)),
        }
    }
    match (whole, failed) {
        (Some(whole), short) => Ok(Painted { short, ..whole }),
        (None, Some(error)) => Err(error),
        (None, None) => Err(ProviderError::BadAnswer("it holds no picture".to_owned())),
    }
}

/// OpenAI goes by the type of a part, not by its bytes.
fn file(stem: &str, content: &Loaded) -> Result<Part, ProviderError> {
    let extension = content.mime.rsplit('/').next().unwrap_or("png");
    let part = Part::stream(content.bytes.clone()).file_name(format!("{stem}.{extension}"));
    part.mime_str(&content.mime).map_err(|_| ProviderError::BadAnswer("not a type of file".to_owned()))
}

#[cfg(test)]
mod tests;
