//! Accessibility: keyboard and screen reader, light and dark, desktop and phone.

use super::*;
use serde_json::{Value, json};

/// axe-core, the accessibility checker.
fn axe() -> String {
    let versions = std::fs::read_dir(installed("axe").join("lib")).into_iter().flatten();
    let script = |python: PathBuf| python.join("site-packages/axe_playwright_python/axe.min.js");
    let found =
        versions.filter_map(|version| std::fs::read_to_string(script(version.ok()?.path())).ok()).next();
    found.expect("axe-core is not installed: run `make setup`")
}

/// Serious and critical findings with their elements.
async fn findings(desk: &Desk, what: &str) -> Vec<String> {
    // Wait for animations: colours must be final.
    desk.until("nothing to move", "document.getAnimations().every((a) => a.playState === 'finished' || a.effect.getTiming().iterations === Infinity)").await;
    desk.run(&axe(), json!([])).await;
    let found = desk.run("return axe.run()", json!([])).await;
    let looked_at = found["passes"].as_array().map_or(0, Vec::len);
    assert!(looked_at > 10, "axe looked at {looked_at} things only");
    let violations = found["violations"].as_array().unwrap().iter();
    let serious = violations.filter(|f| f["impact"] == "serious" || f["impact"] == "critical");
    let told = serious.map(|finding| {
        let nodes = finding["nodes"].as_array().into_iter().flatten();
        let nodes: Vec<String> =
            nodes.map(|node| format!("{}: {}", node["html"], node["failureSummary"])).collect();
        format!("{what}: {} ({}): {}", finding["id"], finding["help"], nodes.join("; "))
    });
    told.collect()
}

async fn look_everywhere(desk: &Desk) -> Vec<String> {
    let mut found = findings(desk, "welcome").await;
    desk.edit(&["photo_chelsea.png", "photo_rocket.jpg"], "make them sepia, then crop to a square").await;
    desk.choose(&["photo_flower.jpg"]).await;
    desk.click("article.ours .act[data-reply]").await;
    desk.run("document.querySelectorAll('details').forEach((details) => (details.open = true))", json!([]))
        .await;
    found.extend(findings(desk, "conversation").await);
    desk.run("document.querySelectorAll('details').forEach((details) => (details.open = false))", json!([]))
        .await;
    for (button, dialog) in [("rename", "#ask-rename"), ("delete", "#ask-delete")] {
        desk.click(&format!(".bar [data-ask={button}]")).await;
        desk.until_there(&format!("{dialog}[open]")).await;
        found.extend(findings(desk, dialog).await);
        desk.press(ESCAPE).await;
        desk.until("it to be closed", &format!("!document.querySelector('{dialog}[open]')")).await;
    }
    desk.click("article.ours [data-labels]").await;
    found.extend(findings(desk, "labels").await);
    desk.press(ESCAPE).await;
    desk.click("article.ours .shot").await;
    desk.until_text("#lb-strip", "original").await;
    found.extend(findings(desk, "lightbox").await);
    desk.press(ESCAPE).await;
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_passes_accessibility_checks() {
    let desk = Desk::sit_down().await;
    assert_eq!(look_everywhere(&desk).await, Vec::<String>::new());
    desk.resize(500, 900).await;
    desk.open("/").await;
    let mut found = findings(&desk, "phone").await;
    desk.click("#menu").await;
    found.extend(findings(&desk, "drawer").await);
    assert_eq!(found, Vec::<String>::new());
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dark_page_passes_accessibility_checks() {
    let world = World::start().await;
    let settings = Settings::new(&world).with("TELEGRAM_BOT_TOKEN", "");
    let desk = Desk::at(
        world,
        settings,
        &[
            "--force-dark-mode",
            "--blink-settings=preferredColorScheme=0,primaryHoverType=2,availableHoverTypes=2",
        ],
    )
    .await;
    let dark = desk.run("return matchMedia('(prefers-color-scheme: dark)').matches", json!([])).await;
    assert_eq!(dark, json!(true));
    assert_eq!(look_everywhere(&desk).await, Vec::<String>::new());
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_works_with_the_keyboard_alone() {
    let desk = Desk::sit_down().await;
    desk.until("the message box", "document.activeElement.id === 'words'").await;
    desk.press("one").await;
    // Shift, Enter.
    desk.run("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', shiftKey: true, bubbles: true, cancelable: true }))", json!([])).await;
    assert!(desk.address().await.ends_with("/"), "nothing was sent");
    desk.press(ENTER).await;
    desk.until("the conversation", "location.pathname.startsWith('/c/')").await;
    desk.until_answers(1).await;
    desk.run("document.querySelector('article.ours .act[data-reply]').focus()", json!([])).await;
    desk.press(ENTER).await;
    desk.until_there("#replying:not([hidden])").await;
    desk.until("the message box again", "document.activeElement.id === 'words'").await;
    desk.press(ESCAPE).await;
    desk.until("no reply", "document.getElementById('replying').hidden").await;
    let first: Value = desk
        .run(
            "const first = document.querySelector('a, button, input'); first.focus(); return first.className",
            json!([]),
        )
        .await;
    assert_eq!(first, json!("skip"), "the first stop leads past the list");
    desk.press(ENTER).await;
    desk.until("the message box at once", "document.activeElement.id === 'words'").await;
    let told = "document.getElementById('announcer').getAttribute('role') === 'status'";
    desk.until("a place where answers are read out", told).await;
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_fill_the_message_box() {
    let desk = Desk::sit_down().await;
    desk.click("[data-example]").await;
    desk.until("the words", "document.getElementById('words').value.startsWith('crop to a square')").await;
    assert_eq!(desk.count("#list .item").await, 0, "nothing begins before something is sent");
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_messages_keep_the_keyboard_focus() {
    let desk = Desk::sit_down().await;
    desk.edit(&["photo_flower.jpg"], "rotate left").await;
    let session = desk.address().await.rsplit('/').next().unwrap().to_owned();
    // The focused element is replaced and keeps the focus.
    let rename = |title: &str| {
        let put = reqwest::Client::new().put(format!("{}/sessions/{session}", desk.url));
        put.json(&json!({ "title": title })).send()
    };
    desk.run("document.querySelector('#list .item > a').focus()", json!([])).await;
    rename("Flower").await.unwrap().error_for_status().unwrap();
    desk.until_text("#list .item .name", "Flower").await;
    desk.until("the link", "document.activeElement.matches('#list .item > a[aria-current]')").await;

    desk.run("document.querySelector('article.ours [data-labels]').focus()", json!([])).await;
    let history = format!("{}/sessions/{session}/history", desk.url);
    let client = reqwest::Client::new();
    let read = client.get(&history).send().await.unwrap();
    let state = read.headers()["ETag"].clone();
    let read: Value = read.json().await.unwrap();
    let answer = &read["history"].as_array().unwrap().last().unwrap()["internalId"];
    let change = client.patch(format!("{history}/{answer}")).header("If-Match", state);
    let changed = change.json(&json!({ "tags": ["seen"] })).send().await.unwrap();
    assert!(changed.status().is_success(), "{}", changed.text().await.unwrap());
    desk.until_text("article.ours .tag", "seen").await;
    desk.until("the button", "document.activeElement.matches('article.ours [data-labels]')").await;
    desk.leave().await;
}
