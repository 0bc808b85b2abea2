//! OpenAI's images API ⇄ what a painter is asked for. No HTTP and no keys; only what the gpt-image models accept.

use super::{bad, decoded};
use crate::providers::{
    Loaded, ProviderError, Usage, Vendor,
    painting::{Shape, Wish},
};
use serde_json::{Value, json};

pub const GENERATIONS: &str = "/images/generations";
pub const EDITS: &str = "/images/edits";

pub fn generation(model: &str, wish: &Wish) -> Value {
    json!({ "model": model, "prompt": wish.prompt, "n": wish.count, "size": size(wish.shape) })
}

/// The fields of an edit's form; its files come beside them. Without a shape the service chooses one.
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

pub fn pictures(response: &Value) -> Result<Vec<Loaded>, ProviderError> {
    let format = response["output_format"].as_str().unwrap_or("png");
    let data = response["data"].as_array().filter(|data| !data.is_empty());
    let data = data.ok_or_else(|| bad("it holds no pictures"))?;
    let picture = |item: &Value| match item["b64_json"].as_str() {
        Some(text) => decoded(&format!("image/{format}"), text),
        // Whatever is there may be gone tomorrow, and may be anywhere: addresses are not followed.
        None if item["url"].is_string() => Err(bad("it gives an address instead of the picture itself")),
        None => Err(bad("a picture is missing")),
    };
    data.iter().map(picture).collect()
}

pub fn usage(model: &str, response: &Value) -> Usage {
    let usage = &response["usage"];
    Usage {
        provider: Vendor::OpenAi.as_str(),
        model: model.to_owned(),
        input_tokens: usage["input_tokens"].as_u64(),
        output_tokens: usage["output_tokens"].as_u64(),
        cached_input_tokens: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_becomes_exactly_what_the_service_takes() {
        let wish = Wish { prompt: "a red kite".into(), shape: Shape::Landscape, count: 2 };
        let expected = json!({ "model": "gpt-image-1", "prompt": "a red kite", "n": 2, "size": "1536x1024" });
        assert_eq!(generation("gpt-image-1", &wish), expected);
        let form = edit("gpt-image-1", "make it night", None).map(|(name, value)| format!("{name}={value}"));
        assert_eq!(form.join(" "), "model=gpt-image-1 prompt=make it night n=1 size=auto");
        assert_eq!(edit("m", "p", Some(Shape::Portrait))[3], ("size", "1024x1536".into()));
    }

    #[test]
    fn every_picture_of_the_response_is_there_with_its_type() {
        let response = json!({ "created": 1, "output_format": "jpeg",
            "data": [{ "b64_json": "AAEC" }, { "b64_json": "Aw==" }],
            "usage": { "total_tokens": 100, "input_tokens": 50, "output_tokens": 40 } });
        let pictures = pictures(&response).unwrap();
        assert_eq!(pictures.len(), 2);
        assert_eq!((pictures[0].mime.as_str(), &pictures[0].bytes[..]), ("image/jpeg", &[0, 1, 2][..]));
        let usage = usage("gpt-image-1", &response);
        assert_eq!((usage.input_tokens, usage.output_tokens), (Some(50), Some(40)));
    }

    #[test]
    fn what_is_no_picture_is_said_to_be_none() {
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
