//! Gemini's image output ⇄ what a painter is asked for: one request, one picture. No HTTP and no keys.

use super::{bad, decoded};
use crate::providers::{Loaded, ProviderError, Usage, Vendor, painting::Shape};
use serde_json::{Value, json};

/// Why a response without a picture ended, where its content was the reason.
const DECLINED: [&str; 10] = [
    "SAFETY",
    "IMAGE_SAFETY",
    "PROHIBITED_CONTENT",
    "IMAGE_PROHIBITED_CONTENT",
    "RECITATION",
    "IMAGE_RECITATION",
    "BLOCKLIST",
    "SPII",
    "MODEL_ARMOR",
    "LANGUAGE",
];

/// Without a shape the picture gets that of the picture given to it.
pub fn request(prompt: &str, picture: Option<&Loaded>, shape: Option<Shape>) -> Value {
    let mut parts = vec![json!({ "text": prompt })];
    parts.extend(
        picture
            .map(|picture| json!({ "inlineData": { "mimeType": picture.mime, "data": picture.base64() } })),
    );
    let mut config = json!({ "responseModalities": ["TEXT", "IMAGE"] });
    if let Some(shape) = shape {
        config["imageConfig"] = json!({ "aspectRatio": ratio(shape) });
    }
    json!({ "contents": [{ "role": "user", "parts": parts }], "generationConfig": config })
}

fn ratio(shape: Shape) -> &'static str {
    match shape {
        Shape::Square => "1:1",
        Shape::Landscape => "3:2",
        Shape::Portrait => "2:3",
    }
}

pub fn picture(response: &Value) -> Result<Loaded, ProviderError> {
    let candidate = &response["candidates"][0];
    let parts = candidate["content"]["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    // Models that think draw drafts on the way.
    let drawn = parts.iter().filter(|part| part["thought"] != true).find_map(|part| {
        let data = part.get("inlineData").or(part.get("inline_data"))?;
        let mime = data.get("mimeType").or(data.get("mime_type")).and_then(Value::as_str);
        Some((mime.unwrap_or("image/png"), data["data"].as_str()?))
    });
    if let Some((mime, data)) = drawn {
        return decoded(mime, data);
    }
    let ended = candidate["finishReason"].as_str().unwrap_or_default();
    let blocked = response["promptFeedback"]["blockReason"].is_string();
    if blocked || DECLINED.contains(&ended) {
        return Err(ProviderError::Refused);
    }
    let spoke = parts.iter().any(|part| part["text"].is_string());
    Err(bad(if spoke { "it holds words and no picture" } else { "it holds no picture" }))
}

pub fn usage(model: &str, response: &Value) -> Usage {
    let usage = &response["usageMetadata"];
    let thoughts = usage["thoughtsTokenCount"].as_u64().unwrap_or_default();
    Usage {
        provider: Vendor::Gemini.as_str(),
        model: model.to_owned(),
        input_tokens: usage["promptTokenCount"].as_u64(),
        output_tokens: usage["candidatesTokenCount"].as_u64().map(|tokens| tokens + thoughts),
        cached_input_tokens: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(parts: Value, ended: &str) -> Value {
        json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": ended }] })
    }

    #[test]
    fn words_come_first_and_the_picture_after_them() {
        let photo = Loaded { mime: "image/jpeg".into(), bytes: vec![0, 1, 2].into() };
        assert_eq!(
            request("make it night", Some(&photo), None),
            json!({
                "contents": [{ "role": "user", "parts": [
                    { "text": "make it night" },
                    { "inlineData": { "mimeType": "image/jpeg", "data": "AAEC" } },
                ]}],
                "generationConfig": { "responseModalities": ["TEXT", "IMAGE"] },
            })
        );
        let asked = request("a red kite", None, Some(Shape::Landscape));
        assert_eq!(asked["generationConfig"]["imageConfig"], json!({ "aspectRatio": "3:2" }));
        assert_eq!(asked["contents"][0]["parts"], json!([{ "text": "a red kite" }]));
    }

    #[test]
    fn the_picture_is_found_among_words_and_drafts() {
        let draft = json!({ "thought": true, "inlineData": { "mimeType": "image/png", "data": "AA==" } });
        let drawn = json!({ "inlineData": { "mimeType": "image/png", "data": "AAEC" } });
        let found = picture(&response(json!([{ "text": "Here." }, draft, drawn]), "STOP")).unwrap();
        assert_eq!((found.mime.as_str(), &found.bytes[..]), ("image/png", &[0, 1, 2][..]));
        let told = json!({ "usageMetadata":
            { "promptTokenCount": 9, "candidatesTokenCount": 1290, "thoughtsTokenCount": 10 } });
        let usage = usage("gemini-2.5-flash-image", &told);
        assert_eq!((usage.input_tokens, usage.output_tokens), (Some(9), Some(1300)));
    }

    #[test]
    fn a_block_is_a_refusal_and_anything_else_without_a_picture_is_nonsense() {
        for blocked in [
            json!({ "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" } }),
            json!({ "candidates": [{ "finishReason": "IMAGE_SAFETY" }] }),
            response(json!([{ "text": "I won't." }]), "SAFETY"),
        ] {
            assert!(matches!(picture(&blocked), Err(ProviderError::Refused)), "{blocked}");
        }
        for (empty, why) in [
            (json!({}), "no picture"),
            (response(json!([{ "text": "What kind of kite?" }]), "STOP"), "words and no picture"),
            (response(json!([]), "NO_IMAGE"), "no picture"),
            (response(json!([{ "inlineData": { "data": "***" } }]), "STOP"), "not base64"),
        ] {
            let error = picture(&empty).unwrap_err();
            assert!(matches!(error, ProviderError::BadAnswer(_)), "{error:?}");
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
