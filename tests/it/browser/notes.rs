//! Editing of tags and references.

use super::*;
use serde_json::json;

const TAGS: &str = "return [...document.querySelectorAll('article.ours .tag')].map((tag) => tag.textContent)";

#[tokio::test(flavor = "multi_thread")]
async fn tags_and_references_are_changed_in_place() {
    let desk = Desk::sit_down().await;
    desk.edit(&["photo_flower.jpg"], "rotate left").await;
    assert!(desk.count("article.ours .refs li").await > 0, "an answer refers to its pictures");
    assert_eq!(desk.count("article.ours .refs li:not([hidden])").await, 0, "which are in sight already");
    desk.click("article.ours [data-labels]").await;
    desk.until_there("#ask-labels[open]").await;
    desk.write("#ask-labels input[name=tags]", "Holiday, rating:good, holiday").await;
    desk.write("#ask-labels input[name=url]", "https://example.org/flowers").await;
    desk.write("#ask-labels input[name=ref-title]", "Flowers").await;
    desk.click("#ask-labels [data-add]").await;
    desk.until_text("#ask-labels .ref-list", "Flowers").await;
    desk.click("#ask-labels button[value=yes]").await;
    desk.until("the dialog to be closed", "!document.querySelector('#ask-labels[open]')").await;
    desk.until_text("article.ours .refs", "Flowers").await;
    assert_eq!(desk.run(TAGS, json!([])).await, json!(["holiday", "rating:good"]));

    desk.reload().await;
    desk.until_text("article.ours .refs", "Flowers").await;
    assert_eq!(desk.run(TAGS, json!([])).await, json!(["holiday", "rating:good"]));
    // Automatic references are in the editor, though the page hides them.
    desk.click("article.ours [data-labels]").await;
    let shown = "document.querySelectorAll('#ask-labels .ref-list li').length";
    desk.until("all references", &format!("{shown} > 1")).await;
    desk.click("#ask-labels .ref-list li:last-child button").await;
    desk.click("#ask-labels button[value=yes]").await;
    desk.until("one less", "!document.querySelector('article.ours .refs')?.textContent.includes('Flowers')")
        .await;
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_another_tab_are_not_overwritten() {
    let desk = Desk::sit_down().await;
    desk.edit(&["photo_flower.jpg"], "rotate left").await;
    let (here, there, address) = (desk.this_tab().await, desk.new_tab().await, desk.address().await);
    desk.click("article.ours [data-labels]").await;
    desk.write("#ask-labels input[name=tags]", "mine").await;
    desk.switch_to(&there).await;
    desk.go(&address).await;
    desk.until_answers(1).await;
    desk.click("article.ours [data-labels]").await;
    desk.write("#ask-labels input[name=tags]", "theirs").await;
    desk.click("#ask-labels button[value=yes]").await;
    desk.until_text("article.ours .tag", "theirs").await;

    desk.switch_to(&here).await;
    desk.until_text("article.ours .tag", "theirs").await;
    desk.click("#ask-labels button[value=yes]").await;
    desk.until_text("#ask-labels .trouble", "Somebody else changed this").await;
    let field = "document.querySelector('#ask-labels input[name=tags]').value";
    desk.until("how it stands now", &format!("{field} === 'theirs'")).await;
    desk.write("#ask-labels input[name=tags]", ", mine").await;
    desk.click("#ask-labels button[value=yes]").await;
    desk.until("both", "document.querySelectorAll('article.ours .tag').length === 2").await;
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_can_be_exported() {
    let desk = Desk::sit_down().await;
    desk.edit(&["photo_flower.jpg"], "rotate left").await;
    desk.click(".menu summary").await;
    let fetched = desk
        .run(
            "return Promise.all([...document.querySelectorAll('.menu a')].map((a) => fetch(a.href).then((r) => r.status)))",
            json!([]),
        )
        .await;
    assert_eq!(fetched, json!([200, 200, 200]));
    desk.press(ESCAPE).await;
    desk.until("the menu to be closed", "!document.querySelector('.menu[open]')").await;
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_removed_over_the_api_disappear_from_the_page() {
    let desk = Desk::sit_down().await;
    desk.say("what can you do?").await;
    desk.until("the conversation", "location.pathname.startsWith('/c/')").await;
    desk.until_answers(1).await;
    desk.say("and what else?").await;
    desk.until_answers(2).await;

    let session = desk.address().await.rsplit('/').next().unwrap().to_owned();
    let history = format!("{}/sessions/{session}/history?include_tools=true", desk.url);
    let client = reqwest::Client::new();
    let read = client.get(&history).send().await.unwrap();
    let state = read.headers()["ETag"].clone();
    let read: serde_json::Value = read.json().await.unwrap();
    let kept = &read["history"].as_array().unwrap()[2..];
    let put = client.put(&history).header("If-Match", state).json(&kept).send().await.unwrap();
    assert!(put.status().is_success(), "{}", put.text().await.unwrap());

    desk.until("the first two to be gone", "document.querySelectorAll('article').length === 2").await;
    desk.until_text("article.theirs .words", "and what else?").await;
    assert_eq!(desk.count(".day").await, 1, "the day is still said");
    desk.say("are you there?").await;
    desk.until_answers(2).await;
    assert_eq!(desk.count("article").await, 4, "and it goes on");
    desk.leave().await;
}
