//! OpenAI's image API, with only the parameters that the gpt-image models accept.

use super::super::{files::decode_picture, invalid};
use crate::providers::{ImageRequest, LoadedFile, ProviderErrorKind, Shape};
use serde_json::{Value, json};

pub const GENERATIONS: &str = "/images/generations";
pub const EDITS: &str = "/images/edits";

pub fn generation(model: &str, request: &ImageRequest) -> Value {
    json!({ "model": model, "prompt": request.prompt, "n": request.count, "size": size(request.shape) })
}

/// The text fields of an edit's form. Without a shape the service chooses one.
pub fn edit(model: &str, prompt: &str, shape: Option<Shape>) -> [(&'static str, String); 4] {
    let size = shape.map_or("auto", size);
    [("model", model.into()), ("prompt", prompt.into()), ("n", "1".into()), ("size", size.into())]
}

fn size(shape: Shape) -> &'static str {
    match shape {
        Shape::Square => "1024x1024",
        Shape::Landscape => "1536x1024",
        Shape::Portrait => "1024x1536",
    }
}

pub fn pictures(response: &Value) -> Result<Vec<LoadedFile>, ProviderErrorKind> {
    let format = response["output_format"].as_str().unwrap_or("png");
    let data = response["data"].as_array().filter(|data| !data.is_empty());
    let data = data.ok_or_else(|| invalid("it holds no pictures"))?;
    let picture = |item: &Value| match item["b64_json"].as_str() {
        Some(text) => decode_picture(&format!("image/{format}"), text),
        // URLs are not followed: they expire, and they may point anywhere.
        None if item["url"].is_string() => Err(invalid("it gives an address instead of the picture itself")),
        None => Err(invalid("a picture is missing")),
    };
    data.iter().map(picture).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_exactly_the_parameters_of_the_api() {
        let request = ImageRequest { prompt: "a red kite".into(), shape: Shape::Landscape, count: 2 };
        let expected = json!({ "model": "gpt-image-1", "prompt": "a red kite", "n": 2, "size": "1536x1024" });
        assert_eq!(generation("gpt-image-1", &request), expected);
        let form = edit("gpt-image-1", "make it night", None).map(|(name, value)| format!("{name}={value}"));
        assert_eq!(form.join(" "), "model=gpt-image-1 prompt=make it night n=1 size=auto");
        assert_eq!(edit("m", "p", Some(Shape::Portrait))[3], ("size", "1024x1536".into()));
    }

    #[test]
    fn every_picture_of_the_response_is_read_with_its_type() {
        let response = json!({ "created": 1, "output_format": "jpeg",
            "data": [{ "b64_json": "AAEC" }, { "b64_json": "Aw==" }],
            "usage": { "total_tokens": 100, "input_tokens": 50, "output_tokens": 40 } });
        let pictures = pictures(&response).unwrap();
        assert_eq!(pictures.len(), 2);
        assert_eq!((pictures[0].mime.as_str(), &pictures[0].bytes[..]), ("image/jpeg", &[0, 1, 2][..]));
        let usage = super::super::usage("gpt-image-1", &response);
        assert_eq!((usage.input_tokens, usage.output_tokens), (Some(50), Some(40)));
    }

    #[test]
    fn a_response_without_a_picture_is_invalid() {
        for (response, why) in [
            (json!({}), "no pictures"),
            (json!({ "data": [] }), "no pictures"),
            (json!({ "data": [{ "url": "https://example.org/a.png" }] }), "an address"),
            (json!({ "data": [{ "b64_json": null }] }), "missing"),
            (json!({ "data": [{ "b64_json": "***" }] }), "not base64"),
            (json!({ "data": [{ "b64_json": "" }] }), "empty"),
        ] {
            let error = pictures(&response).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
