//! The rules of the Gemini stand-in, and that the program's requests keep them: with all tools, and for any history.

use crate::harness::rules::gemini::{complaint, unsigned_call};
use bytes::Bytes;
use photothread::{
    domain::{Attachment, AttachmentId, AttachmentSource, Content, Conversation, ToolCall},
    providers::{LoadedFile, ModelSettings, Prompt, PromptMessage, ShownFile, Vendor, formats::LoadedFiles},
    tools::Registry,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn settings(model: &str) -> ModelSettings {
    ModelSettings { model: model.into(), temperature: Some(1.0), options: Default::default(), stream: false }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

fn model(parts: Value) -> Value {
    json!({"role": "model", "parts": parts})
}

fn call(name: &str) -> Value {
    json!({"functionCall": {"name": name, "args": {}}})
}

fn response(name: &str) -> Value {
    json!({"functionResponse": {"name": name, "response": {"result": "ok"}}})
}

fn refused(contents: Value, because: &str) {
    refused_whole(json!({"contents": contents}), because);
}

fn refused_whole(request: Value, because: &str) {
    let said = complaint(&request);
    assert!(said.as_ref().is_some_and(|said| said.contains(because)), "{request}: {said:?}");
}

#[test]
fn a_valid_conversation_is_accepted() {
    let request = json!({
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}, {"inlineData": {"mimeType": "image/png", "data": "AAE="}}]},
            model(json!([{"text": "", "thoughtSignature": "c2ln"}, call("a"), call("b")])),
            {"role": "user", "parts": [response("a"), response("b")]},
            user("Look."),
        ],
        "tools": [{"functionDeclarations": [{"name": "a", "description": "A.", "parameters": {
            "type": "OBJECT", "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "INTEGER"}]}},
        }}]}],
        "generationConfig": {"temperature": 0.5},
    });
    assert_eq!(complaint(&request), None);
}

#[test]
fn unknown_contents_and_parts_are_refused() {
    refused_whole(json!({}), "contents is not specified");
    refused(json!([]), "contents is not specified");
    refused_whole(json!({"contents": [user("a")], "model": "m"}), "Unknown name \"model\"");
    refused_whole(json!({"contents": [user("a")], "generationConfig": {"max_tokens": 1}}), "max_tokens");
    refused_whole(json!({"contents": [user("a")], "generationConfig": {"temperature": 3}}), "range");
    refused_whole(json!({"contents": [user("a")], "systemInstruction": {"parts": []}}), "must not be empty");
    refused(json!([{"role": "assistant", "parts": [{"text": "a"}]}]), "valid role");
    refused(json!([{"role": "user", "parts": []}]), "must not be empty");
    let part = |part: Value, because: &str| refused(json!([{"role": "user", "parts": [part]}]), because);
    part(json!({}), "oneof");
    part(json!({"text": "a", "functionCall": {"name": "a"}}), "oneof");
    part(json!({"thought": true}), "oneof");
    part(json!({"text": ""}), "text parameter");
    part(json!({"type": "text", "text": "a"}), "Unknown name \"type\"");
    part(json!({"inlineData": {"mimeType": "image/png", "data": "no base64"}}), "Base64");
    part(json!({"inlineData": {"data": "AAE="}}), "MIME");
    part(json!({"inlineData": {"mimeType": "audio/x-wav", "data": "AAE="}}), "MIME");
    let large = "A".repeat(20 * 1024 * 1024 + 4);
    part(json!({"inlineData": {"mimeType": "image/png", "data": large}}), "payload size");
    let calls = |call: Value, because: &str| {
        refused(json!([user("a"), model(json!([{"functionCall": call}]))]), because);
    };
    calls(json!({"name": ""}), "cannot be empty");
    calls(json!({"name": "9lives"}), "Invalid function name");
    calls(json!({"name": "a b"}), "Invalid function name");
    calls(json!({"name": "a".repeat(65)}), "Invalid function name");
    calls(json!({"name": "a", "args": "{}"}), "Struct");
}

#[test]
fn misplaced_calls_and_responses_are_refused() {
    let counts = "number of function response parts is equal";
    let asked = user("go");
    let called = model(json!([call("a"), call("b")]));
    let after = |content: Value| json!([asked, called, content]);
    refused(json!([model(json!([{"text": "Hello."}])), asked]), "begin with a user turn");
    refused(json!([asked, called]), counts);
    refused(after(user("never mind")), counts);
    refused(after(json!({"role": "user", "parts": [response("a")]})), counts);
    refused(after(json!({"role": "user", "parts": [response("b"), response("a")]})), "match");
    refused(
        after(json!({"role": "user", "parts": [response("a"), response("b"), {"text": "and"}]})),
        "mixes",
    );
    refused(
        after(json!({"role": "model", "parts": [response("a"), response("b")]})),
        "function response turn",
    );
    refused(json!([{"role": "user", "parts": [response("a")]}]), "immediately after a function call turn");
    refused(json!([{"role": "user", "parts": [call("a")]}]), "function call turn comes immediately");
    refused(json!([asked, model(json!([{"text": "Hm."}])), called]), "function call turn comes immediately");
    refused(json!([asked, model(json!([{"text": "Hm."}]))]), "ending with a model turn");
    let with_id = model(json!([{"functionCall": {"name": "a", "id": "1"}}]));
    refused(json!([asked, with_id, {"role": "user", "parts": [response("a")]}]), "match");
}

#[test]
fn unknown_function_declarations_are_refused() {
    let declared = |function: Value, because: &str| {
        let tools = json!([{"functionDeclarations": [function]}]);
        refused_whole(json!({"contents": [user("a")], "tools": tools}), because);
    };
    let with = |property: Value, because: &str| {
        let parameters = json!({"type": "object", "properties": {"p": property}});
        declared(json!({"name": "a", "parameters": parameters}), because);
    };
    refused_whole(json!({"contents": [user("a")], "tools": [{"functionDeclarations": []}]}), "tool_type");
    refused_whole(json!({"contents": [user("a")], "tools": [{"type": "function"}]}), "Unknown name");
    let twice = json!([{"functionDeclarations": [{"name": "a"}, {"name": "a"}]}]);
    refused_whole(json!({"contents": [user("a")], "tools": twice}), "Duplicate");
    declared(json!({"name": "a", "parameters": {"type": "object", "properties": {}}}), "non-empty");
    declared(json!({"name": "a", "parameters": {"type": "string"}}), "of type OBJECT");
    with(json!({"type": "string", "default": "x"}), "\"default\"");
    with(json!({"type": "object", "additionalProperties": false}), "\"additionalProperties\"");
    with(json!({"type": ["string", "null"]}), ".type");
    with(json!({"type": "String"}), ".type");
    with(json!({}), ".type");
    with(json!({"type": "integer", "enum": [1]}), "only allowed for STRING");
    with(json!({"type": "string", "enum": [""]}), "cannot be empty");
    with(json!({"type": "string", "format": "uuid"}), "date-time");
    with(json!({"type": "array"}), "missing field");
    with(json!({"type": "array", "items": {"type": "object", "required": ["x"]}}), "not defined");
    with(json!({"type": "string", "anyOf": []}), "only field");
    with(json!({"anyOf": [{"const": 1}]}), "\"const\"");
}

#[test]
fn only_calls_of_this_turn_must_be_signed() {
    let answered = json!({"role": "user", "parts": [response("a"), response("b")]});
    let old = model(json!([call("a"), call("b")]));
    let mut signed = old.clone();
    signed["parts"][0]["thoughtSignature"] = "c2ln".into();
    let good = json!({"contents": [user("1"), old, answered, user("2"), signed, answered]});
    assert_eq!(unsigned_call(&good), None);
    let bad = json!({"contents": [user("1"), signed, answered, old, answered]});
    let said = unsigned_call(&bad).unwrap();
    assert!(said.contains("missing a thought_signature") && said.contains("position 4"), "{said}");
}

#[test]
fn every_tool_is_declared_as_gemini_accepts_it() {
    let specs = Registry::new().specs();
    assert!(specs.len() > 10);
    for spec in &specs {
        let said = PromptMessage::User { text: "hi".into(), shown: Vec::new() };
        let prompt = Prompt { messages: vec![said], tools: vec![spec.clone()], ..Prompt::default() };
        let body = Vendor::Gemini.request(&settings("gemini-3-flash"), &prompt, &LoadedFiles::default());
        assert_eq!(complaint(&body), None, "{}: {body:#}", spec.name);
        let declared = &body["tools"][0]["functionDeclarations"][0]["parameters"];
        // An empty list is left out.
        let required = |schema: &Value| schema["required"].as_array().cloned().unwrap_or_default();
        assert_eq!(required(declared), required(&spec.parameters), "{}", spec.name);
        let names = |schema: &Value| -> Vec<String> {
            schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(names(declared), names(&spec.parameters), "{}", spec.name);
    }
}

const MODEL: &str = "gemini-3-flash";

fn shown(number: u8) -> ShownFile {
    ShownFile::whole(Attachment {
        attachment_id: AttachmentId(uuid::Uuid::from_u128(number.into())),
        conversation: Conversation::telegram(1),
        user_id: photothread::domain::UserId("100".into()),
        source: AttachmentSource::User,
        mime_type: "image/jpeg".into(),
        filename: "image.jpg".into(),
        description: None,
        size: 1,
        width: Some(1),
        height: Some(1),
        content: Content::stored("none", "none"),
        created_at: chrono::DateTime::UNIX_EPOCH,
        parents: Vec::new(),
    })
}

/// Metadata as rows may have stored it: of this model, of another, of another vendor, or broken.
fn any_metadata() -> impl Strategy<Value = Option<Value>> {
    let part = prop_oneof![
        any_name()
            .prop_map(|name| json!({"functionCall": {"name": name, "args": {}}, "thoughtSignature": "c2ln"})),
        any_name().prop_map(|name| json!({"functionCall": {"name": name, "args": "oops"}})),
        "[a-z ]{0,8}".prop_map(|text| json!({"text": text, "thoughtSignature": "c2ln"})),
        "[a-z]{1,8}".prop_map(|text| json!({"text": text})),
    ];
    let vendor = prop_oneof![Just("gemini"), Just("anthropic"), Just("openai")];
    let model = prop_oneof![4 => Just(MODEL), 1 => Just("another")];
    let whole = (vendor, model, prop::collection::vec(part, 0..4))
        .prop_map(|(provider, model, parts)| json!({"provider": provider, "model": model, "parts": parts}));
    prop_oneof![
        2 => Just(None),
        4 => whole.prop_map(Some),
        1 => Just(Some(json!({"provider": "gemini", "model": MODEL, "parts": 7}))),
    ]
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![4 => Just("crop_image".to_owned()), 1 => "[ -~]{0,3}"]
}

/// Messages in any order and with gaps, as crashes, deletions and a change of provider may leave them.
fn any_message() -> impl Strategy<Value = PromptMessage> {
    let pictures = || prop::collection::vec((0..6u8).prop_map(shown), 0..3);
    let text = || prop_oneof![Just(String::new()), Just(" ".to_owned()), "[a-z]{1,9}", "Error: [a-z]{0,9}"];
    let arguments = prop_oneof![Just("{}"), Just("{\"a\": 1}"), Just("{oops"), Just("7"), Just("")];
    let call = (0..5u8, any_name(), arguments).prop_map(|(id, name, arguments)| ToolCall {
        id: format!("call {id}"),
        name,
        arguments: arguments.to_owned(),
    });
    let calls = prop::collection::vec(call, 0..4);
    prop_oneof![
        (text(), pictures()).prop_map(|(text, shown)| PromptMessage::User { text, shown }),
        (text(), calls, any_metadata()).prop_map(|(text, tool_calls, provider_metadata)| {
            PromptMessage::Assistant { text, tool_calls, provider_metadata }
        }),
        (0..5u8, text(), pictures()).prop_map(|(id, text, shown)| PromptMessage::Tool {
            call_id: format!("call {id}"),
            name: "crop_image".into(),
            text,
            shown,
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_makes_a_request_that_gemini_accepts(messages in prop::collection::vec(any_message(), 0..14)) {
        let mut album = LoadedFiles::default();
        // Files with higher numbers were deleted.
        for number in 0..4 {
            let bytes = Bytes::from_static(b"pixels");
            album.add(&shown(number), LoadedFile { mime: "image/jpeg".into(), bytes });
        }
        let prompt = Prompt { messages, ..Prompt::default() };
        for model in [MODEL, "gemini-2.5-flash"] {
            let body = Vendor::Gemini.request(&settings(model), &prompt, &album);
            prop_assert_eq!(complaint(&body), None, "{:#}", body);
            prop_assert!(model != MODEL || unsigned_call(&body).is_none(), "{:#}", body);
        }
    }
}
