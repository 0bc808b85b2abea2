//! References and tags of messages, export and import, over HTTP.

mod exporting;
mod importing;
mod notes;
mod refusals;
mod round_trip;

use crate::{
    api::{Api, text},
    harness::jpeg,
};
use reqwest::{Method, Response, StatusCode, header, multipart::Form};
use serde_json::{Value, json};

/// The ETag of a history.
async fn etag(api: &Api, session: &str) -> String {
    let answer = api.get(&format!("/sessions/{session}/history")).await;
    answer.headers()[header::ETAG].to_str().unwrap().to_owned()
}

async fn send(api: &Api, method: Method, path: &str, state: &str, body: &Value) -> Response {
    api.ask(method, path).header(header::IF_MATCH, state).json(body).send().await.unwrap()
}

/// Annotates a message with the current ETag.
async fn notes(api: &Api, session: &str, message: &Value, body: &Value) -> Response {
    let path = format!("/sessions/{session}/history/{message}");
    send(api, Method::PATCH, &path, &etag(api, session).await, body).await
}

/// Replaces the history with the current ETag.
async fn puts(api: &Api, session: &str, body: &Value) -> Response {
    send(api, Method::PUT, &format!("/sessions/{session}/history"), &etag(api, session).await, body).await
}

/// The same; must succeed.
async fn replaces(api: &Api, session: &str, body: &Value) -> Vec<Value> {
    let answer = puts(api, session, body).await;
    let status = answer.status();
    let new = answer.headers().get(header::ETAG).map(|tag| tag.to_str().unwrap().to_owned());
    let value: Value = answer.json().await.unwrap();
    assert_eq!(status, StatusCode::OK, "{value:#}");
    assert_eq!(new, Some(etag(api, session).await), "the answer names the new state");
    value["history"].as_array().unwrap().clone()
}

/// Index and field of each error of a refused request.
async fn wrongs(answer: Response) -> Vec<(Option<u64>, String)> {
    let status = answer.status();
    let value: Value = answer.json().await.unwrap();
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{value:#}");
    let errors = value["errors"].as_array().unwrap_or_else(|| panic!("{value:#}"));
    assert!(errors.iter().all(|wrong| !text(&wrong["detail"]).is_empty()));
    let detail = text(&value["detail"]);
    assert!(detail.contains(&text(&errors[0]["field"])), "the sentence names the first: {detail}");
    errors.iter().map(|wrong| (wrong["index"].as_u64(), text(&wrong["field"]))).collect()
}

fn photo(words: &'static str) -> Form {
    Form::new().text("content", words).part("files", crate::api::part("cat.jpg", jpeg(64, 48)))
}

async fn found(api: &Api, query: &str) -> i64 {
    api.read(&format!("/sessions?{query}")).await["totalCount"].as_i64().unwrap()
}

fn roles(history: &[Value]) -> Vec<String> {
    history.iter().map(|entry| text(&entry["role"])).collect()
}

fn id_of(attachment: &Value) -> String {
    text(&attachment["attachmentId"])
}

/// A tool call and its result, as entries.
fn called(call_id: &str, arguments: &Value, result: &str) -> [Value; 2] {
    let content = json!({ "name": "image_info", "arguments": arguments }).to_string();
    [
        json!({ "role": "tool_call", "content": content, "tool_call_id": call_id }),
        json!({ "role": "tool", "content": result, "tool_call_id": call_id }),
    ]
}
