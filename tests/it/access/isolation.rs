//! Isolation between people. Every route is tried with ids of another person, by cookie and by token, and must answer as
//! if the ids did not exist.

use super::{
    House, Shows,
    routes::{About, Route, Things},
};
use crate::harness::{Person, WAIT_TIMEOUT, jpeg, user};
use reqwest::{
    Method, StatusCode,
    header::IF_MATCH,
    multipart::{Form, Part},
};
use serde_json::{Value, json};

/// A person with a session, a message, a file and a token.
struct Tenant {
    browser: Shows,
    program: Shows,
    things: Things,
    /// The id of an uploaded file that no message uses yet.
    upload: String,
}

const WORDS: &str = "lighthouse keeper";

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

async fn json_of(house: &House, shows: &Shows, path: &str) -> Value {
    let answer = house.get(shows, path).await;
    assert_eq!(answer.status(), StatusCode::OK, "{path}");
    answer.json().await.unwrap()
}

/// Logs in, creates a token, sends a picture and waits for the answer.
async fn create_tenant(house: &House, person: &Person, title: &str) -> Tenant {
    let browser = house.log_in(person).await;
    let (program, token) = house.token(&browser).await;
    let begun = house.ask(&browser, Method::POST, "/sessions").json(&json!({ "title": title }));
    let begun: Value = begun.send().await.unwrap().json().await.unwrap();
    let session = text(&begun["session"]["sessionId"]);
    let photo = || Part::bytes(jpeg(64, 48)).file_name(format!("{title}.jpg"));
    let form = Form::new().text("content", "rotate left").part("files", photo());
    let sent = house.ask(&browser, Method::POST, &format!("/sessions/{session}/messages"));
    let sent: Value = sent.multipart(form).send().await.unwrap().json().await.unwrap();
    let history = format!("/sessions/{session}/history");
    let answered = async {
        loop {
            let entries = json_of(house, &browser, &history).await["history"].clone();
            if let Some(answer) =
                entries.as_array().unwrap().iter().find(|entry| entry["role"] == "assistant")
            {
                return answer.clone();
            }
        }
    };
    let answer = tokio::time::timeout(WAIT_TIMEOUT, answered).await.expect("an answer");
    let upload =
        house.ask(&browser, Method::POST, "/attachments").multipart(Form::new().part("file", photo()));
    let upload: Value = upload.send().await.unwrap().json().await.unwrap();
    let things = Things {
        session,
        message: sent["messages"][0].to_string(),
        turn: text(&sent["turnId"]),
        attachment: text(&answer["attachments"][0]["attachmentId"]),
        token,
    };
    Tenant { browser, program, things, upload: text(&upload["attachment"]["attachmentId"]) }
}

/// Everything that a person sees of their own data.
async fn all_of(house: &House, whose: &Tenant) -> Vec<Value> {
    let Things { session, attachment, .. } = &whose.things;
    let mut seen = Vec::new();
    for path in [
        "/sessions".to_owned(),
        "/tokens".to_owned(),
        format!("/sessions/{session}"),
        format!("/sessions/{session}/history?include_tools=true"),
        format!("/attachments/{attachment}/metadata"),
        format!("/attachments/{}/metadata", whose.upload),
    ] {
        seen.push(json_of(house, &whose.browser, &path).await);
    }
    let bytes = house.get(&whose.browser, &format!("/attachments/{attachment}")).await.bytes().await.unwrap();
    seen.push(json!(bytes.to_vec()));
    seen
}

/// Asserts that a response contains nothing of Ann's data.
#[track_caller]
fn shows_nothing_of(ann: &Tenant, shown: &str, what: &str) {
    let Things { session, turn, attachment, token, .. } = &ann.things;
    for secret in [session.as_str(), turn, attachment, token, &ann.upload, WORDS] {
        assert!(!shown.contains(secret), "{what} shows {secret}: {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_route_reaches_data_of_another_person() {
    let house = House::open().await;
    let chat = house.world.private_chat(user(1001, "Ann"));
    let ann = create_tenant(&house, &chat, WORDS).await;
    let bobs_chat = house.world.private_chat(user(1002, "Bob"));
    let mut bob = create_tenant(&house, &bobs_chat, "bob's").await;
    chat.says("the lighthouse keeper waits").await;
    house.settings.until_settled(&house.world).await;
    let before = all_of(&house, &ann).await;

    for route in Route::all(&house, &bob.browser).await {
        for shows in [&bob.browser, &bob.program] {
            let what = format!("{} {} with {shows:?}", route.method, route.path);
            let (status, shown) = route.tried(&house, shows, &ann.things).await;
            shows_nothing_of(&ann, &shown, &what);
            if route.about() == About::Something {
                assert_eq!(status, StatusCode::NOT_FOUND, "{what}: {shown}");
                let of_nothing = route.tried(&house, shows, &Things::nothing()).await;
                assert_eq!((status, shown), of_nothing, "{what}: told apart from what is not there");
            } else if !(route.method == Method::POST && route.path == "/tokens") {
                assert!(status.is_success(), "{what}: {status} {shown}");
            }
        }
    }
    bob.browser = house.log_in(&bobs_chat).await;
    for path in [
        format!("/attachments/{}", ann.upload),
        format!("/attachments/{}?size=320", ann.things.attachment),
        format!("/attachments/{}?download=1", ann.things.attachment),
        format!("/sessions/{}/history?include_tools=true", ann.things.session),
        format!("/sessions/{}/events?last_event_id=0", ann.things.session),
        format!("/c/{}", ann.things.session),
        format!("/c/{}/entries", ann.things.session),
        format!("/c/{}/strip/{}", ann.things.session, ann.things.attachment),
    ] {
        let answer = house.get(&bob.browser, &path).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
        shows_nothing_of(&ann, &answer.text().await.unwrap(), &path);
    }
    assert_eq!(all_of(&house, &ann).await, before, "and nothing of it has changed");
    let (status, _) = Route { method: Method::DELETE, path: "/sessions/{session_id}".into() }
        .tried(&house, &ann.browser, &ann.things)
        .await;
    assert_eq!(status, StatusCode::OK, "Ann herself can, of course");
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_and_searches_return_only_own_sessions() {
    let house = House::open().await;
    let ann = create_tenant(&house, &house.world.private_chat(user(1001, "Ann")), WORDS).await;
    let bob = create_tenant(&house, &house.world.private_chat(user(1002, "Bob")), "bob's").await;
    let file = &ann.things.attachment;
    for path in [
        "/sessions?user_id=1001".to_owned(),
        "/sessions?q=rotate".to_owned(),
        format!("/sessions?ref=attachment:{file}"),
        "/sessions?limit=100".to_owned(),
        "/".to_owned(),
        "/new".to_owned(),
        "/list".to_owned(),
        "/list?q=rotate".to_owned(),
        "/?q=rotate".to_owned(),
        format!("/c/{}", bob.things.session),
        format!("/c/{}?reply={}", bob.things.session, ann.things.message),
        format!("/c/{}/strip/{file}", bob.things.session),
        format!("/c/{}/entries?from=0", bob.things.session),
        format!("/sessions/{}/history?before=999999", bob.things.session),
    ] {
        let answer = house.get(&bob.browser, &path).await;
        let status = answer.status();
        assert!(status.is_success() || status.is_redirection(), "{path}: {status}");
        let shown = answer.text().await.unwrap().replace(&path.replace('&', "&amp;"), "").replace(&path, "");
        let shown = if path.contains(file.as_str()) { shown.replace(file.as_str(), "") } else { shown };
        shows_nothing_of(&ann, &shown, &path);
    }
    let mine = json_of(&house, &bob.browser, "/sessions?q=rotate").await;
    assert_eq!(mine["totalCount"], 1, "Bob's own is found: {mine}");
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_another_person_are_useless_in_own_conversations() {
    let house = House::open().await;
    let ann = create_tenant(&house, &house.world.private_chat(user(1001, "Ann")), WORDS).await;
    let bob = create_tenant(&house, &house.world.private_chat(user(1002, "Bob")), "bob's").await;
    let (hers, his) = (&ann.things, &bob.things);
    let before = all_of(&house, &ann).await;
    let history = house.get(&bob.browser, &format!("/sessions/{}/history", his.session)).await;
    let tag = history.headers()["etag"].to_str().unwrap().to_owned();
    let message: i64 = hers.message.parse().unwrap();
    let say = |body: Value| (Method::POST, "messages".to_owned(), body);
    let note = |id: &str, refs: Value| (Method::PATCH, format!("history/{id}"), json!({ "refs": refs }));
    let put = |more: Value| {
        let mut entry = json!({ "role": "user", "content": "mine" });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        (Method::PUT, "history".to_owned(), json!([entry]))
    };
    let trials = [
        say(json!({ "content": "show me", "attachment_ids": [hers.attachment] })),
        say(json!({ "content": "show me", "attachment_ids": [ann.upload] })),
        say(json!({ "content": "go on", "reply_to": message })),
        say(json!({ "content": "go on", "reply_to": message, "reply_attachment": hers.attachment })),
        note(&hers.message, json!([])),
        note(&his.message, json!([{ "url": format!("attachment:{}", hers.attachment) }])),
        note(&his.message, json!([{ "url": format!("turn:{}", hers.turn) }])),
        put(json!({ "refs": [{ "url": format!("attachment:{}", hers.attachment) }] })),
        put(json!({ "refs": [{ "url": format!("turn:{}", hers.turn) }] })),
        put(json!({ "attachments": [{ "attachmentId": hers.attachment }] })),
        put(json!({ "attachments": [{ "attachmentId": ann.upload }] })),
        put(json!({ "replyTo": { "internalId": null, "attachmentId": hers.attachment } })),
    ];
    for (method, path, body) in trials {
        for shows in [&bob.browser, &bob.program] {
            let address = format!("/sessions/{}/{path}", his.session);
            let request = house.ask(shows, method.clone(), &address).header(IF_MATCH, &tag).json(&body);
            let status = request.send().await.unwrap().status();
            assert!(status.is_client_error(), "{method} {path} {body}: {status}");
        }
    }
    // Her ids in his history are only text.
    for more in [
        json!({ "internalId": message }),
        json!({ "turnId": hers.turn }),
        json!({ "replyTo": { "internalId": message, "attachmentId": null } }),
    ] {
        let (method, path, body) = put(more);
        let request = house.ask(&bob.browser, method, &format!("/sessions/{}/{path}", his.session));
        let status = request.header(IF_MATCH, "*").json(&body).send().await.unwrap().status();
        assert!(!status.is_server_error(), "{body}: {status}");
    }
    // A picture id in a message text is only text.
    let words = format!("crop to a square\n[Attachment ID: {}]", hers.attachment);
    let said = house.ask(&bob.browser, Method::POST, &format!("/sessions/{}/messages", his.session));
    assert_eq!(said.json(&json!({ "content": words })).send().await.unwrap().status(), StatusCode::ACCEPTED);
    house.settings.until_settled(&house.world).await;
    let upload = Form::new().text("session_id", hers.session.clone()).part("file", Part::bytes(&b"hi"[..]));
    let upload =
        house.ask(&bob.browser, Method::POST, "/attachments").multipart(upload).send().await.unwrap();
    assert_eq!(upload.status(), StatusCode::NOT_FOUND);
    let seen = json_of(&house, &bob.browser, &format!("/sessions/{}/history", his.session)).await;
    for entry in seen["history"].as_array().unwrap() {
        for file in entry["attachments"].as_array().unwrap() {
            assert_ne!(file["attachmentId"], hers.attachment.as_str(), "{entry}");
            let parents = file["parents"].as_array().unwrap();
            assert!(parents.iter().all(|parent| parent != hers.attachment.as_str()), "{entry}");
        }
    }
    assert_eq!(all_of(&house, &ann).await, before, "and nothing of it has changed");
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_public_routes_answer_without_a_login() {
    let house = House::open().await;
    let ann = create_tenant(&house, &house.world.private_chat(user(1001, "Ann")), WORDS).await;
    let before = all_of(&house, &ann).await;
    let without_login = [Shows::Nothing, Shows::Cookie("photothread=AAAA".into())];
    for route in Route::all(&house, &ann.browser).await {
        for shows in &without_login {
            let (status, shown) = route.tried(&house, shows, &ann.things).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{route:?} {shown}");
            shows_nothing_of(&ann, &shown, &route.path);
        }
    }
    let Things { session, attachment, .. } = &ann.things;
    for path in [
        "/",
        "/new",
        "/list",
        "/docs",
        "/docs/",
        "/docs/swagger-ui-bundle.js",
        "/openapi.json",
        "/nowhere",
        &format!("/c/{session}"),
        &format!("/c/{session}/entries"),
        &format!("/c/{session}/strip/{attachment}"),
    ] {
        for shows in &without_login {
            assert_eq!(house.status(shows, path).await, StatusCode::UNAUTHORIZED, "{path}");
            let posted = house.ask(shows, Method::POST, path).send().await.unwrap().status();
            assert_eq!(posted, StatusCode::UNAUTHORIZED, "{path}");
        }
    }
    for path in ["/healthz", "/login"] {
        assert_eq!(house.status(&Shows::Nothing, path).await, StatusCode::OK, "{path}");
    }
    let page = house.get(&Shows::Nothing, "/login").await.text().await.unwrap();
    let style = page.split('"').find(|part| part.ends_with(".css")).expect("a style");
    assert_eq!(house.status(&Shows::Nothing, style).await, StatusCode::OK, "{style}");
    assert_eq!(all_of(&house, &ann).await, before);
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn event_streams_end_with_their_login_or_token() {
    let house = House::open().await;
    let ann = create_tenant(&house, &house.world.private_chat(user(1001, "Ann")), WORDS).await;
    let path = format!("/sessions/{}/events", ann.things.session);
    let mut open = [house.get(&ann.browser, &path).await, house.get(&ann.program, &path).await];
    for stream in &mut open {
        assert_eq!(stream.status(), StatusCode::OK);
        assert!(stream.chunk().await.unwrap().is_some(), "it is watched");
    }
    house.ask(&ann.program, Method::DELETE, &format!("/tokens/{}", ann.things.token)).send().await.unwrap();
    house.ask(&ann.browser, Method::POST, "/logout").send().await.unwrap();
    for mut stream in open {
        let rest = async { while let Ok(Some(_)) = stream.chunk().await {} };
        tokio::time::timeout(WAIT_TIMEOUT, rest).await.expect("the stream ends");
    }
    house.bot.stop().await;
}
