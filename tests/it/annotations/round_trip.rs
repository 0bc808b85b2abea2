//! Property test: an imported history is read back unchanged.

use super::*;
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

/// Any text of a person or of the agent.
fn words() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{0,40}", "\\PC{0,40}", "[a-z]{1,9}\n\n[# *`<>&]{1,9}"]
}

fn notes() -> impl Strategy<Value = (Vec<Value>, Vec<String>)> {
    let reference = ("[a-z0-9/]{1,20}", prop::option::of(words()), any::<Option<bool>>()).prop_map(
        |(path, title, bonus)| {
            let mut reference = json!({ "url": format!("https://example.org/{path}") });
            if let Some(title) = title {
                reference["title"] = json!(title);
            }
            if let Some(bonus) = bonus {
                reference["bonus"] = json!(bonus);
            }
            reference
        },
    );
    let tags = prop::collection::btree_set("[a-z]{1,5}(:[a-z0-9]{1,5})?", 0..3);
    (prop::collection::vec(reference, 0..3), tags.prop_map(|tags| tags.into_iter().collect()))
}

fn time() -> impl Strategy<Value = String> {
    (0..1_700_000_000i64).prop_map(|at| {
        chrono::DateTime::from_timestamp(at, 0).unwrap().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
    })
}

fn said(role: &'static str) -> impl Strategy<Value = Vec<Value>> {
    (words(), notes(), time(), any::<bool>()).prop_map(move |(words, (refs, tags), at, by_msg)| {
        let name = if by_msg { "msg" } else { "content" };
        let mut entry = json!({ "role": role, "refs": refs, "tags": tags, "timestamp": at });
        entry[name] = json!(words);
        if role == "assistant" {
            entry["usage"] = json!({ "model": "m", "inputTokens": 3, "outputTokens": 4, "costUsd": 0.5 });
        }
        vec![entry]
    })
}

fn arguments() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![any::<i32>().prop_map(Value::from), words().prop_map(Value::from), Just(json!(null))];
    let object = prop::collection::btree_map("[a-z]{1,5}", leaf, 0..3).prop_map(|map| json!(map));
    prop_oneof![object, "[a-z{\" ]{0,9}".prop_map(Value::from), Just(json!("5")), Just(json!([]))]
}

/// One step: tool calls and some of their results.
fn step() -> impl Strategy<Value = Vec<Value>> {
    let call = (arguments(), words(), any::<bool>(), any::<bool>());
    (prop::collection::vec(call, 1..4), time()).prop_map(|(calls, at)| {
        let mut entries = Vec::new();
        let mut results = Vec::new();
        for (number, (arguments, told, answered, failed)) in calls.into_iter().enumerate() {
            let [mut call, mut result] = called(&number.to_string(), &arguments, &told);
            call["timestamp"] = json!(at);
            entries.push(call);
            if failed {
                result["failed"] = json!(true);
            }
            result["durationMs"] = json!(number);
            result["timestamp"] = json!(at);
            if answered {
                results.push(result);
            }
        }
        entries.extend(results);
        entries
    })
}

/// Questions, each with at most one step and perhaps an answer.
fn history() -> impl Strategy<Value = Vec<Value>> {
    let turn = (said("user"), prop::option::of(step()), prop::option::of(said("assistant")));
    prop::collection::vec(turn, 0..5).prop_map(|turns| {
        let entries = |(asked, step, answer): (Vec<Value>, Option<Vec<Value>>, Option<Vec<Value>>)| {
            [Some(asked), step, answer].into_iter().flatten().flatten().collect::<Vec<_>>()
        };
        turns.into_iter().flat_map(entries).collect()
    })
}

/// Whether the read entry has all fields that were sent.
fn says(read: &Value, sent: &Value) -> bool {
    let fields = sent.as_object().unwrap();
    fields.iter().all(|(name, value)| match name.as_str() {
        "msg" => read["content"] == *value,
        "content" if sent["role"] == "tool_call" => {
            let parsed = |text: &Value| serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap();
            parsed(&read["content"]) == parsed(value)
        }
        name => read[name] == *value,
    })
}

#[test]
fn imported_histories_are_read_back_unchanged() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (api, session) = runtime.block_on(async {
        let api = Api::open().await;
        let session = api.begin().await;
        (api, session)
    });
    let mut runner = TestRunner::new(Config { cases: 48, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&history(), |sent| {
        runtime.block_on(async {
            let read = replaces(&api, &session, &json!(sent)).await;
            prop_assert_eq!(read.len(), sent.len());
            for (read, sent) in read.iter().zip(&sent) {
                prop_assert!(says(read, sent), "{:#}\n{:#}", read, sent);
            }
            prop_assert_eq!(&api.history(&session).await, &read);
            let spoken = sent.iter().filter(|e| e["role"] == "user" || e["role"] == "assistant").count();
            let counted = api.read(&format!("/sessions/{session}")).await["session"]["messageCount"].clone();
            prop_assert_eq!(counted, json!(spoken));
            // Replacing it by itself keeps the rows.
            prop_assert_eq!(replaces(&api, &session, &json!(read.clone())).await, read);
            Ok(())
        })
    });
    runtime.block_on(api.bot.stop());
    outcome.unwrap();
}
