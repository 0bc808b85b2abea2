//! Login by a link from the bot, and logout.

use super::*;
use crate::harness::{Person, jpeg, user};
use serde_json::json;

/// The link that the bot gives after whatever else it has to say.
async fn login_link(desk: &Desk, person: &Person) -> String {
    person.says("/web").await;
    loop {
        let told = person.next_message().await.text;
        if let Some(link) = told.split_whitespace().find(|word| word.starts_with(&desk.url)) {
            return link.to_owned();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_link_logs_in_and_shows_only_own_conversations() {
    let world = World::start().await;
    let settings = Settings::new(&world).with("PHOTOTHREAD_WEB__AUTH", "required");
    let desk = Desk::at(world, settings, &[]).await;
    desk.until_text("body", "/web").await;
    // The browser logs the 401.
    desk.forgive("401").await;
    let (ann, bob) = (desk.world.private_chat(user(1001, "Ann")), desk.world.private_chat(user(1002, "Bob")));
    for (person, words) in [(&ann, "rotate left"), (&bob, "rotate right")] {
        person.sends_photo(jpeg(64, 48), words).await;
        person.next_message().await;
    }
    desk.go(&login_link(&desk, &ann).await).await;
    desk.click("main button, form button").await;
    desk.until_text("article.theirs .words", "rotate left").await;
    assert_eq!(desk.count("#list .item").await, 1, "Bob's is not Ann's to see");
    desk.say("make it sepia").await;
    desk.until_answers(2).await;

    desk.click("#tokens-open").await;
    desk.until_there("#tokens[open]").await;
    desk.write("#tokens input[name=name]", "my script").await;
    desk.run("document.querySelector('#tokens select').value = '90'", json!([])).await;
    desk.click("#tokens [data-make]").await;
    desk.until("the secret", "document.querySelector('.new-token code').textContent.length > 20").await;
    desk.until_text(".token-list", "my script").await;
    desk.until_text(".token-list", "never used, until").await;
    let script = "return fetch('/sessions', { credentials: 'omit', headers: { Authorization: \
         `Bearer ${document.querySelector('.new-token code').textContent}` } }).then((r) => r.status)";
    assert_eq!(desk.run(script, json!([])).await, json!(200));
    desk.press(ESCAPE).await;
    desk.click("#tokens-open").await;
    desk.until_text(".token-list", "used just now, until").await;
    desk.click(".token-list button").await;
    desk.until("it to be revoked", "!document.querySelector('.token-list button')").await;
    assert_eq!(desk.run(script, json!([])).await, json!(401));
    desk.press(ESCAPE).await;
    desk.click(".account form button").await;
    desk.until_text("body", "/web").await;
    desk.open("/").await;
    assert_eq!(desk.count("#log").await, 0, "the way back is closed");

    desk.go(&login_link(&desk, &ann).await).await;
    desk.click("main button, form button").await;
    desk.until_there("#tokens-open").await;
    desk.click("#tokens-open").await;
    desk.click("#tokens [data-out]").await;
    desk.until_text("body", "/web").await;
    assert!(desk.address().await.ends_with("/login"), "logged out everywhere, and so here");
    desk.open("/").await;
    assert_eq!(desk.count("#log").await, 0);
    desk.forgive("401").await;
    desk.leave().await;
}
