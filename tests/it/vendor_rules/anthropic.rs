//! The stand-in for Anthropic refuses the requests that Anthropic refuses, and no others.

use crate::harness::rules::anthropic::complaint;
use serde_json::{Value, json};

/// A photo, two calls with a picture in one result, and the next question.
fn turn() -> Value {
    let picture =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AAE="}});
    let pdf = json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAE="}});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "crop_image", "input": {}});
    json!({
        "model": "claude", "max_tokens": 9000, "stream": true,
        "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "crop_image", "description": "Crops.", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "crop both"}, picture, pdf]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "", "signature": "abc"},
                {"type": "text", "text": "On it."},
                call("toolu_1"),
                call("toolu_2"),
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "one"}, picture]},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "Error: no", "is_error": true},
            ]},
        ],
    })
}

/// The error message for the turn after this change.
fn said(change: impl FnOnce(&mut Value)) -> String {
    let mut request = turn();
    change(&mut request);
    complaint(&request).unwrap_or_default()
}

fn remove(value: &mut Value, field: &str) {
    value.as_object_mut().unwrap().remove(field);
}

#[test]
fn a_valid_turn_is_accepted() {
    assert_eq!(complaint(&turn()), None);
    let plain = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(complaint(&plain), None);
}

#[test]
fn missing_required_fields_are_refused() {
    assert_eq!(said(|r| remove(r, "model")), "model: Field required");
    assert_eq!(said(|r| remove(r, "max_tokens")), "max_tokens: Field required");
    assert_eq!(said(|r| r["messages"] = json!([])), "messages: at least one message is required");
    assert!(said(|r| remove(r, "tools")).contains("must define `tools`"));
    assert!(
        said(|r| r["messages"][0] = r["messages"][1].clone())
            .contains("first message must use the \"user\" role")
    );
    let doubled =
        said(|r| r["messages"].as_array_mut().unwrap().insert(0, json!({"role": "user", "content": "a"})));
    assert!(doubled.contains("roles must alternate"), "{doubled}");
    let prefilled =
        said(|r| r["messages"].as_array_mut().unwrap().push(json!({"role": "assistant", "content": "Su"})));
    assert!(prefilled.contains("must end with a user message"), "{prefilled}");
}

#[test]
fn empty_content_is_refused() {
    let empty = "messages: text content blocks must be non-empty";
    assert_eq!(said(|r| r["messages"][0]["content"][0]["text"] = "".into()), empty);
    assert_eq!(said(|r| r["messages"][2]["content"][0]["content"][0]["text"] = "".into()), empty);
    assert!(said(|r| r["messages"][1]["content"][1]["text"] = " \n".into()).contains("non-whitespace"));
    assert!(said(|r| r["messages"][0]["content"] = json!([])).contains("non-empty content"));
    assert!(said(|r| r["messages"][0]["content"] = json!("")).contains("non-empty content"));
    assert!(said(|r| r["system"][0]["text"] = "".into()).starts_with("system: "));
}

#[test]
fn results_must_come_first_in_the_message_after_their_calls() {
    let results = |r: &mut Value| r["messages"][2]["content"].as_array_mut().unwrap().clone();
    let missing = said(|r| r["messages"][2]["content"] = json!([results(r)[0]]));
    assert!(
        missing.starts_with(
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_2."
        ),
        "{missing}"
    );
    let late = said(|r| {
        let [one, two] = results(r).try_into().unwrap();
        r["messages"][2]["content"] = json!([one, {"type": "text", "text": "and"}, two]);
    });
    assert!(late.contains("before any other block"), "{late}");
    let stray = said(|r| r["messages"][2]["content"][1]["tool_use_id"] = "toolu_9".into());
    assert!(stray.contains("unexpected `tool_use_id` found in `tool_result` blocks: toolu_9"), "{stray}");
    let twice = said(|r| r["messages"][2]["content"][1]["tool_use_id"] = "toolu_1".into());
    assert!(twice.contains("single result"), "{twice}");
    let same = said(|r| {
        r["messages"][1]["content"][3]["id"] = "toolu_1".into();
        r["messages"][2]["content"] = json!([results(r)[0]]);
    });
    assert!(same.contains("`tool_use` ids must be unique"), "{same}");
    let strange = said(|r| r["messages"][1]["content"][2]["id"] = "call 1".into());
    assert!(strange.contains("String should match pattern '^[a-zA-Z0-9_-]+$'"), "{strange}");
    assert!(said(|r| r["messages"][1]["content"][2]["input"] = "{}".into()).contains("valid dictionary"));
    assert!(said(|r| r["messages"][1]["content"][2]["name"] = "crop image".into()).contains("tool_use.name"));
}

#[test]
fn unsupported_or_too_many_pictures_are_refused() {
    let source = |r: &mut Value, field: &str, value: &str| {
        r["messages"][0]["content"][1]["source"][field] = value.into()
    };
    assert!(said(|r| source(r, "media_type", "image/heic")).contains("media_type"));
    assert!(said(|r| source(r, "data", "not base64!")).contains("invalid base64"));
    assert!(said(|r| source(r, "data", &"A".repeat(6 << 20))).contains("exceeds 5 MB"));
    assert!(
        said(|r| r["messages"][0]["content"][2]["source"]["media_type"] = "text/html".into()).contains("pdf")
    );
    assert!(
        said(|r| r["messages"][2]["content"][0]["is_error"] = true.into()).contains("must be type `text`")
    );
    let many = said(|r| {
        let picture = r["messages"][0]["content"][1].clone();
        r["messages"][0]["content"].as_array_mut().unwrap().extend(std::iter::repeat_n(picture, 99));
    });
    assert!(many.contains("101 > 100"), "{many}");
    let wrong_side = said(|r| r["messages"][1]["content"][1] = r["messages"][0]["content"][1].clone());
    assert!(wrong_side.contains("only be in `user`"), "{wrong_side}");
}

#[test]
fn tools_need_a_valid_name_and_an_object_schema() {
    assert!(said(|r| r["tools"][0]["name"] = "crop image".into()).contains("tools.0.custom.name"));
    assert!(
        said(|r| r["tools"][0]["input_schema"] = json!({"type": "string"})).contains("should be 'object'")
    );
    assert!(said(|r| r["tools"][0]["input_schema"]["anyOf"] = json!([])).contains("anyOf"));
    assert!(said(|r| r["tools"] = json!([r["tools"][0], r["tools"][0]])).contains("unique"));
}

#[test]
fn thinking_must_be_signed_first_in_the_turn_and_below_the_token_limit() {
    let thinks = |r: &mut Value| r["thinking"] = json!({"type": "enabled", "budget_tokens": 2000});
    assert_eq!(said(thinks), "");
    assert!(
        said(|r| remove(&mut r["messages"][1]["content"][0], "signature"))
            .contains("signature: Field required")
    );
    let gone = said(|r| {
        thinks(r);
        r["messages"][1]["content"].as_array_mut().unwrap().remove(0);
    });
    assert!(gone.starts_with(
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`"
    ));
    let later = said(|r| {
        thinks(r);
        let more = json!([
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_3", "name": "crop_image", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_3", "content": "three"}]},
        ]);
        r["messages"].as_array_mut().unwrap().extend(more.as_array().unwrap().clone());
    });
    assert_eq!(later, "", "the model thinks once in a turn");
    let warm = said(|r| {
        thinks(r);
        r["temperature"] = json!(0.5);
    });
    assert!(warm.contains("temperature"), "{warm}");
    let tight = said(|r| {
        thinks(r);
        r["max_tokens"] = json!(2000);
    });
    assert!(tight.contains("must be greater than `thinking.budget_tokens`"), "{tight}");
}

#[test]
fn more_than_four_cache_breakpoints_are_refused() {
    let marked = said(|r| {
        for at in 0..2 {
            r["messages"][2]["content"][at]["cache_control"] = json!({"type": "ephemeral"});
            r["messages"][0]["content"][at]["cache_control"] = json!({"type": "ephemeral"});
        }
    });
    assert!(marked.contains("Found 5"), "{marked}");
}
