//! Attachments over HTTP: upload, ranges, thumbnails, metadata, deletion, hostile files.

use super::{Api, part, problem, text};
use crate::harness::jpeg;
use image::GenericImageView as _;
use reqwest::{
    Method, StatusCode,
    header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_NONE_MATCH, RANGE},
    multipart::Form,
};
use serde_json::{Value, json};

async fn keep(api: &Api, name: &str, bytes: Vec<u8>) -> Value {
    let form = Form::new().part("file", part(name, bytes));
    let answer = api.ask(Method::POST, "/attachments").multipart(form).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED);
    answer.json::<Value>().await.unwrap()["attachment"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_served_whole_in_ranges_as_thumbnails_and_not_modified() {
    let api = Api::open().await;
    let bytes = jpeg(640, 480);
    let file = keep(&api, "cat.jpg", bytes.clone()).await;
    assert_eq!((&file["mimeType"], &file["width"]), (&json!("image/jpeg"), &json!(640)));
    let url = text(&file["url"]);
    let whole = api.get(&url).await;
    assert_eq!(whole.headers()[CONTENT_TYPE], "image/jpeg");
    assert!(whole.headers()[CACHE_CONTROL].to_str().unwrap().contains("immutable"));
    assert!(whole.headers().get(CONTENT_DISPOSITION).is_none(), "a picture is shown");
    let tag = whole.headers()[ETAG].clone();
    assert_eq!(whole.bytes().await.unwrap(), bytes);

    let known = api.ask(Method::GET, &url).header(IF_NONE_MATCH, tag).send().await.unwrap();
    assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
    let some = api.ask(Method::GET, &url).header(RANGE, "bytes=10-19").send().await.unwrap();
    assert_eq!(some.status(), StatusCode::PARTIAL_CONTENT);
    assert_eq!(some.headers()[CONTENT_RANGE], format!("bytes 10-19/{}", bytes.len()));
    assert_eq!(some.bytes().await.unwrap(), bytes[10..20]);
    let beyond = api.ask(Method::GET, &url).header(RANGE, "bytes=99999999-").send().await.unwrap();
    assert_eq!(beyond.status(), StatusCode::RANGE_NOT_SATISFIABLE);

    let small = api.get(&format!("{url}?size=300")).await.bytes().await.unwrap();
    assert_eq!(
        image::load_from_memory(&small).unwrap().dimensions(),
        (320, 240),
        "rounded up to a usual size"
    );
    let saved = api.get(&format!("{url}?download=1")).await;
    assert!(saved.headers()[CONTENT_DISPOSITION].to_str().unwrap().contains("cat.jpg"));
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thumbnails_are_rendered_once_even_across_a_restart() {
    let api = Api::open().await;
    let file = keep(&api, "cat.jpg", jpeg(640, 480)).await;
    let small = format!("{}?size=96", text(&file["url"]));
    let first = api.get(&small).await.bytes().await.unwrap();
    let views = api.settings.folder().join("attachments/views");
    let kept = std::fs::read_dir(views.read_dir().unwrap().next().unwrap().unwrap().path());
    let kept = kept.unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read(&kept).unwrap(), first);
    // A thumbnail that was rendered again would not be this one.
    let mark = jpeg(8, 8);
    std::fs::write(&kept, &mark).unwrap();
    let api = api.restarted().await;
    assert_eq!(api.get(&small).await.bytes().await.unwrap(), mark);
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_files_are_downloaded_and_never_shown() {
    let api = Api::open().await;
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>".to_vec();
    let html = b"<!doctype html><html><script>alert(1)</script></html>".to_vec();
    for (name, bytes) in [("a.svg", svg), ("a.html", html.clone()), ("cat.png", html)] {
        let file = keep(&api, name, bytes).await;
        let served = api.get(&text(&file["url"])).await;
        let kind = served.headers()[CONTENT_TYPE].to_str().unwrap();
        assert!(["application/octet-stream", "text/plain"].contains(&kind), "{name}: {kind}");
        assert!(served.headers()[CONTENT_DISPOSITION].to_str().unwrap().starts_with("attachment"), "{name}");
        assert_eq!(served.headers()["x-content-type-options"], "nosniff");
        assert!(served.headers()["content-security-policy"].to_str().unwrap().contains("sandbox"));
    }
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_lists_ancestors_and_children() {
    let api = Api::open().await;
    let session = api.begin().await;
    let form = Form::new()
        .text("content", "crop to a square, then rotate left")
        .part("files", part("a.jpg", jpeg(64, 48)));
    let last = api.asks(&session, form).await["attachments"][0].clone();
    let original = api.history(&session).await[0]["attachments"][0].clone();
    let known = api.read(&format!("{}/metadata", text(&last["url"]))).await["attachment"].clone();
    let chain: Vec<&Value> =
        known["ancestors"].as_array().unwrap().iter().map(|a| &a["recipe"]["tool"]).collect();
    assert_eq!(chain, [&Value::Null, &json!("crop_image")], "the original first");
    assert_eq!(known["ancestors"][0]["attachmentId"], original["attachmentId"]);
    assert_eq!(known["recipe"]["tool"], "rotate_image");
    let middle = known["ancestors"][1].clone();
    let known = api.read(&format!("{}/metadata", text(&middle["url"]))).await["attachment"].clone();
    assert_eq!(known["children"][0]["attachmentId"], last["attachmentId"]);

    // Children stay when the original is deleted, even those that were only recipes.
    let delete = || api.ask(Method::DELETE, &text(&original["url"])).send();
    assert_eq!(delete().await.unwrap().status(), StatusCode::OK);
    problem(delete().await.unwrap(), StatusCode::NOT_FOUND).await;
    problem(api.get(&text(&original["url"])).await, StatusCode::NOT_FOUND).await;
    let bytes = api.get(&text(&middle["url"])).await.bytes().await.unwrap();
    assert_eq!(image::load_from_memory(&bytes).unwrap().dimensions(), (48, 48));
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_uploads_are_refused() {
    let api = Api::open().await;
    let post = |form: Form| api.ask(Method::POST, "/attachments").multipart(form).send();
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    problem(post(Form::new().text("words", "hi")).await.unwrap(), unprocessable).await;
    problem(post(Form::new().part("file", part("a.jpg", Vec::new()))).await.unwrap(), unprocessable).await;
    let two = Form::new().part("file", part("a", vec![1])).part("file", part("b", vec![2]));
    problem(post(two).await.unwrap(), unprocessable).await;
    let json = api.ask(Method::POST, "/attachments").json(&json!({})).send().await.unwrap();
    problem(json, StatusCode::UNSUPPORTED_MEDIA_TYPE).await;
    api.bot.stop().await;
}
