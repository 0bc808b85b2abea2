//! Requests whose client hangs up: before all of it has arrived, nothing is kept; after that, it is done to its end.

use crate::{
    api::{Api, part, problem},
    harness::{Settings, WAIT_TIMEOUT, World},
    imports::{archive, blobs_after, one_file_under},
    storage::{blobs, noise},
};
use reqwest::{Method, StatusCode, multipart::Form};
use serde_json::Value;
use std::time::Duration;
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

const BOUNDARY: &str = "a-boundary";

/// A field of a multipart form with a file, without its end.
fn file_field(name: &str, bytes: &[u8]) -> Vec<u8> {
    let head = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"a.bin\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    );
    [head.as_bytes(), bytes, b"\r\n"].concat()
}

/// Sends the beginning of a form of this length, and returns the open connection.
async fn begin(api: &Api, path: &str, length: usize, sent: &[u8]) -> TcpStream {
    let address = api.url.strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\
         Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    connection.write_all(sent).await.unwrap();
    connection
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(WAIT_TIMEOUT, wait).await.unwrap_or_else(|_| panic!("waited for {what}"));
}

async fn count_sessions(api: &Api) -> Option<i64> {
    api.read("/sessions").await["totalCount"].as_i64()
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_message_leaves_neither_a_row_nor_a_file() {
    let api = Api::open().await;
    let session = api.begin().await;
    let two = [file_field("files", &noise(1, 400_000)), file_field("files", &noise(2, 400_000))].concat();
    let path = format!("/sessions/{session}/messages");
    let connection = begin(&api, &path, two.len() + 1000, &two[..600_000]).await;
    until("the first file", async || blobs(&api.settings).len() == 1).await;
    drop(connection);
    assert_eq!(blobs_after(&api, 0).await, 0);
    assert_eq!(api.history(&session).await, Vec::<Value>::new());
    let store = api.settings.store().await;
    let since = chrono::Utc::now() - chrono::TimeDelta::hours(1);
    let conversation = store.session(session.parse().unwrap()).await.unwrap().unwrap().conversation;
    assert_eq!(store.recent_attachments(&conversation, since, 10).await.unwrap(), []);
    store.close().await;
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_an_import_leaves_nothing_and_a_whole_one_is_done_without_its_client() {
    let api = Api::open().await;
    let form = file_field("file", &archive(&one_file_under(3000), &noise(1, 600_000)));
    let whole = [&form[..], format!("--{BOUNDARY}--\r\n").as_bytes()].concat();
    let path = "/sessions/import";
    drop(begin(&api, path, whole.len(), &whole[..whole.len() / 2]).await);
    // Another import waits for this person's first one to end.
    let refused = Form::new().part("file", part("export.zip", b"PK but no zip".to_vec()));
    let refused = api.ask(Method::POST, path).multipart(refused).send().await.unwrap();
    problem(refused, StatusCode::UNPROCESSABLE_ENTITY).await;
    assert_eq!((count_sessions(&api).await, blobs(&api.settings).len()), (Some(0), 0));

    let connection = begin(&api, path, whole.len(), &whole).await;
    until("the begun import", async || count_sessions(&api).await == Some(1)).await;
    drop(connection);
    until("the whole import", async || api.read("/sessions").await["sessions"][0]["messageCount"] == 30)
        .await;
    assert_eq!((count_sessions(&api).await, blobs(&api.settings).len()), (Some(1), 1));
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_finds_no_room_is_asked_to_come_back() {
    let world = World::start().await;
    let settings = Settings::new(&world)
        .with("TELEGRAM_BOT_TOKEN", "")
        .with("PHOTOTHREAD_ATTACHMENTS__MAX_FILE_BYTES", "1048576")
        .with("PHOTOTHREAD_LIMITS__UPLOAD_BYTES_AT_ONCE", "2097152");
    let api = Api::with(world, settings).await;
    // The first reserves a person's share with its first bytes, and then sends nothing more.
    let held = begin(&api, "/attachments", 900_000, &file_field("file", b"the beginning")).await;
    let upload = async || {
        let form = Form::new().part("file", part("a.bin", noise(1, 300_000)));
        api.ask(Method::POST, "/attachments").multipart(form).send().await.unwrap()
    };
    let refused = async {
        loop {
            let answer = upload().await;
            if answer.status() != StatusCode::CREATED {
                return answer;
            }
        }
    };
    let refused = tokio::time::timeout(WAIT_TIMEOUT + Duration::from_secs(10), refused).await.unwrap();
    assert!(refused.headers().contains_key("retry-after"));
    let detail = problem(refused, StatusCode::SERVICE_UNAVAILABLE).await;
    assert!(detail.contains("Many files are arriving"), "{detail}");
    drop(held);
    until("room", async || upload().await.status() == StatusCode::CREATED).await;
    api.bot.stop().await;
}
