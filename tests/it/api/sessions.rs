//! Sessions over HTTP: create, list, rename, delete.

use super::{Api, part, problem, text};
use crate::harness::{jpeg, png};
use reqwest::{Method, StatusCode, multipart::Form};
use serde_json::{Value, json};
use std::path::Path;

fn files_under(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let count = |path: &Path| if path.is_dir() { files_under(path) } else { 1 };
    entries.map(|entry| count(&entry.unwrap().path())).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_created_renamed_listed_and_survive_a_restart() {
    let api = Api::open().await;
    let (first, second) = (api.begin().await, api.begin().await);
    let renamed = api.ask(Method::PUT, &format!("/sessions/{first}")).json(&json!({ "title": "  Cats  " }));
    let renamed: Value = renamed.send().await.unwrap().json().await.unwrap();
    assert_eq!(renamed["session"]["title"], "Cats");
    api.asks(&first, Form::new().text("content", "hello there").part("files", part("a.jpg", jpeg(40, 30))))
        .await;

    let api = api.restarted().await;
    let listed = api.read("/sessions").await;
    assert_eq!((listed["totalCount"].as_i64(), listed["sessions"].as_array().unwrap().len()), (Some(2), 2));
    let newest = &listed["sessions"][0];
    for (field, expected) in [
        ("sessionId", json!(first)),
        ("userId", json!("local")),
        ("title", json!("Cats")),
        ("firstMessagePreview", json!("hello there")),
        ("messageCount", json!(2)),
        ("interfaceType", json!("web")),
    ] {
        assert_eq!(newest[field], expected, "{field}");
    }
    assert!(text(&newest["lastActivity"]) > text(&newest["createdAt"]));
    assert_eq!(listed["sessions"][1]["sessionId"], json!(second), "newest activity first");
    for path in ["", "/metadata"] {
        assert_eq!(api.read(&format!("/sessions/{first}{path}")).await["session"], *newest);
    }
    let page = api.read("/sessions?limit=1&offset=1").await;
    assert_eq!((&page["sessions"][0]["sessionId"], page["totalCount"].as_i64()), (&json!(second), Some(2)));
    assert_eq!(api.read("/sessions?user_id=nobody").await["totalCount"], 0);
    assert_eq!(api.read("/sessions?q=THERE+hel").await["totalCount"], 1);
    assert_eq!(api.read("/sessions?q=!!!").await["totalCount"], 0, "no words, nothing found");
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_requests_are_refused_with_a_problem() {
    let api = Api::open().await;
    let id = api.begin().await;
    for query in ["limit=0", "limit=101", "offset=-1", "limit=many", "colour=red"] {
        problem(api.get(&format!("/sessions?{query}")).await, StatusCode::BAD_REQUEST).await;
    }
    let long = "x".repeat(201);
    for title in ["", " \n ", long.as_str()] {
        let put = api.ask(Method::PUT, &format!("/sessions/{id}")).json(&json!({ "title": title }));
        let why = problem(put.send().await.unwrap(), StatusCode::UNPROCESSABLE_ENTITY).await;
        assert!(why.contains("title"), "{why}");
    }
    let put = |body: &'static str| api.ask(Method::PUT, &format!("/sessions/{id}")).body(body);
    problem(put("{}").send().await.unwrap(), StatusCode::UNSUPPORTED_MEDIA_TYPE).await;
    let json = put("{").header("content-type", "application/json");
    problem(json.send().await.unwrap(), StatusCode::BAD_REQUEST).await;
    for gone in [&uuid::Uuid::new_v4().to_string(), "not-an-id"] {
        for method in [Method::GET, Method::DELETE] {
            let answer = api.ask(method, &format!("/sessions/{gone}")).send().await.unwrap();
            problem(answer, StatusCode::NOT_FOUND).await;
        }
        problem(api.get(&format!("/sessions/{gone}/history")).await, StatusCode::NOT_FOUND).await;
    }
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_a_session_deletes_its_rows_and_unshared_files() {
    let api = Api::open().await;
    let (gone, stays) = (api.begin().await, api.begin().await);
    let shared = jpeg(64, 48);
    let form =
        |bytes: Vec<u8>| Form::new().text("content", "rotate left").part("files", part("a.jpg", bytes));
    let kept = api.asks(&stays, form(shared.clone())).await;
    let answer = api.asks(&gone, form(shared)).await;
    api.asks(
        &gone,
        Form::new().text("content", "make it brighter").part("files", part("b.png", png(50, 40))),
    )
    .await;
    let picture = text(&answer["attachments"][0]["attachmentId"]);
    api.get(&format!("/attachments/{picture}?size=96")).await;
    let store = api.settings.folder().join("attachments");
    let before = files_under(&store);

    let delete = || api.ask(Method::DELETE, &format!("/sessions/{gone}")).send();
    let deleted: Value = delete().await.unwrap().json().await.unwrap();
    assert_eq!(deleted, json!({ "success": true, "message": "Session deleted" }));
    problem(delete().await.unwrap(), StatusCode::NOT_FOUND).await;
    for path in [format!("/sessions/{gone}/history"), format!("/attachments/{picture}?size=96")] {
        problem(api.get(&path).await, StatusCode::NOT_FOUND).await;
    }
    // Both sessions share the first photo and its rotation: only the second photo and its result are deleted.
    assert_eq!(before - files_under(&store), 2);
    let other = text(&kept["attachments"][0]["attachmentId"]);
    assert_eq!(api.get(&format!("/attachments/{other}")).await.status(), StatusCode::OK);

    let delete = api.ask(Method::DELETE, &format!("/sessions/{stays}")).send().await.unwrap();
    assert_eq!(delete.status(), StatusCode::OK);
    assert_eq!(files_under(&store), 0, "nothing is left, not even a small view");
    assert_eq!(api.read("/sessions").await["totalCount"], 0);
    api.bot.stop().await;
}
