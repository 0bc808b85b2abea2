//! Replacing and importing whole histories.

use super::*;
use crate::{
    api::{part, problem},
    harness::{ScriptedModel, Settings, World, png},
};
use std::path::Path;

fn blobs(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let count = |path: &Path| if path.is_dir() { blobs(path) } else { 1 };
    entries.map(|entry| count(&entry.unwrap().path())).sum()
}

fn store(api: &Api) -> usize {
    blobs(&api.settings.folder().join("attachments").join("sha256"))
}

#[tokio::test(flavor = "multi_thread")]
async fn replacing_a_history_by_itself_changes_nothing() {
    let api = Api::open().await;
    let session = api.begin().await;
    let first = api.asks(&session, photo("rotate left, then make it black and white")).await;
    let reply = json!({
        "content": "crop to a square",
        "reply_to": first["internalId"],
        "reply_attachment": first["attachments"][0]["attachmentId"],
    });
    let sent = api.says(&session, &reply).await;
    api.answer(&session, &sent["turnId"]).await;
    let read = api.read(&format!("/sessions/{session}/history?include_tools=true")).await;
    let before = (read["history"].as_array().unwrap().clone(), store(&api));

    assert_eq!(replaces(&api, &session, &read).await, before.0, "as GET answered it");
    assert_eq!(replaces(&api, &session, &read["history"]).await, before.0, "or only the list");
    let api = api.restarted().await;
    assert_eq!((api.history(&session).await, store(&api)), before);
    assert_eq!(api.read(&format!("/sessions/{session}")).await["session"]["messageCount"], 4);

    // Without the tool calls, intermediate files are deleted and the rest stays.
    let said = api.read(&format!("/sessions/{session}/history")).await;
    let kept = replaces(&api, &session, &said).await;
    assert_eq!(kept, said["history"].as_array().unwrap().clone());
    assert_eq!(roles(&kept), ["user", "assistant", "user", "assistant"]);
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minimal_history_is_imported_and_continued() {
    let api = Api::open().await;
    let session = api.begin().await;
    let upload =
        api.ask(Method::POST, "/attachments").multipart(Form::new().part("file", part("a.png", png(60, 30))));
    let upload: Value = upload.send().await.unwrap().json().await.unwrap();
    let id = id_of(&upload["attachment"]);
    let [call, result] = called("c1", &json!({ "images": [id] }), &format!("60 × 30\n[Attachment ID: {id}]"));
    let history = replaces(
        &api,
        &session,
        &json!([
            { "role": "user", "msg": format!("purple elephants\n[Attachment ID: {id}]"), "attachments": [id], "tags": ["Old"] },
            call,
            result,
            { "role": "assistant", "content": "Nice.", "refs": [{ "url": format!("attachment:{id}"), "type": "used" }],
              "timestamp": "2020-02-03T04:05:06+01:00", "internalId": 7 },
            { "role": "user", "content": "thanks", "replyTo": { "internalId": 7, "quote": "Nice" } },
        ]),
    )
    .await;
    assert_eq!(roles(&history), ["user", "tool_call", "tool", "assistant", "user"]);
    let copy = id_of(&history[0]["attachments"][0]);
    assert_ne!(copy, id, "a file from elsewhere comes as one of its own");
    for (index, field) in [(0, "content"), (1, "content"), (2, "content")] {
        let words = text(&history[index][field]);
        assert!(words.contains(&copy) && !words.contains(&id), "{words}");
    }
    assert_eq!(history[3]["refs"][0]["url"], json!(format!("attachment:{copy}")));
    assert_eq!(history[3]["timestamp"], json!("2020-02-03T03:05:06Z"));
    assert_eq!(history[4]["replyTo"]["internalId"], history[3]["internalId"], "by its new id");
    assert_eq!(history[0]["tags"], json!(["old"]));
    let turns: Vec<&Value> = history.iter().map(|entry| &entry["turnId"]).collect();
    assert!(turns[1].is_string() && turns[1] == turns[2] && turns[2] == turns[3], "{turns:?}");
    let shown = api.read(&format!("/sessions/{session}")).await["session"].clone();
    assert_eq!(
        (&shown["messageCount"], &shown["firstMessagePreview"]),
        (&json!(3), &json!("purple elephants"))
    );
    assert_eq!((found(&api, "q=elephants").await, found(&api, "tag=old").await), (1, 1));

    let reply = json!({
        "content": "rotate left",
        "reply_to": history[0]["internalId"],
        "reply_attachment": copy,
    });
    let sent = api.says(&session, &reply).await;
    let answer = api.answer(&session, &sent["turnId"]).await;
    assert_eq!(answer["attachments"][0]["height"], 60, "the imported picture is edited");

    replaces(&api, &session, &json!([])).await;
    assert_eq!((found(&api, "q=elephants").await, found(&api, "tag=old").await), (0, 0));
    assert_eq!(api.read(&format!("/sessions/{session}")).await["session"]["messageCount"], 0);
    assert_eq!(store(&api), 1, "only the upload is left");
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn matching_rows_stay_and_the_rest_is_new() {
    let api = Api::open().await;
    let session = api.begin().await;
    api.asks(&session, photo("rotate left")).await;
    api.asks(&session, Form::new().text("content", "hello")).await;
    let before = api.history(&session).await;
    let ids = |history: &[Value]| history.iter().map(|entry| entry["internalId"].clone()).collect::<Vec<_>>();

    // Text and annotations of a row change; fields that are left out stay.
    let mut changed = before.clone();
    changed[0] =
        json!({ "role": "user", "internalId": before[0]["internalId"], "content": "please rotate it" });
    changed[3]["tags"] = json!(["good"]);
    let now = replaces(&api, &session, &json!(changed)).await;
    assert_eq!(ids(&now), ids(&before));
    assert_eq!(
        (&now[0]["content"], &now[0]["attachments"]),
        (&json!("please rotate it"), &before[0]["attachments"])
    );
    assert_eq!((&now[3]["tags"], &now[3]["refs"]), (&json!(["good"]), &before[3]["refs"]));
    assert_eq!((found(&api, "tag=good").await, found(&api, "q=please").await), (1, 1));

    // A new entry in the middle: all entries after it are new rows.
    let mut longer = now.clone();
    longer.insert(4, json!({ "role": "assistant", "content": "Anything else?" }));
    let then = replaces(&api, &session, &json!(longer)).await;
    assert_eq!(ids(&then[..4]), ids(&now[..4]));
    assert!(ids(&then[4..]).iter().all(|id| id.as_i64() > now[5]["internalId"].as_i64()), "{:?}", ids(&then));
    assert_eq!(
        then.iter().map(|e| text(&e["content"])).collect::<Vec<_>>(),
        longer.iter().map(|e| text(&e["content"])).collect::<Vec<_>>()
    );
    let answer = api
        .says(&session, &json!({ "content": "crop to a square", "reply_to": then[3]["internalId"] }))
        .await;
    let answer = api.answer(&session, &answer["turnId"]).await;
    assert_eq!(answer["attachments"][0]["width"], 48, "the thread is still known");
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_are_not_replaced_during_a_turn() {
    let model = ScriptedModel::start().await;
    let world = World::start().await;
    let settings = Settings::new(&world).with("TELEGRAM_BOT_TOKEN", "").with_model(&model.base_url());
    let api = Api::with(world, settings).await;
    let session = api.begin().await;
    model.next_reply("Hello.");
    let held = model.hold_next();
    let sent = api.says(&session, &json!({ "content": "hi" })).await;
    let why = problem(puts(&api, &session, &json!([])).await, StatusCode::CONFLICT).await;
    assert!(why.contains("turn"), "{why}");
    assert_eq!(api.history(&session).await.len(), 1);
    held.open();
    api.answer(&session, &sent["turnId"]).await;
    replaces(&api, &session, &json!([])).await;
    assert_eq!(api.history(&session).await, Vec::<Value>::new());
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_of_other_sessions_are_imported_with_their_files() {
    let api = Api::open().await;
    let (from, to) = (api.begin().await, api.begin().await);
    // The intermediate picture is only a recipe.
    api.asks(&from, photo("rotate left, then make it black and white")).await;
    let read = api.read(&format!("/sessions/{from}/history?include_tools=true")).await;
    let copied = replaces(&api, &to, &read).await;
    let original = read["history"].as_array().unwrap();
    assert_eq!(roles(&copied), roles(original));
    assert!(copied.iter().zip(original).all(|(new, old)| new["internalId"] != old["internalId"]));
    assert_ne!(copied[1]["turnId"], original[1]["turnId"], "a turn is one session's");
    let answer = copied.last().unwrap();
    let parent = answer["attachments"][0]["parents"][0].clone();
    let own: Vec<Value> = copied.iter().flat_map(|e| e["attachments"].as_array().unwrap().clone()).collect();
    assert!(
        own.iter().any(|file| file["attachmentId"] == parent),
        "edits are still known by what they were made from"
    );

    api.ask(Method::DELETE, &format!("/sessions/{from}")).send().await.unwrap();
    for file in &own {
        let shown = api.get(&text(&file["url"])).await;
        assert_eq!(shown.status(), StatusCode::OK, "{file}");
    }
    let undo = api.says(&to, &json!({ "content": "undo", "reply_to": answer["internalId"] })).await;
    let undone = api.answer(&to, &undo["turnId"]).await;
    assert_eq!(undone["attachments"][0]["attachmentId"], parent);
    api.ask(Method::DELETE, &format!("/sessions/{to}")).send().await.unwrap();
    assert_eq!(store(&api), 0);
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_in_telegram_work_after_a_replacement() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let api = Api::with(world, settings).await;
    let ann = api.world.private_chat(crate::harness::user(1001, "Ann"));
    ann.sends_photo(jpeg(64, 48), "rotate left").await;
    let shown = ann.next_message().await;
    api.settings.until_settled(&api.world).await;
    let session = text(&api.read("/sessions").await["sessions"][0]["sessionId"]);
    let mut read = api.read(&format!("/sessions/{session}/history?include_tools=true")).await;
    let last = read["history"].as_array().unwrap().len() - 1;
    read["history"][last]["content"] = json!("Turned.");
    replaces(&api, &session, &read).await;
    ann.replies(&shown, "crop to a square").await;
    ann.next_message().await;
    api.settings.until_settled(&api.world).await;
    let history = api.history(&session).await;
    let reply = history.iter().find(|e| e["replyTo"].is_object()).unwrap();
    assert_eq!(reply["replyTo"]["internalId"], read["history"][last]["internalId"]);
    assert_eq!(reply["replyTo"]["attachmentId"], read["history"][last]["attachments"][0]["attachmentId"]);
    api.bot.stop().await;
}
