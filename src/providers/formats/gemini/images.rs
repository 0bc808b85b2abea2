//! Gemini's image output: one request makes one picture.

use super::super::{files::decode_picture, invalid};
use crate::providers::{LoadedFile, ProviderErrorKind, Shape};
use serde_json::{Value, json};

/// Finish reasons that mean a refusal because of the content.
const REFUSALS: [&str; 10] = [
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

/// Without a shape the result has the shape of the sent picture.
pub fn request(prompt: &str, picture: Option<&LoadedFile>, shape: Option<Shape>) -> Value {
    let mut parts = vec![json!({ "text": prompt })];
    parts.extend(
        picture
            .map(|picture| json!({ "inlineData": { "mimeType": picture.mime, "data": picture.base64() } })),
    );
    let mut config = json!({ "responseModalities": ["TEXT", "IMAGE"] });
    if let Some(shape) = shape {
        config["imageConfig"] = json!({ "aspectRatio": aspect_ratio(shape) });
    }
    json!({ "contents": [{ "role": "user", "parts": parts }], "generationConfig": config })
}

fn aspect_ratio(shape: Shape) -> &'static str {
    match shape {
        Shape::Square => "1:1",
        Shape::Landscape => "3:2",
        Shape::Portrait => "2:3",
    }
}

pub fn picture(response: &Value) -> Result<LoadedFile, ProviderErrorKind> {
    let candidate = &response["candidates"][0];
    let parts = candidate["content"]["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    // Models that think also return drafts.
    let found = parts.iter().filter(|part| part["thought"] != true).find_map(|part| {
        let data = part.get("inlineData").or(part.get("inline_data"))?;
        let mime = data.get("mimeType").or(data.get("mime_type")).and_then(Value::as_str);
        Some((mime.unwrap_or("image/png"), data["data"].as_str()?))
    });
    if let Some((mime, data)) = found {
        return decode_picture(mime, data);
    }
    let ended = candidate["finishReason"].as_str().unwrap_or_default();
    let blocked = response["promptFeedback"]["blockReason"].is_string();
    if blocked || REFUSALS.contains(&ended) {
        return Err(ProviderErrorKind::Refused);
    }
    let has_text = parts.iter().any(|part| part["text"].is_string());
    Err(invalid(if has_text { "it holds words and no picture" } else { "it holds no picture" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(parts: Value, ended: &str) -> Value {
        json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": ended }] })
    }

    #[test]
    fn the_prompt_precedes_the_picture() {
        let photo = LoadedFile { mime: "image/jpeg".into(), bytes: vec![0, 1, 2].into() };
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
    fn the_picture_is_found_among_text_and_drafts() {
        let draft = json!({ "thought": true, "inlineData": { "mimeType": "image/png", "data": "AA==" } });
        let drawn = json!({ "inlineData": { "mimeType": "image/png", "data": "AAEC" } });
        let found = picture(&response(json!([{ "text": "Here." }, draft, drawn]), "STOP")).unwrap();
        assert_eq!((found.mime.as_str(), &found.bytes[..]), ("image/png", &[0, 1, 2][..]));
        let told = json!({ "usageMetadata":
            { "promptTokenCount": 9, "candidatesTokenCount": 1290, "thoughtsTokenCount": 10 } });
        let usage = super::super::usage("gemini-2.5-flash-image", &told);
        assert_eq!((usage.input_tokens, usage.output_tokens), (Some(9), Some(1300)));
    }

    #[test]
    fn a_block_is_a_refusal_and_any_other_response_without_a_picture_is_invalid() {
        for blocked in [
            json!({ "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" } }),
            json!({ "candidates": [{ "finishReason": "IMAGE_SAFETY" }] }),
            response(json!([{ "text": "I won't." }]), "SAFETY"),
        ] {
            assert!(matches!(picture(&blocked), Err(ProviderErrorKind::Refused)), "{blocked}");
        }
        for (empty, why) in [
            (json!({}), "no picture"),
            (response(json!([{ "text": "What kind of kite?" }]), "STOP"), "words and no picture"),
            (response(json!([]), "NO_IMAGE"), "no picture"),
            (response(json!([{ "inlineData": { "data": "***" } }]), "STOP"), "not base64"),
        ] {
            let error = picture(&empty).unwrap_err();
            assert!(matches!(error, ProviderErrorKind::InvalidResponse(_)), "{error:?}");
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
