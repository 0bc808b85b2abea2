//! Thinking that is received, stored and sent back; streamed responses.

use super::*;

const MODEL: &str = "claude-test";

fn thought(text: &str) -> Value {
    json!({"type": "thinking", "thinking": text, "signature": format!("signed {text}")})
}

fn hidden() -> Value {
    json!({"type": "redacted_thinking", "data": "xyz"})
}

/// An answer as it is stored: with the fingerprint of its request.
fn stored(request: &Value, content: Value) -> PromptMessage {
    let read = completion(MODEL, &json!({"id": "r1", "content": content})).unwrap();
    let mut provider_metadata = read.provider_metadata;
    if let Some(kept) = &mut provider_metadata {
        kept["seal"] = Vendor::Anthropic.fingerprint(request).unwrap().into();
    }
    PromptMessage::Assistant { text: read.text, tool_calls: read.tool_calls, provider_metadata }
}

fn prompt(messages: &[PromptMessage]) -> Prompt {
    Prompt {
        system: "Be kind.".into(),
        messages: messages.to_vec(),
        tools: vec![crop()],
        ..Prompt::default()
    }
}

fn request_of(model: &str, options: Value, prompt: &Prompt) -> Value {
    let options = options.as_object().unwrap().clone();
    let settings = ModelSettings { temperature: Some(0.5), options, ..settings(model) };
    let request = Vendor::Anthropic.request(&settings, prompt, &loaded_pictures(&[1]));
    assert_eq!(rules::complaint(&request), None, "{request:#}");
    request
}

fn thinks(request: &Value) -> Vec<&Value> {
    let blocks =
        request["messages"].as_array().unwrap().iter().flat_map(|m| m["content"].as_array().unwrap());
    blocks.filter(|block| block["type"].as_str().unwrap().ends_with("thinking")).collect()
}

/// A question, a call with thinking, and its result.
fn one_step() -> Vec<PromptMessage> {
    let mut messages = vec![user("crop it", vec![picture(1)])];
    let first = request_of(MODEL, json!({}), &prompt(&messages));
    let content = json!([
        thought("Hm."), says("On "), hidden(), says("it."), {"type": "tool_use", "id": "t1", "name": "crop_image", "input": {}},
        thought("Also."), {"type": "tool_use", "id": "t2", "name": "crop_image", "input": {}},
    ]);
    messages.extend([stored(&first, content), tool("t1", "done"), tool("t2", "done")]);
    messages
}

#[test]
fn thinking_is_sent_back_unchanged_in_its_place() {
    let request = request_of(MODEL, json!({}), &prompt(&one_step()));
    assert_eq!(
        request["messages"][1]["content"],
        json!([
            thought("Hm."),
            says("On "),
            hidden(),
            says("it."),
            uses("t1", "crop_image"),
            thought("Also."),
            uses("t2", "crop_image"),
        ])
    );
}

#[test]
fn thinking_is_not_sent_to_another_model() {
    let request = request_of("claude-other", json!({}), &prompt(&one_step()));
    assert_eq!(
        request["messages"][1]["content"],
        json!([says("On it."), uses("t1", "crop_image"), uses("t2", "crop_image")])
    );
}

#[test]
fn thinking_is_not_sent_back_after_a_change_before_it() {
    let mut messages = one_step();
    let second = request_of(MODEL, json!({}), &prompt(&messages));
    messages.push(stored(&second, json!([thought("Done."), says("Cropped.")])));
    messages.push(user("and now?", vec![]));
    let grown = prompt(&messages);
    assert_eq!(thinks(&request_of(MODEL, json!({}), &grown)).len(), 4);
    let mut other_rules = grown.clone();
    other_rules.system = "Be brief.".into();
    let mut other_tools = grown.clone();
    other_tools.tools.clear();
    let mut cut = grown.clone();
    cut.messages.remove(0);
    for changed in [other_rules, other_tools, cut] {
        assert!(thinks(&request_of(MODEL, json!({}), &changed)).is_empty());
    }
    let mut half = grown.clone();
    half.messages[2] = tool("t1", "another result");
    assert_eq!(
        thinks(&request_of(MODEL, json!({}), &half)).len(),
        3,
        "what came before the change is as it was"
    );
    let no_longer_seen = Vendor::Anthropic.request(&settings(MODEL), &grown, &loaded_pictures(&[]));
    assert!(thinks(&no_longer_seen).is_empty());
}

#[test]
fn thinking_is_dropped_if_the_bot_added_text() {
    let mut messages = one_step();
    let PromptMessage::Assistant { text, .. } = &mut messages[1] else { panic!() };
    text.insert_str(0, "One file was too large.\n\n");
    let request = request_of(MODEL, json!({}), &prompt(&messages));
    assert!(thinks(&request).is_empty());
    assert_eq!(request["messages"][1]["content"][0], says("One file was too large.\n\nOn it."));
}

#[test]
fn a_thinking_budget_raises_max_tokens_and_removes_the_temperature() {
    let budget = json!({"thinking": {"type": "enabled", "budget_tokens": 20_000}});
    let request = request_of("m", budget.clone(), &prompt(&[user("hi", vec![])]));
    assert_eq!((&request["max_tokens"], request.get("temperature")), (&json!(36_384), None));
    assert_eq!(request["thinking"], budget["thinking"]);
    let roomy = json!({"max_tokens": 30_000, "thinking": {"type": "enabled", "budget_tokens": 10_000}});
    assert_eq!(request_of("m", roomy, &prompt(&[user("hi", vec![])]))["max_tokens"], 30_000);
    let plain = request_of("m", json!({"max_tokens": 99}), &prompt(&[user("hi", vec![])]));
    assert_eq!((&plain["max_tokens"], &plain["temperature"]), (&json!(99), &json!(0.5)));
}

#[test]
fn calls_of_another_model_disable_the_thinking_budget() {
    let budget = json!({"thinking": {"type": "enabled", "budget_tokens": 2000}});
    let own = request_of(MODEL, budget.clone(), &prompt(&one_step()));
    assert_eq!((thinks(&own).len(), own["thinking"].is_object()), (3, true));

    let foreign = request_of("m", budget.clone(), &prompt(&one_step()));
    assert_eq!((foreign.get("thinking"), &foreign["temperature"]), (None, &json!(0.5)));

    let mut next_turn = one_step();
    next_turn.extend([assistant("Cropped.", vec![]), user("thanks", vec![])]);
    assert!(request_of("m", budget.clone(), &prompt(&next_turn))["thinking"].is_object());

    let mut later_step = one_step();
    later_step.extend([assistant("", vec![call("t3", "crop_image", "{}")]), tool("t3", "done")]);
    assert!(request_of(MODEL, budget.clone(), &prompt(&later_step))["thinking"].is_object());

    // The turn before was thought about, this one was not: then nothing of it may be in the request.
    let mut mixed = next_turn;
    mixed.extend([assistant("", vec![call("t3", "crop_image", "{}")]), tool("t3", "done")]);
    let mixed = request_of(MODEL, budget, &prompt(&mixed));
    assert_eq!((mixed.get("thinking"), thinks(&mixed).len()), (None, 0));
}

#[test]
fn adaptive_thinking_is_allowed_after_any_calls() {
    let adaptive = json!({"thinking": {"type": "adaptive"}});
    let request = request_of("m", adaptive, &prompt(&one_step()));
    assert_eq!((&request["thinking"]["type"], request.get("temperature")), (&json!("adaptive"), None));
}

/// The text that a stream of these events produces, and the assembled response.
fn streamed(events: &[Value]) -> (String, Option<Value>) {
    let mut stream = Box::<AnthropicStream>::default();
    let heard = events.iter().map(|event| stream.push(event).unwrap()).collect();
    (heard, stream.finish())
}

fn begins(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn grows(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn start() -> Value {
    let usage = json!({"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 1});
    json!({"type": "message_start", "message": {"id": "msg_1", "model": "claude-2", "content": [], "usage": usage}})
}

fn end(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 42}})
}

#[test]
fn a_streamed_response_equals_a_whole_one() {
    let events = [
        start(),
        begins(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        json!({"type": "ping"}),
        grows(0, json!({"type": "thinking_delta", "thinking": "H"})),
        grows(0, json!({"type": "thinking_delta", "thinking": "m."})),
        grows(0, json!({"type": "signature_delta", "signature": "signed Hm."})),
        json!({"type": "content_block_stop", "index": 0}),
        begins(1, hidden()),
        begins(2, says("Crop")),
        grows(2, json!({"type": "text_delta", "text": "ping"})),
        grows(2, json!({"type": "citations_delta", "citation": {}})),
        grows(2, json!({"type": "text_delta", "text": "."})),
        begins(3, uses("t1", "crop_image")),
        grows(3, json!({"type": "input_json_delta", "partial_json": ""})),
        grows(3, json!({"type": "input_json_delta", "partial_json": "{\"a\""})),
        begins(4, uses("t2", "crop_image")),
        grows(3, json!({"type": "input_json_delta", "partial_json": ": 1}"})),
        json!({"type": "something_new", "index": 9}),
        end("tool_use"),
        json!({"type": "message_stop"}),
    ];
    let (heard, whole) = streamed(&events);
    let whole = whole.unwrap();
    let content = json!([
        thought("Hm."), hidden(), says("Cropping."),
        {"type": "tool_use", "id": "t1", "name": "crop_image", "input": {"a": 1}}, uses("t2", "crop_image"),
    ]);
    assert_eq!((heard.as_str(), &whole["content"]), ("Cropping.", &content));
    let read = completion("m", &whole).unwrap();
    assert_eq!(read.text, "Cropping.");
    assert_eq!(read.tool_calls, [call("t1", "crop_image", "{\"a\":1}"), call("t2", "crop_image", "{}")]);
    assert_eq!((read.usage.input_tokens, read.usage.output_tokens), (Some(12), Some(42)));
    assert_eq!(read.usage.model, "claude-2");
    assert_eq!(read.provider_metadata.unwrap()["content"][0], thought("Hm."));
}

#[test]
fn an_unfinished_stream_is_no_response() {
    let mut events = vec![start(), begins(0, says("Half a "))];
    assert_eq!(streamed(&events), ("Half a ".into(), None));
    events.push(json!({"type": "content_block_stop", "index": 0}));
    assert_eq!(streamed(&events).1, None);
    events.push(end("end_turn"));
    assert!(streamed(&events).1.is_some(), "only the farewell is missing");
    assert_eq!(streamed(&[]).1, None);
}

#[test]
fn a_refusal_in_a_stream_is_a_refusal() {
    let (_, whole) = streamed(&[start(), begins(0, says("Sure, ")), end("refusal")]);
    assert!(matches!(completion("m", &whole.unwrap()), Err(ProviderErrorKind::Refused)));
}

#[test]
fn invalid_arguments_are_kept_for_the_tool() {
    let json = |text: &str| grows(0, json!({"type": "input_json_delta", "partial_json": text}));
    let (_, whole) =
        streamed(&[begins(0, uses("t1", "crop_image")), json("{\"a\": "), json("oops"), end("tool_use")]);
    assert_eq!(
        completion("m", &whole.unwrap()).unwrap().tool_calls,
        [call("t1", "crop_image", "{\"a\": oops")]
    );
}

#[test]
fn garbage_in_a_stream_never_panics() {
    let orphan = grows(0, json!({"type": "text_delta", "text": "hi"}));
    assert!(matches!(AnthropicStream::default().push(&orphan), Err(ProviderErrorKind::InvalidResponse(_))));
    let mut stream = AnthropicStream::default();
    stream.push(&begins(0, json!(7))).unwrap();
    assert!(matches!(stream.push(&orphan), Err(ProviderErrorKind::InvalidResponse(_))));
    for event in [
        json!(null),
        json!([]),
        json!({"type": 7}),
        json!({"type": "message_start"}),
        json!({"type": "message_delta", "usage": 1}),
    ] {
        assert_eq!(stream.push(&event).unwrap(), "", "{event}");
    }
}
