//! Exact requests, parsed responses, and the API's rules for any history.

// The rules that the test server for this API checks, too.
#[path = "../../../../../tests/harness/rules/anthropic.rs"]
mod rules;
mod thinking;

use super::super::samples::{assistant, call, loaded_pictures, picture, settings, tool, tool_showing, user};
use super::super::{StreamAssembler as _, Vendor};
use super::*;
use crate::providers::{LoadedFile, ShownFile, ToolSpec};
use proptest::prelude::*;

const A: &str = "00000000-0000-0000-0000-000000000001";
const B: &str = "00000000-0000-0000-0000-000000000002";

/// The request to a model "m" without tools, as it leaves, checked by the API's rules.
fn asked(messages: Vec<PromptMessage>, pictures: &[u128]) -> Value {
    let prompt = Prompt { messages, ..Prompt::default() };
    let request = Vendor::Anthropic.request(&settings("m"), &prompt, &loaded_pictures(pictures));
    assert_eq!(rules::complaint(&request), None, "{request:#}");
    request
}

/// Its messages, without the cache mark that is always on the last block.
fn sent(messages: Vec<PromptMessage>, pictures: &[u128]) -> Value {
    let mut messages = asked(messages, pictures)["messages"].take();
    let message = messages.as_array_mut().unwrap().last_mut().unwrap();
    let block = message["content"].as_array_mut().unwrap().last_mut().unwrap();
    assert_eq!(block.as_object_mut().unwrap().remove("cache_control"), Some(json!({"type": "ephemeral"})));
    messages
}

fn says(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn uses(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {}})
}

fn gives(id: &str, text: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": text})
}

fn image(data: &str) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": data}})
}

fn crop() -> ToolSpec {
    ToolSpec {
        name: "crop_image",
        progress: "",
        description: "Crops.",
        parameters: json!({"type": "object"}),
    }
}

fn answer(content: Value, stop_reason: &str) -> Result<Completion, ProviderErrorKind> {
    completion("m", &json!({"id": "r1", "content": content, "stop_reason": stop_reason}))
}

#[test]
fn a_whole_turn_is_sent_in_the_apis_format() {
    let prompt = Prompt {
        system: "Be kind.".into(),
        messages: vec![
            user("crop both", vec![picture(1)]),
            assistant("On it.", vec![call("c1", "crop_image", "{\"a\": 1}"), call("c2", "crop_image", "{}")]),
            tool_showing("c1", "one", vec![picture(2)]),
            tool("c2", "Error: too small."),
        ],
        tools: vec![crop()],
        ..Prompt::default()
    };
    let settings = ModelSettings { temperature: Some(0.5), ..settings("claude-sonnet-4-5-20250929") };
    let mark = json!({"type": "ephemeral"});
    let request = Vendor::Anthropic.request(&settings, &prompt, &loaded_pictures(&[1, 2]));
    assert_eq!(rules::complaint(&request), None);
    assert_eq!(
        request,
        json!({
            "model": "claude-sonnet-4-5-20250929",
            "max_tokens": 16384,
            "stream": false,
            "temperature": 0.5,
            "system": [{"type": "text", "text": "Be kind.", "cache_control": mark}],
            "tools": [{
                "name": "crop_image", "description": "Crops.", "input_schema": {"type": "object"},
                "cache_control": mark,
            }],
            "messages": [
                {"role": "user", "content": [
                    says("crop both"), says(&format!("[Attachment ID: {A}]")), image("AAE="),
                ]},
                {"role": "assistant", "content": [
                    says("On it."),
                    {"type": "tool_use", "id": "c1", "name": "crop_image", "input": {"a": 1}},
                    uses("c2", "crop_image"),
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [
                        says("one"), says(&format!("[Attachment ID: {B}]")), image("AAI="),
                    ]},
                    {
                        "type": "tool_result", "tool_use_id": "c2", "content": "Error: too small.",
                        "is_error": true, "cache_control": mark,
                    },
                ]},
            ],
        })
    );
}

#[test]
fn results_come_first_and_later_text_joins_their_message() {
    let messages = sent(
        vec![
            user("look", vec![]),
            assistant("", vec![call("c1", "look", "{}"), call("c2", "look", "{}")]),
            tool("c2", "seen"),
            tool("c9", "stray"),
            user("stop", vec![]),
            user("now", vec![picture(1)]),
        ],
        &[1],
    );
    assert_eq!(
        messages,
        json!([
            {"role": "user", "content": [says("look")]},
            {"role": "assistant", "content": [uses("c1", "look"), uses("c2", "look")]},
            {"role": "user", "content": [
                gives("c1", "(interrupted)"), gives("c2", "seen"),
                says("stop"), says("now"), says(&format!("[Attachment ID: {A}]")), image("AAE="),
            ]},
        ])
    );
}

#[test]
fn a_cut_history_begins_and_ends_with_the_user() {
    let expected = json!([
        {"role": "user", "content": [says("(What was said before this is left out.)")]},
        {"role": "assistant", "content": [says("Hi."), says("Anyone?")]},
        {"role": "user", "content": [says("Please go on.")]},
    ]);
    assert_eq!(sent(vec![assistant("Hi.", vec![]), assistant("Anyone?", vec![])], &[]), expected);
    let quiet = json!([{"role": "user", "content": [says("Please go on.")]}]);
    for empty in [vec![], vec![tool("c1", "stray")], vec![assistant(" ", vec![])]] {
        assert_eq!(sent(empty, &[]), quiet);
    }
}

#[test]
fn empty_text_is_never_sent() {
    let messages = sent(
        vec![
            user("", vec![picture(1)]),
            assistant(" \n", vec![call("c1", "look", "{}"), call("c2", "look", "{}")]),
            tool("c1", ""),
            tool_showing("c2", "", vec![picture(2)]),
            assistant("", vec![]),
            user(" ", vec![]),
        ],
        &[2],
    );
    let label = says(&format!("[Attachment ID: {B}]"));
    assert_eq!(
        messages,
        json!([
            {"role": "user", "content": [says("(nothing)")]},
            {"role": "assistant", "content": [uses("c1", "look"), uses("c2", "look")]},
            {"role": "user", "content": [
                gives("c1", "(nothing)"),
                {"type": "tool_result", "tool_use_id": "c2", "content": [says("(nothing)"), label, image("AAI=")]},
                says("(nothing)"),
            ]},
        ])
    );
    assert_eq!(asked(vec![user("hi", vec![])], &[]).get("system"), None);
}

#[test]
fn a_result_with_pictures_has_no_is_error() {
    let failed = vec![
        assistant("", vec![call("c1", "look", "{}")]),
        tool_showing("c1", "Error: only one of two.", vec![picture(1)]),
    ];
    assert_eq!(sent(failed, &[1])[2]["content"][0].get("is_error"), None);
}

#[test]
fn invalid_names_and_ids_are_replaced_deterministically() {
    let used = |ids: &[&str]| {
        let calls = ids.iter().map(|id| call(id, "fn.crop ü", "{\"a\":")).collect();
        let messages = vec![
            user("x", vec![]),
            assistant("", calls),
            user("y", vec![]),
            assistant("", vec![call("c1", "", "[]")]),
        ];
        sent(messages, &[])
    };
    let ids = ["c1", "functions.crop:0", "", "c1", &"x".repeat(99)];
    let messages = used(&ids);
    let content = messages[1]["content"].as_array().unwrap();
    assert_eq!(content[0], uses("c1", "fn_crop__"));
    let results: Vec<&Value> =
        messages[2]["content"].as_array().unwrap().iter().map(|b| &b["tool_use_id"]).collect();
    let calls: Vec<&Value> = content.iter().map(|block| &block["id"]).collect();
    assert_eq!(results[..5], calls[..]);
    assert_eq!(messages[3]["content"][0]["name"], "unnamed");
    assert_ne!(messages[3]["content"][0]["id"], "c1", "an id is used once in a request");
    assert_eq!(used(&ids), messages);
}

#[test]
fn a_request_without_tools_declares_the_used_tools() {
    let request = asked(
        vec![user("x", vec![]), assistant("", vec![call("c1", "crop_image", "{}")]), tool("c1", "done")],
        &[],
    );
    assert_eq!(request["tools"][0]["name"], "crop_image");
    assert_eq!(request["tool_choice"], json!({"type": "none"}));
    let request = asked(vec![user("x", vec![])], &[]);
    assert_eq!((request.get("tools"), request.get("tool_choice")), (None, None));
}

#[test]
fn a_pdf_is_a_document_and_unsupported_types_are_dropped() {
    let shown = |number: u128, name: &str| {
        let mut file = picture(number);
        file.filename = name.into();
        ShownFile::whole(file)
    };
    let files = vec![shown(1, "plan.pdf"), shown(2, "song.mp3"), shown(3, "photo.heic")];
    let mut loaded_pictures = LoadedFiles::default();
    for (file, mime) in files.iter().zip(["application/pdf", "audio/mpeg", "image/heic"]) {
        loaded_pictures.add(file, LoadedFile { mime: mime.into(), bytes: vec![0, 1].into() });
    }
    let messages = vec![PromptMessage::User { text: "read".into(), shown: files }];
    let prompt = Prompt { messages, ..Prompt::default() };
    let request = Vendor::Anthropic.request(&settings("m"), &prompt, &loaded_pictures);
    assert_eq!(rules::complaint(&request), None);
    let source = json!({"type": "base64", "media_type": "application/pdf", "data": "AAE="});
    let document = json!({
        "type": "document", "title": "plan.pdf", "source": source, "cache_control": {"type": "ephemeral"},
    });
    let label = says(&format!("[Attachment ID: {A}]"));
    assert_eq!(request["messages"][0]["content"], json!([says("read"), label, document]));
}

#[test]
fn newer_models_get_no_temperature() {
    let given = |model: &str| {
        let settings = ModelSettings { temperature: Some(0.2), ..settings(model) };
        request(&settings, &Prompt::default(), &loaded_pictures(&[])).get("temperature").is_some()
    };
    for model in [
        "claude-3-7-sonnet-latest",
        "claude-haiku-4-5",
        "claude-sonnet-4-20250514",
        "claude-opus-4-6",
        "glm-5",
    ] {
        assert!(given(model), "{model}");
    }
    for model in [
        "claude-opus-4-7",
        "claude-sonnet-5",
        "claude-sonnet-5-5",
        "claude-opus-5-20270101",
        "claude-mythos-preview",
    ] {
        assert!(!given(model), "{model}");
    }
}

#[test]
fn text_calls_and_tokens_are_read() {
    let response = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x-2026", "stop_reason": "tool_use",
        "content": [
            says("Crop"), says("ping."), {"type": "tool_use", "id": "t1", "name": "crop", "input": {"a": 1}},
            {"type": "server_tool_use", "id": "s", "name": "search", "input": {}},
            {"type": "tool_use", "id": "t1", "name": "look"},
        ],
        "usage": {
            "input_tokens": 5, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 3,
        },
    });
    let read = completion("claude-x", &response).unwrap();
    assert_eq!(read.text, "Cropping.");
    assert_eq!(read.tool_calls[0], call("t1", "crop", "{\"a\":1}"));
    assert_eq!((read.tool_calls[1].name.as_str(), read.tool_calls[1].arguments.as_str()), ("look", "{}"));
    assert_ne!(read.tool_calls[1].id, "t1");
    let usage = Usage {
        provider: "anthropic",
        model: "claude-x-2026".into(),
        input_tokens: Some(115),
        output_tokens: Some(3),
        cached_input_tokens: Some(100),
    };
    assert_eq!((read.usage, read.provider_metadata), (usage, None));
    let uncounted = answer(json!([says("hi")]), "end_turn").unwrap().usage;
    assert_eq!((uncounted.input_tokens, uncounted.model.as_str()), (None, "m"));
}

#[test]
fn a_refusal_differs_from_a_full_context() {
    assert!(matches!(answer(json!([says("I ca")]), "refusal"), Err(ProviderErrorKind::Refused)));
    for stop in ["max_tokens", "model_context_window_exceeded"] {
        let thought = json!([{"type": "thinking", "thinking": "Hm", "signature": "s"}]);
        assert!(matches!(answer(thought, stop), Err(ProviderErrorKind::TooLong)), "{stop}");
        assert_eq!(answer(json!([says("Half a")]), stop).unwrap().text, "Half a");
    }
    assert_eq!(
        answer(json!([]), "end_turn").unwrap(),
        Completion {
            usage: Usage { provider: "anthropic", model: "m".into(), ..Usage::default() },
            ..Completion::default()
        }
    );
}

#[test]
fn garbage_is_an_invalid_response_and_never_a_panic() {
    let garbage = [
        json!(null),
        json!([]),
        json!("hello"),
        json!({}),
        json!({"content": "hi"}),
        json!({"content": {}}),
        json!({"content": [{"type": "tool_use"}]}),
        json!({"content": [{"type": "tool_use", "name": 7}]}),
    ];
    for response in garbage {
        let result = completion("m", &response);
        assert!(matches!(result, Err(ProviderErrorKind::InvalidResponse(_))), "{response}: {result:?}");
    }
    let odd = json!([null, 7, {"type": "text", "text": 7}, {"type": "thinking"}, says("ok")]);
    assert_eq!(answer(odd, "end_turn").unwrap().text, "ok");
}

#[test]
fn an_error_event_has_the_status_of_its_type() {
    let event = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "Sorry."}});
    let kinds = [
        ("invalid_request_error", 400),
        ("authentication_error", 401),
        ("billing_error", 402),
        ("permission_error", 403),
        ("not_found_error", 404),
        ("request_too_large", 413),
        ("rate_limit_error", 429),
        ("api_error", 500),
        ("overloaded_error", 529),
    ];
    for (kind, status) in kinds {
        let expected =
            ApiError { status: Some(status), kind: kind.into(), message: "Sorry.".into(), retry_after: None };
        assert_eq!(parse_error(&event(kind)), Some(expected));
    }
    assert_eq!(parse_error(&event("new_error")).unwrap().status, None);
    assert_eq!(parse_error(&json!({"error": {"message": "odd gateway"}})).unwrap().message, "odd gateway");
    assert_eq!(parse_error(&json!({"type": "error"})), Some(ApiError::default()));
    for fine in [json!({"type": "message", "content": []}), json!({"type": "ping"}), json!(null), json!([1])]
    {
        assert_eq!(parse_error(&fine), None, "{fine}");
    }
}

/// A message of any history, good or broken: ids that repeat, results of nothing, another model's thoughts.
fn any_message() -> impl Strategy<Value = PromptMessage> {
    let text = || prop::sample::select(vec!["", " ", "hello", "Error: no", "two\nlines "]);
    let id = || prop::sample::select(vec!["c1", "c2", "call 3", "", "ü"]);
    let shown = || prop::collection::vec((1..6u128).prop_map(picture), 0..3);
    let metadata = prop::sample::select(vec![
        None,
        Some(json!({"provider": "openai", "model": "m", "reasoning_details": []})),
        Some(json!({"provider": "anthropic", "model": "other", "content": [{"type": "thinking"}]})),
        Some(
            json!({"provider": "anthropic", "model": "m", "content": [{"type": "thinking"}, {"type": "tool_use"}]}),
        ),
        Some(json!({"provider": "anthropic", "model": "m", "content": "?"})),
        Some(json!({"provider": "anthropic", "model": "m", "content": [
            {"type": "thinking", "thinking": "", "signature": "s"}, says("hello"), {"type": "tool_use"},
        ]})),
        Some(json!({"provider": "anthropic", "model": "m", "content": [
            {"type": "redacted_thinking", "data": "d"}, {"type": "text", "text": " "}, {"type": "tool_use"},
        ]})),
    ]);
    let calls = prop::collection::vec((id(), prop::sample::select(vec!["crop_image", "a b", ""])), 0..3);
    prop_oneof![
        (text(), shown()).prop_map(|(text, shown)| user(text, shown)),
        (text(), calls, metadata).prop_map(|(text, calls, provider_metadata)| PromptMessage::Assistant {
            text: text.into(),
            tool_calls: calls.into_iter().map(|(id, name)| call(id, name, "{oops")).collect(),
            provider_metadata,
        }),
        (id(), text(), shown()).prop_map(|(id, text, shown)| tool_showing(id, text, shown)),
    ]
}

proptest! {
    #[test]
    fn no_history_breaks_the_apis_rules(
        messages in prop::collection::vec(any_message(), 0..12),
        system in prop::sample::select(vec!["", " ", "Be kind."]),
        offers in any::<bool>(),
        thinking in prop::sample::select(vec![
            json!(null), json!({"type": "enabled", "budget_tokens": 9000}), json!({"type": "adaptive"}),
        ]),
    ) {
        let tools = if offers { vec![crop()] } else { Vec::new() };
        let prompt = Prompt { system: system.into(), messages, tools, ..Prompt::default() };
        let mut settings = ModelSettings { temperature: Some(0.5), ..settings("m") };
        if !thinking.is_null() {
            settings.options.insert("thinking".into(), thinking);
        }
        let request = Vendor::Anthropic.request(&settings, &prompt, &loaded_pictures(&[1, 2, 3]));
        prop_assert_eq!(rules::complaint(&request), None, "{:#}", request);
    }
}
