//! The log of the real program, at its most verbose level, holds no secret and nothing that people or the model said.

use crate::{
    harness::{Answer, Program, ScriptedModel, Settings, World, jpeg, key_of, user},
    vendors::VENDORS,
};
use photothread::providers::Vendor;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn the_trace_log_holds_no_secrets_and_nothing_people_wrote() {
    for vendor in VENDORS {
        with_a_model_of(*vendor).await;
    }
}

async fn with_a_model_of(vendor: Vendor) {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let mut settings = Settings::new(&world).with_model_of(vendor, &model);
    for other in VENDORS {
        settings = settings.with_key_of(*other);
    }
    let settings = settings.with("PHOTOTHREAD_HISTORY__TITLES", "message");
    let ann = world.private_chat(user(1001, "Ann"));
    let mut command = Program::command(&settings);
    command.env_clear().envs(settings.variables()).env("PHOTOTHREAD_LOG", "trace");
    let program = Program::spawn(&settings, &mut command);

    // Each of these is a way in which a secret or a person's words could get into the log.
    world.next("download").gets_lost();
    model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    model.next_reply("a whispered answer");
    ann.sends_photo(jpeg(64, 48), "a whispered caption").await;
    assert_eq!(ann.next_message().await.caption, "a whispered answer");
    let echo = format!("Incorrect API key provided: {}", key_of(vendor));
    model.next(Answer::Error(401, echo.clone()));
    model.next(Answer::Error(500, echo));
    ann.says("whispered words").await;
    ann.next_message().await;
    world.next_send().loses_its_answer();
    ann.says("more whispered words").await;
    model.wait_for_requests(4).await;
    world.wait_for_calls("sendMessage", 2).await;

    let log = program.kill();
    assert!(log.contains("photothread"), "there is a log");
    let keys = VENDORS.iter().map(|vendor| key_of(*vendor));
    for secret in keys.chain([world.token(), "the-token-of-the-test-world", "whispered"]) {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} is in the log with {vendor}");
    }
}

/// Uploads, imports and downloads that fail in different ways, with file names that must not show up.
#[tokio::test(flavor = "multi_thread")]
async fn the_trace_log_holds_no_file_names() {
    let world = World::start().await;
    let address = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap()
    };
    let settings = Settings::new(&world)
        .with("PHOTOTHREAD_WEB__LISTEN", address.to_string())
        .with("PHOTOTHREAD_ATTACHMENTS__MAX_FILE_BYTES", "20000");
    let ann = world.private_chat(user(1001, "Ann"));
    let mut command = Program::command(&settings);
    command.env_clear().envs(settings.variables()).env("PHOTOTHREAD_LOG", "photothread=trace,info");
    let program = Program::spawn(&settings, &mut command);

    let sizes: [&[u8]; 4] = [b"", &[7; 30_000], b"neither a picture nor text \x00\xff", b"whisper"];
    for (n, content) in sizes.iter().enumerate() {
        ann.sends_document(&format!("whispered-{n}.jpg"), content.to_vec(), "rotate left").await;
        ann.next_message().await;
    }
    ann.sends_huge_document("whispered-huge.jpg", 90_000_000, "rotate left").await;
    ann.next_message().await;

    // The bot has answered, so its page listens.
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = reqwest::Client::new();
    let url = format!("http://{address}");
    let new = client.post(format!("{url}/sessions")).json(&json!({})).send().await.unwrap();
    let session = new.json::<Value>().await.unwrap()["session"]["sessionId"].as_str().unwrap().to_owned();
    let file = |n: usize| Part::bytes(sizes[n].to_vec()).file_name(format!("whispered-{n}.jpg"));
    let post = async |path: String, form: Form| {
        client.post(format!("{url}{path}")).multipart(form).send().await.unwrap()
    };
    for n in 0..sizes.len() {
        post("/attachments".into(), Form::new().part("file", file(n))).await;
        post("/sessions/import".into(), Form::new().part("file", file(n))).await;
        let form = Form::new().text("content", "rotate left").part("files", file(n));
        post(format!("/sessions/{session}/messages"), form).await;
    }
    // Blobs that are gone: views, edits and exports fail.
    let kept = post(
        "/attachments".into(),
        Form::new().part("file", Part::bytes(jpeg(64, 48)).file_name("whispered.jpg")),
    )
    .await;
    let kept: Value = kept.json().await.unwrap();
    let id = kept["attachment"]["attachmentId"].as_str().unwrap();
    std::fs::remove_dir_all(settings.folder().join("attachments/sha256")).unwrap();
    for path in [format!("/attachments/{id}"), format!("/attachments/{id}?size=200")] {
        client.get(format!("{url}{path}")).send().await.unwrap();
    }
    let export = client.get(format!("{url}/sessions/{session}/export?format=zip")).send().await.unwrap();
    let _ = export.bytes().await;

    let log = program.kill();
    assert!(log.contains("upload refused"), "there is a log: {log}");
    let line = log.lines().find(|line| line.contains("whispered"));
    assert_eq!(line, None, "a file name is in the log");
}
