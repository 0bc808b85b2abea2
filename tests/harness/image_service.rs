//! Stand-in for the image generation APIs of OpenAI and Gemini. It returns pictures of one colour and refuses requests
//! that the real services would refuse.

use super::server::{OnLine, Server};
use axum::{
    Json, Router,
    extract::{ConnectInfo, DefaultBodyLimit, FromRequest as _, Multipart, Path, Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use image::{GenericImageView as _, ImageFormat, Rgb, RgbImage};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, VecDeque},
    io::Cursor,
    sync::{Arc, Mutex, MutexGuard},
};

/// The colour of every generated picture.
pub const GENERATED_COLOR: [u8; 3] = [200, 30, 160];

/// An answer other than a generated picture.
#[derive(Clone, Debug)]
pub enum ImageServiceAnswer {
    /// These bytes in place of a picture.
    Bytes(Vec<u8>),
    Raw(u16, String),
    Busy {
        retry_after_seconds: u64,
    },
}

/// A request that the service accepted.
#[derive(Clone, Debug, Default)]
pub struct ImageServiceRequest {
    pub path: String,
    pub fields: Value,
    pub picture: Option<Bytes>,
    pub mask: Option<Bytes>,
}

#[derive(Default)]
struct Records {
    next: VecDeque<ImageServiceAnswer>,
    requests: Vec<ImageServiceRequest>,
    refusals: Vec<String>,
}

/// Its routes can be added to the server of a model, or have a server of their own.
#[derive(Clone, Default)]
pub struct ImageService(Arc<Mutex<Records>>);

impl ImageService {
    pub fn router(&self) -> Router {
        Router::new()
            .route("/v1/images/generations", post(generations))
            .route("/v1/images/edits", post(edits))
            .route("/v1beta/models/{*call}", post(generate_content))
            .layer(DefaultBodyLimit::disable())
            .with_state(self.clone())
    }

    pub fn serve(&self) -> Server {
        Server::start(self.router())
    }

    pub fn next(&self, answer: ImageServiceAnswer) {
        self.records().next.push_back(answer);
    }

    pub fn requests(&self) -> Vec<ImageServiceRequest> {
        self.records().requests.clone()
    }

    /// Why requests were refused; a test of a whole turn asserts that this is empty.
    pub fn refusals(&self) -> Vec<String> {
        self.records().refusals.clone()
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn refuse(&self, status: u16, why: String, body: impl FnOnce(&str) -> Value) -> Response {
        self.records().refusals.push(why.clone());
        let status = StatusCode::from_u16(status).expect("a status");
        (status, Json(body(&why))).into_response()
    }

    /// Records the request and returns the scripted answer, if there is one.
    fn record(&self, request: ImageServiceRequest) -> Option<ImageServiceAnswer> {
        let mut records = self.records();
        records.requests.push(request);
        records.next.pop_front()
    }
}

fn plain_picture(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    RgbImage::from_pixel(width, height, Rgb(GENERATED_COLOR))
        .write_to(&mut bytes, ImageFormat::Png)
        .expect("a PNG");
    bytes.into_inner()
}

/// The bytes that replace the picture, or a whole response.
#[allow(clippy::result_large_err)]
fn answer_instead(answer: ImageServiceAnswer) -> Result<Vec<u8>, Response> {
    match answer {
        ImageServiceAnswer::Bytes(bytes) => Ok(bytes),
        ImageServiceAnswer::Raw(status, body) => {
            let status = StatusCode::from_u16(status).expect("a status");
            Err((status, [(header::CONTENT_TYPE, "application/json")], body).into_response())
        }
        ImageServiceAnswer::Busy { retry_after_seconds } => {
            let wait = [("retry-after", retry_after_seconds.to_string())];
            let body = json!({ "error": { "message": "Slow down.", "code": "rate_limit_exceeded" } });
            Err((StatusCode::TOO_MANY_REQUESTS, wait, Json(body)).into_response())
        }
    }
}

fn openai_error(why: &str) -> Value {
    json!({ "error": { "message": why, "type": "invalid_request_error", "param": null, "code": null } })
}

fn has_bearer(headers: &HeaderMap) -> bool {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    bearer.strip_prefix("Bearer ").is_some_and(|key| !key.is_empty())
}

/// The fields that gpt-image-1 accepts. `response_format` is not among them.
const GENERATION_FIELDS: [&str; 9] = [
    "model",
    "prompt",
    "n",
    "size",
    "quality",
    "background",
    "output_format",
    "output_compression",
    "moderation",
];
const EDIT_FIELDS: [&str; 8] =
    ["model", "prompt", "n", "size", "quality", "background", "output_format", "input_fidelity"];
const SIZES: [&str; 4] = ["1024x1024", "1536x1024", "1024x1536", "auto"];

fn check_fields(fields: &Value, known: &[&str]) -> Result<(), String> {
    for name in fields.as_object().into_iter().flatten().map(|(name, _)| name) {
        if !known.contains(&name.as_str()) {
            return Err(format!("Unknown parameter: '{name}'."));
        }
    }
    let text = |name: &str| fields[name].as_str().unwrap_or_default();
    if text("model").is_empty() || text("prompt").is_empty() || text("prompt").chars().count() > 32_000 {
        return Err("Missing or invalid required parameter: 'model' or 'prompt'.".into());
    }
    if !SIZES.contains(&text("size")) {
        return Err(format!("Invalid value: '{}'. Supported values are: {SIZES:?}.", text("size")));
    }
    match fields["n"].as_u64() {
        Some(1..=10) => Ok(()),
        _ => Err(format!("Invalid 'n': {}. Expected an integer from 1 to 10.", fields["n"])),
    }
}

async fn generations(
    State(service): State<ImageService>,
    headers: HeaderMap,
    Json(fields): Json<Value>,
) -> Response {
    if !has_bearer(&headers) {
        return service.refuse(401, "You didn't provide an API key.".into(), openai_error);
    }
    if let Err(why) = check_fields(&fields, &GENERATION_FIELDS) {
        return service.refuse(400, why, openai_error);
    }
    let count = fields["n"].as_u64().unwrap_or(1);
    let request =
        ImageServiceRequest { path: "/images/generations".into(), fields, ..ImageServiceRequest::default() };
    generate(service, request, count)
}

fn generate(service: ImageService, request: ImageServiceRequest, count: u64) -> Response {
    let size = request.fields["size"].as_str().unwrap_or_default().to_owned();
    let (width, height) = size.split_once('x').unwrap_or(("1024", "1024"));
    let picture = match service.record(request).map(answer_instead) {
        Some(Ok(bytes)) => bytes,
        Some(Err(response)) => return response,
        None => plain_picture(width.parse().expect("a width"), height.parse().expect("a height")),
    };
    let data = vec![json!({ "b64_json": BASE64_STANDARD.encode(picture) }); count as usize];
    let usage = json!({ "total_tokens": 4210, "input_tokens": 50, "output_tokens": 4160,
        "input_tokens_details": { "text_tokens": 10, "image_tokens": 40 } });
    Json(json!({ "created": 1_700_000_000, "data": data, "output_format": "png", "usage": usage }))
        .into_response()
}

async fn edits(State(service): State<ImageService>, headers: HeaderMap, request: Request) -> Response {
    if !has_bearer(&headers) {
        return service.refuse(401, "You didn't provide an API key.".into(), openai_error);
    }
    match read_edit(request).await {
        Ok(request) => generate(service, request, 1),
        Err(why) => service.refuse(400, why, openai_error),
    }
}

async fn read_edit(request: Request) -> Result<ImageServiceRequest, String> {
    let mut fields = serde_json::Map::new();
    let mut files: HashMap<String, (String, Bytes)> = HashMap::new();
    let mut form = Multipart::from_request(request, &()).await.map_err(|error| error.to_string())?;
    while let Some(part) = form.next_field().await.map_err(|error| error.to_string())? {
        let name = part.name().unwrap_or_default().to_owned();
        let (file, mime) = (part.file_name().is_some(), part.content_type().unwrap_or_default().to_owned());
        let content = part.bytes().await.map_err(|error| error.to_string())?;
        if file {
            files.insert(name, (mime, content));
            continue;
        }
        let text = String::from_utf8(content.to_vec()).map_err(|error| error.to_string())?;
        let number = text.parse::<u64>().ok().filter(|_| name == "n");
        fields.insert(name, number.map_or(Value::String(text), Value::from));
    }
    let fields = Value::Object(fields);
    check_fields(&fields, &EDIT_FIELDS)?;
    let image = files.remove("image[]").or_else(|| files.remove("image"));
    let (mime, picture) = image.ok_or("Missing required parameter: 'image'.")?;
    let format = match mime.as_str() {
        "image/png" => ImageFormat::Png,
        "image/jpeg" => ImageFormat::Jpeg,
        "image/webp" => ImageFormat::WebP,
        other => return Err(format!("Invalid file 'image': unsupported mimetype ('{other}').")),
    };
    let opened = image::load_from_memory_with_format(&picture, format).map_err(|error| error.to_string())?;
    let mask = files.remove("mask").map(|(mime, mask)| check_mask(&mime, mask, opened.dimensions(), format));
    if let Some(name) = files.keys().next() {
        return Err(format!("Unknown parameter: '{name}'."));
    }
    Ok(ImageServiceRequest {
        path: "/images/edits".into(),
        fields,
        picture: Some(picture),
        mask: mask.transpose()?,
    })
}

fn check_mask(mime: &str, mask: Bytes, size: (u32, u32), of: ImageFormat) -> Result<Bytes, String> {
    if mime != "image/png" || of != ImageFormat::Png {
        return Err("Invalid mask image format - image and mask must be PNG files.".into());
    }
    if mask.len() > 4 << 20 {
        return Err("Invalid mask image - larger than 4MB.".into());
    }
    let opened = image::load_from_memory_with_format(&mask, ImageFormat::Png)
        .map_err(|error| format!("Invalid mask image format: {error}"))?;
    if !opened.color().has_alpha() {
        return Err("Invalid mask image format - mask image missing alpha channel".into());
    }
    match opened.dimensions() == size {
        true => Ok(mask),
        false => Err("Invalid mask image - mask size does not match image size".into()),
    }
}

fn gemini_error(why: &str) -> Value {
    json!({ "error": { "code": 400, "message": why, "status": "INVALID_ARGUMENT" } })
}

const RATIOS: [&str; 10] = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];

async fn generate_content(
    State(service): State<ImageService>,
    Path(call): Path<String>,
    ConnectInfo(_): OnLine,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    if !headers.contains_key("x-goog-api-key") {
        return service.refuse(403, "Method doesn't allow unregistered callers.".into(), gemini_error);
    }
    let (picture, ratio) = match check_content(&call, &body) {
        Ok(read) => read,
        Err(why) => return service.refuse(400, why, gemini_error),
    };
    let shape = picture.as_deref().map(|bytes| image::load_from_memory(bytes).expect("checked").dimensions());
    let (width, height) = match ratio.as_deref() {
        Some("3:2") => (1248, 832),
        Some("2:3") => (832, 1248),
        Some(_) => (1024, 1024),
        None => shape.map_or((1024, 1024), |(width, height)| (width.min(1024), height.min(1024))),
    };
    let request = ImageServiceRequest { path: call, fields: body, picture, mask: None };
    let picture = match service.record(request).map(answer_instead) {
        Some(Ok(bytes)) => bytes,
        Some(Err(response)) => return response,
        None => plain_picture(width, height),
    };
    let data = json!({ "mimeType": "image/png", "data": BASE64_STANDARD.encode(picture) });
    let parts = json!([{ "text": "Here is your picture." }, { "inlineData": data }]);
    let candidate =
        json!({ "content": { "role": "model", "parts": parts }, "finishReason": "STOP", "index": 0 });
    let usage = json!({ "promptTokenCount": 20, "candidatesTokenCount": 1290, "totalTokenCount": 1310 });
    Json(json!({ "candidates": [candidate], "usageMetadata": usage })).into_response()
}

fn only_known(value: &Value, known: &[&str]) -> Result<(), String> {
    let names = value.as_object().into_iter().flatten().map(|(name, _)| name);
    match names.into_iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => {
            Err(format!("Invalid JSON payload received. Unknown name \"{name}\": Cannot find field."))
        }
        None => Ok(()),
    }
}

/// The picture and the ratio of the request.
fn check_content(call: &str, body: &Value) -> Result<(Option<Bytes>, Option<String>), String> {
    if !call.ends_with(":generateContent") {
        return Err(format!("models/{call} is not found."));
    }
    only_known(body, &["contents", "generationConfig", "systemInstruction", "safetySettings"])?;
    let config = &body["generationConfig"];
    only_known(config, &["responseModalities", "imageConfig", "temperature"])?;
    only_known(&config["imageConfig"], &["aspectRatio"])?;
    let modalities = config["responseModalities"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !modalities.contains(&json!("IMAGE")) {
        return Err("The requested combination of response modalities is not supported.".into());
    }
    let ratio = config["imageConfig"]["aspectRatio"].as_str();
    if ratio.is_some_and(|ratio| !RATIOS.contains(&ratio)) {
        return Err(format!("aspect_ratio must be one of {RATIOS:?}."));
    }
    let [content] = body["contents"].as_array().map(Vec::as_slice).unwrap_or_default() else {
        return Err("contents is not specified".into());
    };
    let mut picture = None;
    for part in content["parts"].as_array().into_iter().flatten() {
        only_known(part, &["text", "inlineData"])?;
        match (part["text"].as_str(), part.get("inlineData")) {
            (Some(text), None) if !text.is_empty() => {}
            (None, Some(data)) => {
                let bytes = BASE64_STANDARD.decode(data["data"].as_str().unwrap_or_default());
                let bytes = bytes.map_err(|_| "Base64 decoding failed".to_owned())?;
                let mime = data["mimeType"].as_str().unwrap_or_default();
                let format =
                    ImageFormat::from_mime_type(mime).ok_or(format!("Unsupported MIME type: {mime}"))?;
                image::load_from_memory_with_format(&bytes, format)
                    .map_err(|_| "Unable to process input image.".to_owned())?;
                picture = Some(bytes.into());
            }
            _ => return Err("Unable to submit request because a part must hold one kind of data.".into()),
        }
    }
    Ok((picture, ratio.map(str::to_owned)))
}
