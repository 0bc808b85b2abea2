//! Connections to the page within limits: what one client holds open takes nothing from others or from Telegram.

use crate::{
    api::{Api, events::Watching, part, problem},
    harness::{Program, Settings, WAIT_TIMEOUT, World, jpeg, user},
};
use reqwest::{
    Method, Response, StatusCode,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, VARY},
    multipart::Form,
};
use std::process::{Command, Stdio};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// The program with at most this many open files.
fn with_open_files(settings: &Settings, max: usize) -> Program {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {max} && exec \"$0\""), env!("CARGO_BIN_EXE_photothread")]);
    command.current_dir(settings.folder()).envs(settings.variables());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Program::spawn(settings, &mut command)
}

#[tokio::test(flavor = "multi_thread")]
async fn more_connections_than_open_files_silence_neither_telegram_nor_the_page() {
    rustls::crypto::ring::default_provider().install_default().ok();
    let world = World::start().await;
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let settings = Settings::new(&world).with("PHOTOTHREAD_WEB__LISTEN", address.to_string());
    let program = with_open_files(&settings, 256);
    let ann = world.private_chat(user(1001, "Ann"));
    ann.says("hello").await;
    ann.next_message().await;

    let mut held = Vec::new();
    for at in 0..400 {
        let mut connection = TcpStream::connect(address).await.unwrap();
        // Some send nothing, some half a request.
        if at % 2 == 0 {
            // The server may have closed it for a newer one.
            let _ = connection.write_all(b"GET /sessions HTTP/1.1\r\nHost: localhost\r\n").await;
        }
        held.push(connection);
    }
    ann.sends_photo(jpeg(64, 48), "rotate left").await;
    assert!(ann.next_message().await.photo.is_some(), "Telegram, the database and the files still work");
    let page = reqwest::get(format!("http://{address}/sessions")).await.unwrap();
    assert_eq!(page.status(), StatusCode::OK, "and so does the page");
    let log = program.kill();
    assert!(!log.contains("Too many open files"), "{log}");
    assert!(log.contains("the limit on open files is low"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_has_a_limited_number_of_event_streams() {
    let api = Api::open().await;
    let session = api.begin().await;
    let watch = async || api.get(&format!("/sessions/{session}/events")).await;
    let mut streams = Vec::new();
    for _ in 0..20 {
        streams.push(Watching::from(watch().await).await);
    }
    let refused = problem(watch().await, StatusCode::TOO_MANY_REQUESTS).await;
    assert!(refused.contains("as many conversations as one can"), "{refused}");
    assert_eq!(api.get("/sessions").await.status(), StatusCode::OK, "everything else goes on");

    streams.pop();
    let again = async {
        loop {
            let answer = watch().await;
            if answer.status() == StatusCode::OK {
                return answer;
            }
        }
    };
    let again = tokio::time::timeout(WAIT_TIMEOUT, again).await.expect("a closed stream makes room");
    streams.push(Watching::from(again).await);
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_needs_exactly_one_host() {
    let api = Api::open().await;
    let address = api.url.strip_prefix("http://").unwrap();
    let status = async |request: &str| {
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let read = connection.read_to_end(&mut answer);
        tokio::time::timeout(WAIT_TIMEOUT, read).await.expect("an answer").unwrap();
        String::from_utf8_lossy(&answer)["HTTP/1.1 ".len()..][..3].to_owned()
    };
    for path in ["/sessions", "/healthz"] {
        let with = |hosts: &str| format!("GET {path} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
        assert_eq!(status(&with("Host: localhost\r\n")).await, "200", "{path}");
        assert_eq!(status(&with("Host: localhost\r\nHost: localhost\r\n")).await, "400", "{path}");
        assert_eq!(status(&with("Host: localhost\r\nHost: evil.example\r\n")).await, "400", "{path}");
        assert_eq!(status(&with("")).await, "400", "{path}");
    }
    assert_eq!(status("GET /healthz HTTP/1.0\r\n\r\n").await, "200", "older clients send none");
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_are_compressed_and_streams_and_pictures_are_not() {
    let api = Api::open().await;
    let session = api.begin().await;
    let form = Form::new().text("content", "rotate left").part("files", part("a.jpg", jpeg(64, 48)));
    let answer = api.asks(&session, form).await;
    let picture = answer["attachments"][0]["attachmentId"].as_str().unwrap();
    let page = api.get("/").await.text().await.unwrap();
    let asset = |name: &str| {
        let (before, _) = page.split_once(name).expect("a link to it");
        let (_, folder) = before.rsplit_once('"').expect("a quoted address");
        format!("{folder}{name}")
    };
    let get = async |path: &str, encodings: &str| -> Response {
        let request = api.ask(Method::GET, path).header(ACCEPT_ENCODING, encodings);
        request.send().await.unwrap()
    };
    for path in ["/", "/openapi.json", &asset("/app/api.js"), &asset("/style.css")] {
        let plain = get(path, "identity").await;
        assert_eq!(plain.headers().get(CONTENT_ENCODING), None, "{path}");
        let plain = plain.bytes().await.unwrap();
        let packed = get(path, "br, gzip").await;
        assert_eq!(
            packed.headers().get(CONTENT_ENCODING).map(|coding| coding.as_bytes()),
            Some(b"gzip".as_slice()),
            "{path}"
        );
        assert!(packed.headers()[VARY].to_str().unwrap().contains("accept-encoding"), "{path}");
        let packed = packed.bytes().await.unwrap();
        assert!(packed.starts_with(b"\x1f\x8b") && packed.len() < plain.len(), "{path}");
    }
    for path in [
        format!("/sessions/{session}/events"),
        format!("/attachments/{picture}"),
        format!("/attachments/{picture}?size=320"),
        format!("/sessions/{session}/export?format=zip"),
    ] {
        let answer = get(&path, "gzip").await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        let kind = answer.headers()[CONTENT_TYPE].to_str().unwrap().to_owned();
        assert_eq!(answer.headers().get(CONTENT_ENCODING), None, "{path}: {kind}");
    }
    let stream = get(&format!("/sessions/{session}/events"), "gzip").await;
    Watching::from(stream).await;
    api.bot.stop().await;
}
