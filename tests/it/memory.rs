//! The memory of the running program stays within generous bounds: files and histories are streamed.

use crate::{
    harness::{Program, Settings, WAIT_TIMEOUT, World},
    storage::noise,
};
use futures::future::join_all;
use reqwest::{Client, Response, StatusCode, header, multipart::Form};
use serde_json::{Value, json};
use std::fs;
use tokio::net::TcpListener;

const MEBI: u64 = 1 << 20;

/// The program as a process of its own, so that its memory is not that of the test.
struct Measured {
    program: Program,
    client: Client,
    url: String,
    _settings: Settings,
    _world: World,
}

impl Measured {
    async fn start() -> Self {
        rustls::crypto::ring::default_provider().install_default().ok();
        let world = World::start().await;
        let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let settings = Settings::new(&world)
            .with("TELEGRAM_BOT_TOKEN", "")
            .with("PHOTOTHREAD_WEB__LISTEN", address.to_string());
        let program = Program::start(&settings);
        let measured = Self {
            program,
            client: Client::new(),
            url: format!("http://{address}"),
            _settings: settings,
            _world: world,
        };
        let ready = async {
            while measured.client.get(measured.at("/healthz")).send().await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(WAIT_TIMEOUT, ready).await.expect("a page");
        measured
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// `VmRSS` or `VmHWM` in bytes.
    fn memory(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.program.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).expect("a line of this field");
        let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kilobytes * 1024
    }

    async fn begin(&self) -> String {
        let begun = self.client.post(self.at("/sessions")).json(&json!({})).send().await.unwrap();
        begun.json::<Value>().await.unwrap()["session"]["sessionId"].as_str().unwrap().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_messages_that_arrive_together_are_not_held_in_memory() {
    let program = Measured::start().await;
    let before = program.memory("VmHWM");
    let sends = (0..4).map(|seed| {
        let program = &program;
        async move {
            let session = program.begin().await;
            let file = crate::api::part("large.bin", noise(seed, 40 << 20));
            let form = Form::new().text("content", "keep this").part("files", file);
            let path = program.at(&format!("/sessions/{session}/messages"));
            program.client.post(path).multipart(form).send().await.unwrap().status()
        }
    });
    assert_eq!(join_all(sends).await, [StatusCode::ACCEPTED; 4]);
    let grown = program.memory("VmHWM") - before;
    assert!(grown < 100 * MEBI, "160 MiB arrived, and memory grew by {} MiB", grown / MEBI);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_do_not_read_a_large_history_hold_little_of_it() {
    let program = Measured::start().await;
    let session = program.begin().await;
    let path = program.at(&format!("/sessions/{session}/history"));
    let etag = program.client.get(&path).send().await.unwrap().headers()[header::ETAG].clone();
    let entry = json!({ "role": "user", "content": "word ".repeat(40_000) });
    let put = program.client.put(&path).header(header::IF_MATCH, etag).json(&vec![entry; 100]);
    let put = put.send().await.unwrap();
    assert_eq!(put.status(), StatusCode::OK);
    drop(put);

    let before = program.memory("VmRSS");
    let mut readers: Vec<Response> = Vec::new();
    for _ in 0..20 {
        let mut reader = program.client.get(&path).send().await.unwrap();
        reader.chunk().await.unwrap().expect("the beginning");
        readers.push(reader);
    }
    let grown = program.memory("VmRSS").saturating_sub(before);
    assert!(grown < 100 * MEBI, "20 readers of 20 MB, and memory grew by {} MiB", grown / MEBI);
    let rest = readers.pop().unwrap().text().await.unwrap();
    assert!(rest.ends_with('}') && rest.len() > 15_000_000, "the rest comes when it is read");
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_goes_back_after_edits() {
    let program = Measured::start().await;
    let photo = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/images/photo_arrow.heic")).unwrap();
    for words in
        ["highlight the middle in red", "rotate by 12 degrees", "make it half the size", "convert to png"]
    {
        let session = program.begin().await;
        let file = crate::api::part("photo.heic", photo.clone());
        let form = Form::new().text("content", words).part("files", file);
        let sent = program.client.post(program.at(&format!("/sessions/{session}/messages"))).multipart(form);
        assert_eq!(sent.send().await.unwrap().status(), StatusCode::ACCEPTED);
        let history = program.at(&format!("/sessions/{session}/history"));
        let answered = async {
            loop {
                let text = program.client.get(&history).send().await.unwrap().text().await.unwrap();
                if text.contains("\"assistant\"") {
                    assert!(text.matches("\"attachmentId\"").count() > 1, "{text}");
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(WAIT_TIMEOUT, answered).await.expect("an answer");
    }
    // A photo of twelve megapixels takes more than 200 MB while it is edited. Pages of the program itself do not count.
    let settled = async {
        while program.memory("RssAnon") > 64 * MEBI {
            tokio::task::yield_now().await;
        }
    };
    let settled = tokio::time::timeout(WAIT_TIMEOUT, settled).await;
    assert!(settled.is_ok(), "{} MiB stay", program.memory("RssAnon") / MEBI);
}
