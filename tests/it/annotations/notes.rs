//! Annotations of messages: stored, searched, and changed only with the current ETag.

use super::*;
use crate::api::{events, problem};

#[tokio::test(flavor = "multi_thread")]
async fn annotations_are_stored_and_sessions_are_found_by_them() {
    let api = Api::open().await;
    let session = api.begin().await;
    let answer = api.asks(&session, photo("rotate left")).await;
    let mut tab = events::watch(&api, &session).await;
    let body = json!({
        "refs": [{ "url": " https://example.org/cats ", "title": "Cats", "keyExcerpt": "…", "bonus": true }],
        "tags": [" Topic:Cats", "later", "topic : cats"],
    });
    let noted = notes(&api, &session, &answer["internalId"], &body).await;
    assert_eq!(noted.status(), StatusCode::OK);
    assert_eq!(noted.headers()[header::ETAG].to_str().unwrap(), etag(&api, &session).await);
    let noted: Value = noted.json().await.unwrap();
    assert_eq!(noted["success"], true);
    let entry = &noted["entry"];
    assert_eq!(entry["tags"], json!(["topic:cats", "later"]));
    let kept =
        json!([{ "url": "https://example.org/cats", "title": "Cats", "keyExcerpt": "…", "bonus": true }]);
    assert_eq!(entry["refs"], kept, "in place of what was there");
    // The event stream reports the change, perhaps after the new title.
    let new = json!(etag(&api, &session).await);
    while tab.until("changed").await.pop().unwrap().data["etag"] != new {}

    let api = api.restarted().await;
    assert_eq!(api.history(&session).await.last(), Some(entry), "and nothing else about it has changed");
    for query in
        ["tag=topic:cats", "tag=%20TOPIC:Cats", "tag=later", "ref=https://example.org/cats", "q=rotate"]
    {
        assert_eq!(found(&api, query).await, 1, "{query}");
    }
    for query in ["tag=topic", "tag=cats", "ref=https://example.org", "tag=later&q=elephant"] {
        assert_eq!(found(&api, query).await, 0, "{query}");
    }
    notes(&api, &session, &answer["internalId"], &json!({ "tags": ["other"] })).await;
    assert_eq!((found(&api, "tag=later").await, found(&api, "tag=other").await), (0, 1));
    assert_eq!(found(&api, "ref=https://example.org/cats").await, 1, "what is left out stays");
    notes(&api, &session, &answer["internalId"], &json!({ "refs": null, "tags": [] })).await;
    assert_eq!((found(&api, "tag=other").await, found(&api, "ref=https://example.org/cats").await), (0, 0));
    let last = api.history(&session).await.pop().unwrap();
    assert_eq!((&last["refs"], &last["tags"]), (&json!([]), &json!([])));

    notes(&api, &session, &answer["internalId"], &json!({ "tags": ["other"] })).await;
    api.ask(Method::DELETE, &format!("/sessions/{session}")).send().await.unwrap();
    assert_eq!(found(&api, "tag=other").await, 0);
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_need_the_current_etag() {
    let api = Api::open().await;
    let session = api.begin().await;
    let first = api.asks(&session, Form::new().text("content", "hello")).await["internalId"].clone();
    let old = etag(&api, &session).await;
    let (tags, none) = (json!({ "tags": ["a"] }), json!([]));
    let (patch, put) =
        (format!("/sessions/{session}/history/{first}"), format!("/sessions/{session}/history"));
    for (method, path, body) in [(Method::PATCH, &patch, &tags), (Method::PUT, &put, &none)] {
        let bare = api.ask(method.clone(), path).json(body).send().await.unwrap();
        let why = problem(bare, StatusCode::PRECONDITION_REQUIRED).await;
        assert!(why.contains("If-Match"), "{why}");
    }
    let done = send(&api, Method::PATCH, &patch, &old, &tags).await;
    assert_eq!(done.status(), StatusCode::OK);
    let new = etag(&api, &session).await;
    assert_ne!(new, old);
    for state in [old.as_str(), "*", &format!("W/{new}"), new.trim_matches('"'), "\"\"", ""] {
        for (method, path, body) in [(Method::PATCH, &patch, &tags), (Method::PUT, &put, &none)] {
            problem(send(&api, method, path, state, body).await, StatusCode::PRECONDITION_FAILED).await;
        }
    }
    assert_eq!(etag(&api, &session).await, new, "nothing was changed by any of them");
    let done = send(&api, Method::PATCH, &patch, &format!("\"x\", {new}"), &tags).await;
    assert_eq!(done.status(), StatusCode::OK, "one of several will do");
    api.asks(&session, Form::new().text("content", "more")).await;
    let late = send(&api, Method::PATCH, &patch, &new, &tags).await;
    problem(late, StatusCode::PRECONDITION_FAILED).await;
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_annotations_are_refused_with_the_field() {
    let api = Api::open().await;
    let (session, other) = (api.begin().await, api.begin().await);
    let answer = api.asks(&session, photo("rotate left")).await;
    let elsewhere = api.asks(&other, photo("rotate left")).await;
    let message = &answer["internalId"];
    let before = etag(&api, &session).await;
    let url = |url: String| json!({ "refs": [{ "url": "https://a.example" }, { "url": url }] });
    let missing = uuid::Uuid::new_v4();
    for (body, fields) in [
        (json!({}), vec!["refs"]),
        (json!([]), vec!["body"]),
        (json!({ "tag": ["a"] }), vec!["tag"]),
        (json!({ "tags": ["a", ""] }), vec!["tags[1]"]),
        (json!({ "tags": "a", "refs": 7 }), vec!["refs", "tags"]),
        (json!({ "tags": ["fine"], "refs": [{ "url": "javascript:alert(1)" }] }), vec!["refs[0].url"]),
        (
            json!({ "refs": [{ "url": "data:text/html,x", "titel": "" }] }),
            vec!["refs[0].titel", "refs[0].url"],
        ),
        (json!({ "refs": [{ "url": "https://a.example", "title": 7 }] }), vec!["refs[0].title"]),
        (
            json!({ "refs": [{ "url": "https://a.example", "content": "x".repeat(20_001) }] }),
            vec!["refs[0].content"],
        ),
        (url(format!("attachment:{missing}")), vec!["refs[1].url"]),
        (url(format!("attachment:{}", id_of(&elsewhere["attachments"][0]))), vec!["refs[1].url"]),
        (url(format!("turn:{missing}")), vec!["refs[1].url"]),
        (url(format!("turn:{}", text(&elsewhere["turnId"]))), vec!["refs[1].url"]),
    ] {
        let refused = wrongs(notes(&api, &session, message, &body).await).await;
        let expected: Vec<_> = fields.into_iter().map(|field| (None, field.to_owned())).collect();
        assert_eq!(refused, expected, "{body}");
    }
    assert_eq!(
        (etag(&api, &session).await, api.history(&session).await.pop()),
        (before, Some(answer.clone()))
    );

    let own = json!({ "refs": [
        { "url": format!("attachment:{}", id_of(&answer["attachments"][0])) },
        { "url": format!("turn:{}", text(&answer["turnId"])) },
    ] });
    assert_eq!(notes(&api, &session, message, &own).await.status(), StatusCode::OK);
    for message in [&elsewhere["internalId"], &json!(999_999)] {
        problem(notes(&api, &session, message, &own).await, StatusCode::NOT_FOUND).await;
    }
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_refer_to_their_files_and_sessions_list_references_once() {
    let api = Api::open().await;
    let session = api.begin().await;
    let first = api.asks(&session, photo("rotate left")).await;
    let original = id_of(&api.history(&session).await[0]["attachments"][0]);
    let rotated = id_of(&first["attachments"][0]);
    let to = |id: &str, title: &Value, kind: &str| json!({ "url": format!("attachment:{id}"), "title": title, "type": kind });
    let name = |answer: &Value| answer["attachments"][0]["filename"].clone();
    assert_eq!(
        first["refs"],
        json!([to(&original, &json!("cat.jpg"), "used"), to(&rotated, &name(&first), "made")])
    );

    let reply = json!({
        "content": "crop to a square, then make it black and white",
        "reply_to": first["internalId"],
        "reply_attachment": rotated,
    });
    let sent = api.says(&session, &reply).await;
    let second = api.answer(&session, &sent["turnId"]).await;
    let kinds: Vec<String> = second["refs"].as_array().unwrap().iter().map(|to| text(&to["type"])).collect();
    assert_eq!(kinds, ["used", "used", "made"], "the rotated one and the cropped one are used");
    assert_eq!(second["refs"][0]["url"], json!(format!("attachment:{rotated}")));

    let source = json!({ "refs": [
        { "url": "https://a.example" },
        { "url": "https://a.example", "title": "A", "content": "" },
    ] });
    notes(&api, &session, &sent["messages"][0], &source).await;
    let source = json!({ "refs": [{ "url": "https://a.example", "title": "B", "content": "words" }] });
    notes(&api, &session, &first["internalId"], &source).await;
    let refs = api.read(&format!("/sessions/{session}/refs")).await["refs"].clone();
    let refs = refs.as_array().unwrap();
    assert_eq!(
        refs[0],
        json!({
            "url": "https://a.example",
            "title": "B",
            "content": "words",
            "count": 3,
            "messages": [first["internalId"], sent["messages"][0]],
            "turnIds": [first["turnId"]],
        }),
    );
    let urls: Vec<String> = refs.iter().map(|to| text(&to["url"])).collect();
    assert_eq!(
        (urls.len(), &urls[1]),
        (4, &format!("attachment:{rotated}")),
        "each once, first appearance first"
    );
    assert_eq!(found(&api, &format!("ref=attachment:{rotated}")).await, 1);

    let gone = api.ask(Method::DELETE, &format!("/attachments/{rotated}")).send().await.unwrap();
    assert_eq!(gone.status(), StatusCode::OK);
    assert_eq!(
        found(&api, &format!("ref=attachment:{rotated}")).await,
        0,
        "a file takes its references with it"
    );
    problem(api.get(&format!("/sessions/{}/refs", uuid::Uuid::new_v4())).await, StatusCode::NOT_FOUND).await;
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_answers_refer_to_the_file_in_question() {
    let model = crate::harness::ScriptedModel::start().await;
    let world = crate::harness::World::start().await;
    let settings =
        crate::harness::Settings::new(&world).with("TELEGRAM_BOT_TOKEN", "").with_model(&model.base_url());
    let api = Api::with(world, settings).await;
    let session = api.begin().await;
    model.next_reply("A cat.");
    let answer = api.asks(&session, photo("what is this?")).await;
    assert_eq!((answer["refs"].as_array().unwrap().len(), &answer["refs"][0]["type"]), (1, &json!("used")));
    model.next_reply("Hello.");
    let answer = api.asks(&session, Form::new().text("content", "hello")).await;
    assert_eq!(answer["refs"], json!([]));
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exclusive_tag_groups_allow_one_tag() {
    let world = crate::harness::World::start().await;
    let settings = crate::harness::Settings::new(&world)
        .with("TELEGRAM_BOT_TOKEN", "")
        .with("PHOTOTHREAD_WEB__EXCLUSIVE_TAGS", "[status]");
    let api = Api::with(world, settings).await;
    let session = api.begin().await;
    let message = api.asks(&session, Form::new().text("content", "hello")).await["internalId"].clone();
    let both = json!(["status:open", "topic:a", "topic:b", "Status:done"]);
    let refused = wrongs(notes(&api, &session, &message, &json!({ "tags": both })).await).await;
    assert_eq!(refused, [(None, "tags[3]".to_owned())]);
    let entries = json!([{ "role": "user", "msg": "a" }, { "role": "user", "msg": "b", "tags": both }]);
    assert_eq!(wrongs(puts(&api, &session, &entries).await).await, [(Some(1), "tags[3]".to_owned())]);
    let one = json!({ "tags": ["status:open", "topic:a", "topic:b"] });
    assert_eq!(notes(&api, &session, &message, &one).await.status(), StatusCode::OK);
    api.bot.stop().await;
}
