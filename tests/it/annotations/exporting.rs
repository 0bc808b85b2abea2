//! Export over HTTP and by the command line, and import of what was exported.

use super::*;
use crate::{
    api::{part, problem},
    harness::{Settings, World, png},
};
use std::{collections::HashMap, io::Read as _, process::Command};

async fn export(api: &Api, session: &str, format: &str) -> Response {
    let answer = api.get(&format!("/sessions/{session}/export?format={format}")).await;
    assert_eq!(answer.status(), StatusCode::OK);
    answer
}

/// A conversation with an album, a chain of edits, a reply, annotations and a file that is not a picture.
async fn rich(api: &Api) -> String {
    let session = api.begin().await;
    let album = Form::new()
        .text("content", "make them black and white, then rotate left")
        .part("files", part("../a b.jpg", jpeg(64, 48)))
        .part("files", part("a b.jpg", png(50, 40)));
    let first = api.asks(&session, album).await;
    let reply = json!({
        "content": "crop to a square",
        "reply_to": first["internalId"],
        "reply_attachment": first["attachments"][1]["attachmentId"],
    });
    let sent = api.says(&session, &reply).await;
    let second = api.answer(&session, &sent["turnId"]).await;
    let notes = json!({
        "tags": ["topic:cats", "later"],
        "refs": [
            { "url": "https://example.org", "title": "A [source]" },
            { "url": format!("turn:{}", text(&first["turnId"])) },
            { "url": format!("attachment:{}", id_of(&first["attachments"][0])), "type": "used" },
        ],
    });
    super::notes(api, &session, &second["internalId"], &notes).await;
    api.asks(
        &session,
        Form::new().text("content", "keep this").part("files", part("notes.txt", b"words".to_vec())),
    )
    .await;
    let title =
        api.ask(Method::PUT, &format!("/sessions/{session}")).json(&json!({ "title": "Cats & dogs" }));
    assert_eq!(title.send().await.unwrap().status(), StatusCode::OK);
    session
}

/// The export with ids replaced by order of appearance, and without timestamps that must differ.
fn comparable(exported: &Value) -> Value {
    let mut plain = exported.clone();
    plain["exportedAt"] = Value::Null;
    plain["session"]["createdAt"] = Value::Null;
    let session = text(&plain["session"]["sessionId"]);
    let mut words = plain.to_string().replace(&session, "the-session");
    let uuid = regex::Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap();
    let mut names: Vec<String> = Vec::new();
    for found in uuid.find_iter(&words.clone()) {
        if !names.contains(&found.as_str().to_owned()) {
            names.push(found.as_str().to_owned());
        }
    }
    for (number, name) in names.iter().enumerate() {
        words = words.replace(name, &format!("id-{number}"));
    }
    let mut plain: Value = serde_json::from_str(&words).unwrap();
    let mut known: HashMap<i64, usize> = HashMap::new();
    for entry in plain["history"].as_array_mut().unwrap() {
        let id = entry["internalId"].as_i64().unwrap();
        let next = known.len();
        entry["internalId"] = json!(*known.entry(id).or_insert(next));
        if let Some(id) = entry["replyTo"]["internalId"].as_i64() {
            entry["replyTo"]["internalId"] = json!(known[&id]);
        }
    }
    plain
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_export_is_the_same_conversation() {
    there_and_back(Api::open().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_export_is_the_same_conversation_on_postgres() {
    let world = World::start().await;
    let settings = Settings::new(&world).with("TELEGRAM_BOT_TOKEN", "").on_postgres().await;
    there_and_back(Api::with(world, settings).await).await;
}

async fn there_and_back(api: Api) {
    let session = rich(&api).await;
    let answer = export(&api, &session, "json").await;
    let named = answer.headers()[header::CONTENT_DISPOSITION].to_str().unwrap().to_owned();
    assert!(named.starts_with("attachment; filename=\"photothread-cats-dogs-"), "{named}");
    let exported: Value = answer.json().await.unwrap();
    assert_eq!(exported["question"], "make them black and white, then rotate left");
    assert_eq!(exported["answer"], exported["history"].as_array().unwrap().last().unwrap()["content"]);
    assert_eq!((&exported["version"], &exported["session"]["title"]), (&json!(1), &json!("Cats & dogs")));
    assert_eq!(exported["history"], json!(api.history(&session).await));
    let files = exported["attachments"].as_array().unwrap();
    let mut ids: Vec<String> = files.iter().map(id_of).collect();
    ids.dedup();
    assert_eq!((ids.len(), files.len()), (8, 8), "two photos, twice two edits, a crop, a text, each once");

    let other = api.begin().await;
    replaces(&api, &other, &exported).await;
    let again: Value = export(&api, &other, "json").await.json().await.unwrap();
    assert_eq!(comparable(&again), comparable(&exported));
    let api = api.restarted().await;
    let later: Value = export(&api, &other, "json").await.json().await.unwrap();
    assert_eq!(comparable(&later), comparable(&exported));

    // A deleted picture that was replied to is not exported.
    let replied = |entry: &Value| entry["replyTo"]["attachmentId"].is_string();
    let reply = api.history(&other).await.into_iter().find(replied).unwrap();
    let lost = format!("/attachments/{}", text(&reply["replyTo"]["attachmentId"]));
    assert_eq!(api.ask(Method::DELETE, &lost).send().await.unwrap().status(), StatusCode::OK);
    let without: Value = export(&api, &other, "json").await.json().await.unwrap();
    let third = api.begin().await;
    assert_eq!(replaces(&api, &third, &without).await.len(), without["history"].as_array().unwrap().len());
    let unchanged = api.read(&format!("/sessions/{other}/history?include_tools=true")).await;
    replaces(&api, &other, &unchanged).await;

    // Imported into its own session, nothing changes.
    replaces(&api, &session, &exported).await;
    let same: Value = export(&api, &session, "json").await.json().await.unwrap();
    assert_eq!((&same["history"], &same["attachments"]), (&exported["history"], &exported["attachments"]));
    api.bot.stop().await;
}

fn unzipped(bytes: &[u8]) -> HashMap<String, Vec<u8>> {
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let mut files = HashMap::new();
    for index in 0..zip.len() {
        let mut file = zip.by_index(index).unwrap();
        assert!(file.enclosed_name().is_some());
        let mut content = Vec::new();
        file.read_to_end(&mut content).unwrap();
        assert!(files.insert(file.name().unwrap().into_owned(), content).is_none(), "each once");
    }
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_hold_each_file_once_under_a_safe_name() {
    let api = Api::open().await;
    let session = rich(&api).await;
    let answer = export(&api, &session, "zip").await;
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/zip");
    let files = unzipped(&answer.bytes().await.unwrap());
    let history: Value = serde_json::from_slice(&files["history.json"]).unwrap();
    let listed = history["attachments"].as_array().unwrap();
    assert_eq!(files.len(), listed.len() + 2, "{:?}", files.keys());
    for file in listed {
        let shown = api.get(&text(&file["url"])).await.bytes().await.unwrap();
        assert_eq!(files[&text(&file["file"])], shown, "{file}");
    }
    assert_eq!(text(&listed[0]["file"]), "files/1-a_b.jpg");
    let markdown = String::from_utf8(files["conversation.md"].clone()).unwrap();
    assert!(markdown.starts_with("# Cats \\& dogs\n"), "{markdown}");
    for part in [
        "![a b.jpg](files/1-a_b.jpg)",
        "crop\\_image",
        "[A \\[source\\]](<https://example.org>)",
        "topic:cats",
    ] {
        assert!(
            markdown.contains(part) || markdown.contains(&part.replace("\\_", "_")),
            "{part}: {markdown}"
        );
    }
    let other = api.begin().await;
    let imported = replaces(&api, &other, &history).await;
    assert_eq!(roles(&imported), roles(history["history"].as_array().unwrap()));

    let answer = export(&api, &session, "markdown").await;
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/markdown; charset=utf-8");
    let alone = answer.text().await.unwrap();
    let body = |markdown: &str| markdown.split_once("\n## ").unwrap().1.to_owned();
    assert_eq!(body(&alone), body(&markdown));
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_without_lost_files_are_complete_otherwise() {
    let api = Api::open().await;
    let session = api.begin().await;
    api.asks(&session, photo("rotate left")).await;
    let blobs = api.settings.folder().join("attachments/sha256");
    let original = api.history(&session).await[0]["attachments"][0].clone();
    let bytes = api.get(&text(&original["url"])).await.bytes().await.unwrap();
    for folder in std::fs::read_dir(&blobs).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if std::fs::read(&path).unwrap() == bytes {
                std::fs::remove_file(&path).unwrap();
            }
        }
    }
    let files = unzipped(&export(&api, &session, "zip").await.bytes().await.unwrap());
    let missing = String::from_utf8(files["files/MISSING.txt"].clone()).unwrap();
    assert!(missing.starts_with("files/1-cat.jpg: "), "{missing}");
    assert!(files.keys().any(|name| name.starts_with("files/2-")), "{:?}", files.keys());
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_exports_are_refused() {
    let api = Api::open().await;
    let session = api.begin().await;
    for query in ["format=pdf", "format=", "colour=red"] {
        problem(api.get(&format!("/sessions/{session}/export?{query}")).await, StatusCode::BAD_REQUEST).await;
    }
    let gone = uuid::Uuid::new_v4();
    problem(api.get(&format!("/sessions/{gone}/export")).await, StatusCode::NOT_FOUND).await;
    let empty: Value = api.get(&format!("/sessions/{session}/export")).await.json().await.unwrap();
    assert_eq!((&empty["question"], &empty["history"]), (&json!(""), &json!([])));
    assert_eq!(unzipped(&export(&api, &session, "zip").await.bytes().await.unwrap()).len(), 2);
    api.bot.stop().await;
}

/// Runs `photothread export …` on the data of this program: success, and its output.
fn terminal(api: &Api, arguments: &[&str]) -> (bool, String, Vec<u8>) {
    let ran = Command::new(env!("CARGO_BIN_EXE_photothread"))
        .arg("export")
        .args(arguments)
        .env_clear()
        .envs(api.settings.variables())
        .current_dir(api.settings.folder())
        .output()
        .unwrap();
    (ran.status.success(), String::from_utf8(ran.stderr).unwrap(), ran.stdout)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_exports_the_same() {
    let api = Api::open().await;
    let session = rich(&api).await;
    let empty = api.begin().await;
    let over_http: Value = export(&api, &session, "json").await.json().await.unwrap();
    let folder = api.settings.folder().join("taken");
    let out = folder.to_str().unwrap();

    let (fine, _, printed) = terminal(&api, &["--session", &session, "--out", "-"]);
    assert!(fine);
    let mut printed: Value = serde_json::from_slice(&printed).unwrap();
    printed["exportedAt"] = over_http["exportedAt"].clone();
    assert_eq!(printed, over_http);

    let (fine, said, _) = terminal(&api, &["--all", "--format", "zip", "--out", out]);
    assert!(fine && said.contains("Exported 2 conversations to "), "{said}");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let short = |id: &str| id[..8].to_owned();
    let mut expected = [
        format!("photothread-cats-dogs-{}.zip", short(&session)),
        format!("photothread-{}.zip", short(&empty)),
    ];
    expected.sort();
    assert_eq!(names, expected, "and nothing half done");
    let zip = std::fs::read(folder.join(format!("photothread-cats-dogs-{}.zip", short(&session)))).unwrap();
    assert_eq!(unzipped(&zip).len(), 10);

    let file = folder.join("one.md");
    let (fine, said, _) =
        terminal(&api, &["--session", &session, "--format", "markdown", "--out", file.to_str().unwrap()]);
    assert!(fine && said.contains("one.md"), "{said}");
    let nobody = uuid::Uuid::new_v4().to_string();
    for (arguments, expected) in [
        (vec!["--session", &session, "--out", file.to_str().unwrap()], "is there already"),
        (vec!["--all", "--out", file.to_str().unwrap()], "must be a folder"),
        (vec!["--all", "--out", "-"], "cannot go to the terminal"),
        (vec!["--session", &nobody], "there is no conversation"),
        (vec!["--session", "x"], "invalid value 'x'"),
        (vec!["--all", "--format", "pdf"], "the formats are json, markdown and zip"),
        (vec![], "--all"),
    ] {
        let (fine, said, _) = terminal(&api, &arguments);
        assert!(!fine && said.contains(expected), "{arguments:?}: {said}");
    }
    api.bot.stop().await;
}

/// Imports an archive of a deleted session.
async fn imports(api: &Api, bytes: Vec<u8>) -> Response {
    let form = Form::new().part("file", part("export.zip", bytes));
    api.ask(Method::POST, "/sessions/import").multipart(form).send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_conversation_is_restored_from_its_archive() {
    let api = Api::open().await;
    let session = rich(&api).await;
    let archive = export(&api, &session, "zip").await.bytes().await.unwrap().to_vec();
    let before: Value = export(&api, &session, "json").await.json().await.unwrap();
    api.ask(Method::DELETE, &format!("/sessions/{session}")).send().await.unwrap();

    let answer = imports(&api, archive.clone()).await;
    assert_eq!(answer.status(), StatusCode::CREATED);
    let back = answer.json::<Value>().await.unwrap()["session"].clone();
    assert_eq!(back["title"], "Cats & dogs");
    let after: Value = export(&api, &text(&back["sessionId"]), "json").await.json().await.unwrap();
    assert_eq!(comparable(&after)["history"], comparable(&before)["history"]);
    let was = unzipped(&archive);
    for (file, told) in
        after["attachments"].as_array().unwrap().iter().zip(before["attachments"].as_array().unwrap())
    {
        assert_eq!(file["recipe"]["tool"], told["recipe"]["tool"], "what was made knows how");
        let bytes = api.get(&text(&file["url"])).await.bytes().await.unwrap().to_vec();
        assert!(was.values().any(|kept| *kept == bytes), "{file}");
    }
    let reply = json!({ "content": "rotate left", "reply_to": after["history"][0]["internalId"] });
    let sent = api.says(&text(&back["sessionId"]), &reply).await;
    assert!(
        !api.answer(&text(&back["sessionId"]), &sent["turnId"]).await["attachments"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_archives_leave_nothing_behind() {
    let api = Api::open().await;
    let session = rich(&api).await;
    let archive = export(&api, &session, "zip").await.bytes().await.unwrap().to_vec();
    api.ask(Method::DELETE, &format!("/sessions/{session}")).send().await.unwrap();
    let mut damaged = archive.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 200].fill(0);
    for bytes in [b"hello".to_vec(), b"PK\x03\x04".to_vec(), archive[..archive.len() / 2].to_vec(), damaged] {
        problem(imports(&api, bytes).await, StatusCode::UNPROCESSABLE_ENTITY).await;
    }
    assert_eq!(api.read("/sessions").await["totalCount"], 0);
    let files = api.settings.folder().join("attachments/sha256");
    let left = walk(&files);
    assert!(left.is_empty(), "{left:?}");
    api.bot.stop().await;
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
