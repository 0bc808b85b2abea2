//! Exact requests and parsed responses.

use super::super::StreamAssembler as _;
use super::super::samples::{assistant, call, loaded_pictures, picture, settings, tool, tool_showing, user};
use super::*;
use crate::providers::PromptMessage;

const A: &str = "00000000-0000-0000-0000-000000000001";
const B: &str = "00000000-0000-0000-0000-000000000002";

fn sent(messages: Vec<PromptMessage>, pictures: &[u128]) -> Value {
    let prompt = Prompt { messages, ..Prompt::default() };
    request(&settings("m"), &prompt, &loaded_pictures(pictures))["messages"].take()
}

fn answer(message: Value) -> Result<Completion, ProviderErrorKind> {
    completion("m", &json!({"id": "r1", "choices": [{"message": message, "finish_reason": "stop"}]}))
}

#[test]
fn a_whole_turn_is_sent_in_the_apis_format() {
    let prompt = Prompt {
        system: "Be kind.".into(),
        messages: vec![
            user("crop both", vec![picture(1)]),
            assistant("On it.", vec![call("c1", "crop_image", "{\"a\": 1}"), call("c2", "crop_image", "{}")]),
            tool("c1", "one"),
            tool("c2", "two"),
        ],
        tools: vec![ToolSpec {
            name: "crop_image",
            progress: "",
            description: "Crops.",
            parameters: json!({"type": "object"}),
        }],
        ..Prompt::default()
    };
    assert_eq!(
        request(&settings("gpt"), &prompt, &loaded_pictures(&[1])),
        json!({
            "model": "gpt",
            "stream": false,
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": [
                    {"type": "text", "text": "crop both"},
                    {"type": "text", "text": format!("[Attachment ID: {A}]")},
                    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAE="}},
                ]},
                {"role": "assistant", "content": "On it.", "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "crop_image", "arguments": "{\"a\": 1}"}},
                    {"id": "c2", "type": "function", "function": {"name": "crop_image", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "c1", "content": "one"},
                {"role": "tool", "tool_call_id": "c2", "content": "two"},
            ],
            "tools": [{"type": "function", "function": {
                "name": "crop_image", "description": "Crops.", "parameters": {"type": "object"},
            }}],
        })
    );
}

#[test]
fn empty_tools_and_system_prompt_are_omitted() {
    let prompt = Prompt { messages: vec![user("hi", vec![])], ..Prompt::default() };
    let expected = json!({"model": "m", "stream": false, "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(request(&settings("m"), &prompt, &loaded_pictures(&[])), expected);
}

#[test]
fn a_call_without_a_result_is_interrupted_and_stray_results_are_dropped() {
    let messages = sent(
        vec![
            tool("c0", "stray"),
            assistant("", vec![call("c1", "look", "{}"), call("c2", "look", "{}")]),
            tool("c2", "seen"),
            tool("c9", "stray"),
            tool("c2", "again"),
            user("stop", vec![]),
            tool("c1", "late"),
        ],
        &[],
    );
    let look = |id| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}});
    assert_eq!(
        messages,
        json!([
            {"role": "assistant", "content": null, "tool_calls": [look("c1"), look("c2")]},
            {"role": "tool", "tool_call_id": "c1", "content": "(interrupted)"},
            {"role": "tool", "tool_call_id": "c2", "content": "seen"},
            {"role": "user", "content": "stop"},
        ])
    );
}

#[test]
fn an_empty_assistant_message_is_not_sent() {
    assert_eq!(sent(vec![assistant("", vec![])], &[]), json!([]));
    assert_eq!(sent(vec![assistant("hi", vec![])], &[]), json!([{"role": "assistant", "content": "hi"}]));
}

#[test]
fn invalid_names_ids_and_arguments_are_replaced() {
    let sent_back = |name, arguments| {
        sent(vec![assistant("", vec![call("c", name, arguments)])], &[])[0]["tool_calls"][0]["function"]
            .take()
    };
    for broken in ["", "{\"a\":", "[1]", "null", "crop it"] {
        assert_eq!(sent_back("crop", broken), json!({"name": "crop", "arguments": "{}"}), "{broken:?}");
    }
    assert_eq!(sent_back("fn.crop ü", "{ }"), json!({"name": "fn_crop__", "arguments": "{ }"}));
    assert_eq!(sent_back("", "{}")["name"], "unnamed");
    assert_eq!(sent_back(&"x".repeat(99), "{}")["name"], "x".repeat(64));
}

#[test]
fn pictures_of_results_follow_in_one_message() {
    let messages = sent(
        vec![
            assistant("", vec![call("c1", "look", "{}"), call("c2", "look", "{}")]),
            tool_showing("c1", "one", vec![picture(1)]),
            tool_showing("c2", "two", vec![picture(2)]),
        ],
        &[1, 2],
    );
    let roles: Vec<_> = messages.as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["assistant", "tool", "tool", "user"]);
    let parts = messages[3]["content"].as_array().unwrap();
    let urls: Vec<_> = parts.iter().filter_map(|part| part["image_url"]["url"].as_str()).collect();
    assert_eq!(urls, ["data:image/jpeg;base64,AAE=", "data:image/jpeg;base64,AAI="]);
    assert_eq!(parts[0]["text"], format!("[Attachment ID: {A}]"));
}

#[test]
fn reasoning_is_sent_back_to_the_same_model_only() {
    let details = json!([{"type": "reasoning.encrypted", "data": "abc"}]);
    let read = answer(json!({"content": "hi", "reasoning_details": details})).unwrap();
    let said = |model: &str| {
        let message = PromptMessage::Assistant {
            text: "hi".into(),
            tool_calls: vec![],
            provider_metadata: read.provider_metadata.clone(),
        };
        let prompt = Prompt { messages: vec![message], ..Prompt::default() };
        request(&settings(model), &prompt, &loaded_pictures(&[]))["messages"][0].take()
    };
    assert_eq!(said("m")["reasoning_details"], details);
    assert_eq!(said("other").get("reasoning_details"), None);
}

#[test]
fn a_streamed_response_equals_a_whole_one() {
    let chunk =
        |delta: Value| json!({"id": "r1", "model": "m2", "choices": [{"delta": delta}], "usage": null});
    let named = |index: u64, id: &str| json!({"index": index, "id": id, "function": {"name": "crop", "arguments": ""}});
    let argued = |index: u64, piece: &str| json!({"index": index, "function": {"arguments": piece}});
    let events = [
        chunk(json!({"role": "assistant", "content": ""})),
        chunk(json!({"content": "Crop"})),
        chunk(json!({"content": "ping."})),
        chunk(json!({"tool_calls": [named(0, "c1")]})),
        chunk(json!({"tool_calls": [argued(0, "{\"a\""), named(1, "c2")]})),
        chunk(json!({"tool_calls": [argued(1, "{}"), argued(0, ": 1}")]})),
        json!({"id": "r1", "choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
        json!({"id": "r1", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
    ];
    let mut stream = Box::<OpenAiStream>::default();
    let heard: String = events.iter().map(|event| stream.push(event).unwrap()).collect();
    let read = completion("m", &stream.finish().unwrap()).unwrap();
    assert_eq!((heard.as_str(), read.text.as_str()), ("Cropping.", "Cropping."));
    assert_eq!(read.tool_calls, [call("c1", "crop", "{\"a\": 1}"), call("c2", "crop", "{}")]);
    assert_eq!((read.usage.model.as_str(), read.usage.input_tokens), ("m2", Some(5)));

    let mut half = Box::<OpenAiStream>::default();
    half.push(&chunk(json!({"content": "Crop"}))).unwrap();
    assert_eq!(half.finish(), None, "the model had not finished");
}

#[test]
fn calls_without_an_index_are_separated_by_id() {
    let chunk = |call: Value| json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": null}]});
    let mut stream = Box::<OpenAiStream>::default();
    for call in [
        json!({"id": "a", "function": {"name": "crop", "arguments": {"x": 1}}}),
        json!({"id": "b", "function": {"name": "look", "arguments": "{\"y\":"}}),
        json!({"function": {"arguments": "2}"}}),
    ] {
        stream.push(&chunk(call)).unwrap();
    }
    stream.push(&json!({"choices": [{"delta": {}, "finish_reason": "stop"}]})).unwrap();
    let read = completion("m", &stream.finish().unwrap()).unwrap();
    assert_eq!(read.tool_calls, [call("a", "crop", "{\"x\":1}"), call("b", "look", "{\"y\":2}")]);
}

#[test]
fn captions_match_their_pictures_if_one_is_missing() {
    let messages = sent(vec![user("", vec![picture(1), picture(2)])], &[2]);
    let label = json!({"type": "text", "text": format!("[Attachment ID: {B}]")});
    let pixels = json!({"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAI="}});
    assert_eq!(messages[0]["content"], json!([label, pixels]));
    let marker = format!("[Attachment ID: {A}]");
    assert_eq!(sent(vec![user(&marker, vec![picture(1)])], &[])[0]["content"], json!(marker));
}

#[test]
fn text_calls_and_tokens_are_read() {
    let response = json!({
        "id": "r1", "model": "gpt-x-2026",
        "choices": [{"finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "Cropping.", "refusal": null,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "crop", "arguments": "{oops"}}],
        }}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3},
    });
    let expected = Completion {
        text: "Cropping.".into(),
        tool_calls: vec![call("c1", "crop", "{oops")],
        usage: Usage {
            provider: "openai",
            model: "gpt-x-2026".into(),
            input_tokens: Some(12),
            output_tokens: Some(3),
            cached_input_tokens: None,
        },
        provider_metadata: None,
    };
    assert_eq!(completion("gpt-x", &response).unwrap(), expected);
}

#[test]
fn responses_of_compatible_servers_are_read() {
    let parts = json!({"content": [{"type": "text", "text": "a"}, {"type": "thinking"}, {"type": "text", "text": "b"}]});
    let completion = answer(parts).unwrap();
    assert_eq!(completion.text, "ab");
    assert_eq!(completion.usage.model, "m");
    let calls = json!({"tool_calls": [
        {"function": {"name": "crop", "arguments": {"a": 1}}},
        {"id": "", "function": {"name": "crop", "arguments": {"a": 1}}},
        {"id": "x", "function": {"name": "look"}},
        {"id": "x", "function": {"name": "look"}},
    ]});
    let read = answer(calls.clone()).unwrap().tool_calls;
    let arguments: Vec<_> = read.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, ["{\"a\":1}", "{\"a\":1}", "{}", "{}"]);
    let ids: std::collections::HashSet<_> = read.iter().map(|call| &call.id).collect();
    assert_eq!(ids.len(), 4);
    assert!(ids.iter().all(|id| (1..=40).contains(&id.len())));
    assert_eq!(answer(calls).unwrap().tool_calls, read, "made-up ids are the same each time");
}

#[test]
fn every_form_of_refusal_is_recognised() {
    let filtered = json!({"choices": [{"message": {"content": "Su"}, "finish_reason": "content_filter"}]});
    let refused = [
        answer(json!({"content": null, "refusal": "No."})),
        answer(json!({"content": [{"type": "refusal", "refusal": "No."}]})),
        completion("m", &filtered),
    ];
    for result in refused {
        assert!(matches!(result, Err(ProviderErrorKind::Refused)), "{result:?}");
    }
    assert_eq!(answer(json!({"content": "Yes.", "refusal": ""})).unwrap().text, "Yes.");
}

#[test]
fn a_length_stop_without_text_means_too_long() {
    let cut = |text| json!({"choices": [{"message": {"content": text}, "finish_reason": "length"}]});
    assert!(matches!(completion("m", &cut("")), Err(ProviderErrorKind::TooLong)));
    assert_eq!(completion("m", &cut("Half a")).unwrap().text, "Half a");
}

#[test]
fn garbage_is_an_invalid_response_and_never_a_panic() {
    let garbage = [
        json!(null),
        json!([]),
        json!("hello"),
        json!({}),
        json!({"choices": []}),
        json!({"choices": {}}),
        json!({"choices": [null]}),
        json!({"choices": [{"message": null}]}),
        json!({"choices": [{"message": {"content": 7}}]}),
        json!({"choices": [{"message": {"tool_calls": "crop"}}]}),
        json!({"choices": [{"message": {"tool_calls": [null]}}]}),
        json!({"choices": [{"message": {"tool_calls": [{"id": "c", "function": {}}]}}]}),
    ];
    for response in garbage {
        let result = completion("m", &response);
        assert!(matches!(result, Err(ProviderErrorKind::InvalidResponse(_))), "{response}: {result:?}");
    }
}

#[test]
fn errors_are_found_in_every_place() {
    let found = |response: Value| parse_error(&response).map(|f| (f.status, f.kind, f.message));
    let is = |status, kind: &str, message: &str| Some((status, kind.to_owned(), message.to_owned()));
    assert_eq!(
        found(json!({"error": {"message": "m", "type": "t", "code": "c", "param": null}})),
        is(None, "c t", "m")
    );
    assert_eq!(found(json!({"error": "no such model"})), is(None, "", "no such model"));
    assert_eq!(found(json!({"error": {"message": "slow", "code": 429}})), is(Some(429), "", "slow"));
    assert_eq!(
        found(json!({"choices": [{"error": {"message": "up", "code": 502}}]})),
        is(Some(502), "", "up")
    );
    assert_eq!(found(json!({"object": "error", "message": "v", "code": 400})), is(Some(400), "", "v"));
    assert_eq!(found(json!({"error": null, "choices": [{"message": {"content": "hi"}}]})), None);
    assert_eq!(found(json!([1])), None);
}
