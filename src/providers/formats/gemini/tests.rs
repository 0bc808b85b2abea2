//! Exact requests and parsed responses.

use super::super::samples::{assistant, call, loaded_pictures, picture, settings, tool, tool_showing, user};
use super::*;
use crate::providers::{PromptMessage, Vendor};
use bytes::Bytes;

const A: &str = "00000000-0000-0000-0000-000000000001";

fn sent_to(model: &str, messages: Vec<PromptMessage>, pictures: &[u128]) -> Value {
    let prompt = Prompt { messages, ..Prompt::default() };
    request(&settings(model), &prompt, &loaded_pictures(pictures))["contents"].take()
}

fn sent(messages: Vec<PromptMessage>) -> Value {
    sent_to("gemini-2.5-flash", messages, &[])
}

fn said_with(metadata: Value, text: &str, tool_calls: Vec<ToolCall>) -> PromptMessage {
    PromptMessage::Assistant { text: text.into(), tool_calls, provider_metadata: Some(metadata) }
}

fn answer(parts: Value, finish: &str) -> Result<Completion, ProviderErrorKind> {
    let content = json!({"role": "model", "parts": parts});
    completion(
        "m",
        &json!({"responseId": "r1", "candidates": [{"content": content, "finishReason": finish}]}),
    )
}

fn says(role: &str, text: &str) -> Value {
    json!({"role": role, "parts": [{"text": text}]})
}

#[test]
fn a_whole_turn_is_sent_in_the_apis_format() {
    let prompt = Prompt {
        system: "Be kind.".into(),
        messages: vec![
            user("crop both", vec![picture(1)]),
            assistant("On it.", vec![call("c1", "crop_image", "{\"a\": 1}"), call("c2", "rotate", "{}")]),
            tool("c1", "one"),
            tool("c2", "Error: there is none"),
        ],
        tools: vec![
            ToolSpec {
                name: "crop_image",
                progress: "",
                description: "Crops.",
                parameters: json!({"type": "object", "additionalProperties": false, "properties": {
                    "a": {"type": "integer", "default": 1},
                }}),
            },
            ToolSpec {
                name: "undo",
                progress: "",
                description: "Goes back.",
                parameters: json!({"type": "object"}),
            },
        ],
        ..Prompt::default()
    };
    let settings = ModelSettings { temperature: Some(0.5), stream: true, ..settings("gemini-2.5-flash") };
    assert_eq!(
        request(&settings, &prompt, &loaded_pictures(&[1])),
        json!({
            "systemInstruction": {"parts": [{"text": "Be kind."}]},
            "contents": [
                {"role": "user", "parts": [
                    {"text": "crop both"},
                    {"text": format!("[Attachment ID: {A}]")},
                    {"inlineData": {"mimeType": "image/jpeg", "data": "AAE="}},
                ]},
                {"role": "model", "parts": [
                    {"text": "On it."},
                    {"functionCall": {"name": "crop_image", "args": {"a": 1}}},
                    {"functionCall": {"name": "rotate", "args": {}}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "crop_image", "response": {"result": "one"}}},
                    {"functionResponse": {"name": "rotate", "response": {"error": "there is none"}}},
                ]},
            ],
            "tools": [{"functionDeclarations": [
                {"name": "crop_image", "description": "Crops.", "parameters": {"type": "object", "properties": {
                    "a": {"type": "integer", "description": "Default: 1."},
                }}},
                {"name": "undo", "description": "Goes back."},
            ]}],
            "generationConfig": {"temperature": 0.5},
        })
    );
}

#[test]
fn empty_tools_system_prompt_and_temperature_are_omitted() {
    let prompt = Prompt { messages: vec![user("hi", vec![])], ..Prompt::default() };
    let expected = json!({"contents": [says("user", "hi")]});
    assert_eq!(request(&settings("m"), &prompt, &loaded_pictures(&[])), expected);
}

#[test]
fn options_of_the_agent_are_merged() {
    let options = json!({"generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}});
    let options = options.as_object().unwrap().clone();
    let settings = ModelSettings { temperature: Some(1.0), options, ..settings("m") };
    let body = Vendor::Gemini.request(&settings, &Prompt::default(), &loaded_pictures(&[]));
    let expected = json!({"temperature": 1.0, "thinkingConfig": {"thinkingLevel": "low"}});
    assert_eq!(body["generationConfig"], expected);
}

#[test]
fn pictures_of_results_follow_in_a_separate_content() {
    let messages = vec![
        user("look", vec![]),
        assistant("", vec![call("c1", "crop_image", "{}"), call("c2", "crop_image", "{}")]),
        tool_showing("c1", "one", vec![picture(1)]),
        tool("c2", "two"),
        user("and?", vec![]),
    ];
    let contents = sent_to("gemini-2.5-flash", messages, &[1]);
    let results = contents[2]["parts"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|part| part.get("functionResponse").is_some()), "{results:?}");
    let pictures = json!([
        {"text": format!("[Attachment ID: {A}]")},
        {"inlineData": {"mimeType": "image/jpeg", "data": "AAE="}},
        {"text": "and?"},
    ]);
    assert_eq!(contents[3], json!({"role": "user", "parts": pictures}));
    assert_eq!(contents.as_array().unwrap().len(), 4);
}

#[test]
fn text_after_results_is_a_separate_content() {
    let contents = sent(vec![
        user("crop", vec![]),
        assistant("", vec![call("c1", "crop_image", "{}")]),
        tool("c1", "one"),
        user("never mind", vec![]),
    ]);
    assert_eq!(contents[2]["parts"].as_array().unwrap().len(), 1);
    assert_eq!(contents[3], says("user", "never mind"));
}

#[test]
fn audio_and_documents_are_sent_inline() {
    let mut file = picture(1);
    file.mime_type = "audio/x-wav".into();
    let mut loaded_pictures = LoadedFiles::default();
    let loaded = LoadedFile { mime: "audio/x-wav".into(), bytes: Bytes::from_static(b"RIFF") };
    loaded_pictures.add(&ShownFile::whole(file.clone()), loaded);
    let prompt = Prompt { messages: vec![user("listen", vec![file])], ..Prompt::default() };
    let body = request(&settings("m"), &prompt, &loaded_pictures);
    let sound = json!({"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}});
    assert_eq!(body["contents"][0]["parts"][2], sound);
}

#[test]
fn a_cut_history_begins_and_ends_with_the_user_and_has_no_empty_parts() {
    let contents = sent(vec![
        tool("c0", "stray"),
        assistant("Hello.", vec![]),
        assistant("Still here.", vec![call("c1", "look", "{oops")]),
        user("", vec![picture(9)]),
        assistant("  ", vec![]),
        user("one", vec![]),
        user("two", vec![]),
        assistant("Yes?", vec![]),
    ]);
    let expected = json!([
        says("user", EARLIER),
        {"role": "model", "parts": [
            {"text": "Hello."}, {"text": "Still here."}, {"functionCall": {"name": "look", "args": {}}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "look", "response": {"result": "(interrupted)"}}},
        ]},
        {"role": "user", "parts": [{"text": "one"}, {"text": "two"}]},
        says("model", "Yes?"),
        says("user", GO_ON),
    ]);
    assert_eq!(contents, expected);
    assert_eq!(sent(vec![]), json!([says("user", EARLIER)]));
}

#[test]
fn invalid_function_names_are_replaced_in_call_and_result() {
    let long = "9".repeat(80);
    let messages = vec![
        user("go", vec![]),
        assistant("", vec![call("c1", &long, "{}"), call("c2", "a.b c", "{}"), call("c3", "", "{}")]),
        tool("c1", "one"),
    ];
    let contents = sent(messages);
    let names = |at: usize, kind: &str| -> Vec<String> {
        let parts = contents[at]["parts"].as_array().unwrap();
        parts.iter().map(|part| part[kind]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(1, "functionCall"), [format!("_{}", "9".repeat(63)), "a_b_c".into(), "unnamed".into()]);
    assert_eq!(names(1, "functionCall"), names(2, "functionResponse"));
}

/// A step of Gemini 3 as the API gives it.
fn signed_step() -> Value {
    json!([
        {"text": "Thinking of crops.", "thought": true},
        {"text": "On "},
        {"text": "it.", "thoughtSignature": "c2ln"},
        {"functionCall": {"id": "g1", "name": "crop_image", "args": {"a": 1}}, "thoughtSignature": "Zmly"},
        {"functionCall": {"id": "g2", "name": "rotate", "args": {}}},
    ])
}

#[test]
fn signed_parts_are_sent_back_to_the_same_model() {
    let model = "gemini-3-flash";
    let response = json!({"candidates": [{"content": {"parts": signed_step()}, "finishReason": "STOP"}]});
    let read = completion(model, &response).unwrap();
    assert_eq!(read.text, "On it.");
    assert_eq!(read.tool_calls, [call("g1", "crop_image", "{\"a\":1}"), call("g2", "rotate", "{}")]);
    let metadata = read.provider_metadata.unwrap();
    let kept: Vec<Value> = signed_step().as_array().unwrap()[1..].to_vec();
    assert_eq!(metadata, json!({"provider": "gemini", "model": model, "parts": kept}));

    // Ids are made unique on the way, so the calls in hand may bear others than the parts do.
    let calls = vec![call("x1", "crop_image", "{\"a\":1}"), call("x2", "rotate", "{}")];
    let messages =
        vec![user("go", vec![]), said_with(metadata, "On it.", calls), tool("x1", "one"), tool("x2", "two")];
    let contents = sent_to(model, messages.clone(), &[]);
    assert_eq!(contents[1], json!({"role": "model", "parts": kept}));
    let ids: Vec<&Value> =
        contents[2]["parts"].as_array().unwrap().iter().map(|part| &part["functionResponse"]["id"]).collect();
    assert_eq!(ids, ["g1", "g2"]);

    let elsewhere = sent_to("gemini-2.5-pro", messages, &[]);
    assert!(!elsewhere.to_string().contains("thoughtSignature"), "{elsewhere}");
}

#[test]
fn a_signed_empty_part_is_kept_and_an_unsigned_answer_is_not() {
    let signed = json!([{"text": "Done."}, {"text": "", "thoughtSignature": "c2ln"}]);
    let metadata = answer(signed.clone(), "STOP").unwrap().provider_metadata.unwrap();
    assert_eq!(metadata["parts"], signed);
    let contents = sent_to("m", vec![said_with(metadata, "Done.", vec![]), user("thanks", vec![])], &[]);
    assert_eq!(contents[1]["parts"], signed);
    let plain = json!([{"text": "Hm.", "thought": true}, {"text": "Done."}]);
    assert_eq!(answer(plain, "STOP").unwrap().provider_metadata, None);
}

#[test]
fn text_that_the_bot_added_is_sent_next_to_the_signed_parts() {
    let signed = json!({"text": "Done.\n", "thoughtSignature": "c2ln"});
    let metadata = json!({"provider": "gemini", "model": "m", "parts": [signed]});
    let contents = |text: &str| {
        let said = said_with(metadata.clone(), text, vec![]);
        sent_to("m", vec![user("go", vec![]), said, user("ok", vec![])], &[])[1]["parts"].take()
    };
    assert_eq!(contents("Note. Done. [marker]"), json!([{"text": "Note. "}, signed, {"text": " [marker]"}]));
    assert_eq!(contents("Something else."), json!([{"text": "Something else."}]));
}

#[test]
fn metadata_that_does_not_match_the_calls_is_ignored() {
    let signed = |name: &str, args: Value| {
        json!({"provider": "gemini", "model": "m", "parts": [
            {"functionCall": {"name": name, "args": args}, "thoughtSignature": "c2ln"},
        ]})
    };
    let parts = |metadata: Value, calls: Vec<ToolCall>| {
        let messages = vec![user("go", vec![]), said_with(metadata, "Words.", calls), user("ok", vec![])];
        sent_to("m", messages, &[])[1]["parts"].take()
    };
    // The last answer of a turn that ran out of pair_tool_calls: its calls were never run.
    assert_eq!(parts(signed("crop", json!({})), vec![]), json!([{"text": "Words."}]));
    let plain = json!([{"text": "Words."}, {"functionCall": {"name": "crop", "args": {}}}]);
    let crop = || vec![call("c1", "crop", "{}")];
    assert_eq!(parts(signed("rotate", json!({})), crop()), plain);
    assert_eq!(parts(signed("crop", json!("oops")), crop()), plain);
    for garbage in [json!({"provider": "gemini", "model": "m"}), json!(7), json!({"provider": "openai"})] {
        assert_eq!(parts(garbage, crop()), plain);
    }
}

#[test]
fn unsigned_calls_of_the_running_turn_get_the_placeholder_for_gemini_3() {
    let step = |id: &str| assistant("", vec![call(id, "crop", "{}"), call("other", "crop", "{}")]);
    let messages = vec![user("go", vec![]), step("c0"), user("again", vec![]), step("c1"), tool("c1", "one")];
    let marked = |model: &str, at: usize| -> Vec<bool> {
        let contents = sent_to(model, messages.clone(), &[]);
        let parts = contents[at]["parts"].as_array().unwrap().clone();
        parts.iter().map(|part| part["thoughtSignature"] == "skip_thought_signature_validator").collect()
    };
    assert_eq!(marked("gemini-3-flash", 4), [true, false]);
    assert_eq!(marked("gemini-flash-latest", 4), [true, false]);
    assert_eq!(marked("gemini-3-flash", 1), [false, false], "only this turn is checked");
    assert_eq!(marked("gemini-2.5-flash", 4), [false, false], "older models know no such word");
    let contents = sent_to("gemini-3-flash", messages.clone(), &[]);
    assert_eq!(contents[4]["parts"][0]["functionCall"]["id"], "c1");
    assert_eq!(contents[5]["parts"][0]["functionResponse"]["id"], "c1");
}

#[test]
fn text_calls_and_tokens_are_read() {
    let response = json!({
        "responseId": "r1", "modelVersion": "gemini-x-001",
        "candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
            {"text": "Let me see.", "thought": true},
            {"text": "Crop"}, {"text": "ping."},
            {"functionCall": {"id": "c1", "name": "crop", "args": {"a": 1}}},
        ]}}],
        "usageMetadata": {
            "promptTokenCount": 12, "candidatesTokenCount": 3, "thoughtsTokenCount": 4,
            "cachedContentTokenCount": 8, "totalTokenCount": 19,
        },
    });
    let expected = Completion {
        text: "Cropping.".into(),
        tool_calls: vec![call("c1", "crop", "{\"a\":1}")],
        usage: Usage {
            provider: "gemini",
            model: "gemini-x-001".into(),
            input_tokens: Some(12),
            output_tokens: Some(7),
            cached_input_tokens: Some(8),
        },
        provider_metadata: None,
    };
    assert_eq!(completion("gemini-x", &response).unwrap(), expected);
    let uncounted = answer(json!([{"text": "Hi."}]), "STOP").unwrap().usage;
    assert_eq!(
        (uncounted.model.as_str(), uncounted.input_tokens, uncounted.output_tokens),
        ("m", None, None)
    );
}

#[test]
fn calls_without_an_id_get_one() {
    let calls = json!([
        {"functionCall": {"name": "crop"}},
        {"functionCall": {"name": "crop", "args": {}}},
        {"functionCall": {"name": "crop", "args": {}, "id": ""}},
        {"functionCall": {"name": "look", "args": "{oops", "id": "x"}},
        {"functionCall": {"name": "look", "args": {}, "id": "x"}},
    ]);
    let read = answer(calls.clone(), "STOP").unwrap().tool_calls;
    let arguments: Vec<_> = read.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, ["{}", "{}", "{}", "{oops", "{}"]);
    let ids: std::collections::HashSet<_> = read.iter().map(|call| &call.id).collect();
    assert_eq!(ids.len(), 5);
    assert_eq!(answer(calls, "STOP").unwrap().tool_calls, read, "made-up ids are the same each time");
}

#[test]
fn every_form_of_refusal_is_recognised() {
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    let reasons = [
        "SAFETY",
        "PROHIBITED_CONTENT",
        "BLOCKLIST",
        "SPII",
        "RECITATION",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
    ];
    let finished = reasons.map(|reason| {
        completion("m", &json!({"candidates": [{"finishReason": reason, "safetyRatings": []}]}))
    });
    for result in finished.into_iter().chain([completion("m", &blocked)]) {
        assert!(matches!(result, Err(ProviderErrorKind::Refused)), "{result:?}");
    }
    assert_eq!(answer(json!([{"text": "Half a"}]), "RECITATION").unwrap().text, "Half a");
}

#[test]
fn max_tokens_without_text_means_too_long() {
    let thought = json!([{"text": "Hm.", "thought": true}]);
    assert!(matches!(answer(thought, "MAX_TOKENS"), Err(ProviderErrorKind::TooLong)));
    assert_eq!(answer(json!([{"text": "Half a"}]), "MAX_TOKENS").unwrap().text, "Half a");
}

#[test]
fn a_malformed_call_is_an_invalid_response() {
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"] {
        for parts in [json!([]), json!([{"text": "Cropping."}])] {
            let result = answer(parts, reason);
            assert!(
                matches!(&result, Err(ProviderErrorKind::InvalidResponse(why)) if why == reason),
                "{result:?}"
            );
        }
    }
    assert!(matches!(answer(json!([]), "OTHER"), Err(ProviderErrorKind::InvalidResponse(_))));
    assert_eq!(answer(json!([]), "STOP").unwrap().text, "");
}

#[test]
fn garbage_is_an_invalid_response_and_never_a_panic() {
    let garbage = [
        json!(null),
        json!([]),
        json!([[]]),
        json!([{"candidates": [{"content": {"parts": [{"text": "Half a"}]}}]}]),
        json!("hello"),
        json!({}),
        json!({"candidates": []}),
        json!({"candidates": {}}),
        json!({"candidates": [null]}),
        json!({"candidates": [{}]}),
        json!({"candidates": [{"content": "hello"}]}),
        json!({"candidates": [{"content": {"parts": "hello"}, "finishReason": "STOP"}]}),
        json!({"candidates": [{"content": {"parts": [{"functionCall": null}]}, "finishReason": "STOP"}]}),
        json!({"candidates": [{"content": {"parts": [{"functionCall": {"args": {}}}]}, "finishReason": "STOP"}]}),
        json!({"candidates": [{"content": {"parts": [null, 7, {"text": 7}]}, "finishReason": 7}]}),
    ];
    for response in garbage {
        let result = completion("m", &response);
        assert!(matches!(result, Err(ProviderErrorKind::InvalidResponse(_))), "{response}: {result:?}");
        GeminiStream::default().push(&response).unwrap();
        assert_eq!(parse_error(&response), None);
    }
}

fn chunk(parts: Value) -> Value {
    json!({"responseId": "r1", "modelVersion": "m2", "candidates": [{"content": {"role": "model", "parts": parts}}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 1}})
}

#[test]
fn a_streamed_response_equals_a_whole_one() {
    let call = json!({"functionCall": {"name": "crop", "args": {}}, "thoughtSignature": "Zmly"});
    let events = [
        chunk(json!([{"text": "Hm", "thought": true}])),
        chunk(json!([{"text": "Crop"}])),
        chunk(json!([{"text": "ping"}, {"text": ".", "thoughtSignature": "c2ln"}])),
        chunk(json!([{"text": " Now."}, call])),
        json!({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 9, "thoughtsTokenCount": 2}}),
    ];
    let mut stream = Box::<GeminiStream>::default();
    let heard: String = events.iter().map(|event| stream.push(event).unwrap()).collect();
    let whole = stream.finish().unwrap();
    let read = completion("m", &whole).unwrap();
    assert_eq!((heard.as_str(), read.text.as_str()), ("Cropping. Now.", "Cropping. Now."));
    assert_eq!((read.usage.model.as_str(), read.usage.output_tokens), ("m2", Some(11)));
    let kept =
        json!([{"text": "Cropping"}, {"text": ".", "thoughtSignature": "c2ln"}, {"text": " Now."}, call]);
    assert_eq!(read.provider_metadata.unwrap()["parts"], kept);
    assert_eq!(read.tool_calls.len(), 1);
    assert_eq!(completion("m", &json!(events)).unwrap().text, "Cropping. Now.", "as one list");
}

#[test]
fn an_unfinished_stream_is_no_response_and_a_blocked_prompt_is_a_refusal() {
    let mut half = Box::<GeminiStream>::default();
    half.push(&chunk(json!([{"text": "Crop"}]))).unwrap();
    assert_eq!(half.finish(), None, "the model had not finished");

    let mut blocked = Box::<GeminiStream>::default();
    blocked.push(&json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})).unwrap();
    let result = completion("m", &blocked.finish().unwrap());
    assert!(matches!(result, Err(ProviderErrorKind::Refused)), "{result:?}");
}

#[test]
fn errors_give_the_kind_and_the_wait() {
    let error = json!({"error": {
        "code": 429, "message": "Quota exceeded.", "status": "RESOURCE_EXHAUSTED", "details": [
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36.5s"},
        ],
    }});
    let expected = || ApiError {
        status: Some(429),
        kind: "RESOURCE_EXHAUSTED".into(),
        message: "Quota exceeded.".into(),
        retry_after: Some(Duration::from_millis(36_500)),
    };
    assert_eq!(parse_error(&error), Some(expected()));
    assert_eq!(parse_error(&json!([error])), Some(expected()));
    let key = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}});
    assert_eq!(parse_error(&key).unwrap().kind, "INVALID_ARGUMENT API_KEY_INVALID");
    for odd in ["soon", "-3s", "nans", "1e999s", ""] {
        let error = json!({"error": {"details": [{"retryDelay": odd}, 7]}});
        assert_eq!(parse_error(&error), Some(ApiError::default()), "{odd}");
    }
    assert_eq!(parse_error(&chunk(json!([{"text": "error"}]))), None);
}
