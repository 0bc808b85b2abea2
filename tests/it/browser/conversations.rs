//! The sidebar, and scrolling in a long conversation.

use super::*;
use photothread::domain::{NewMessage, Role, UserId};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_switched_searched_renamed_and_deleted() {
    let desk = Desk::sit_down().await;
    desk.edit(&["photo_flower.jpg"], "rotate left").await;
    let flower = desk.address().await;
    desk.edit(&["photo_rocket.jpg"], "make it sepia").await;
    desk.until("both in the list", "document.querySelectorAll('#list .item').length === 2").await;
    desk.until_text("#list [aria-current]", "make it sepia").await;

    desk.click("#list .item:nth-child(2) > a").await;
    desk.until("the other one", &format!("location.href === {flower:?}")).await;
    desk.until_text("#list [aria-current]", "rotate left").await;
    desk.until_text("article.theirs .words", "rotate left").await;

    desk.write("#search input", "sepia").await;
    desk.until("one found", "document.querySelectorAll('#list .item').length === 1").await;
    desk.until_text("#list", "make it sepia").await;
    desk.run("document.querySelector('#search input').value = ''; document.querySelector('#search input').dispatchEvent(new Event('input'))", json!([])).await;
    desk.until("all again", "document.querySelectorAll('#list .item').length === 2").await;

    desk.click(".bar [data-ask=rename]").await;
    desk.until_there("#ask-rename[open]").await;
    desk.run("document.querySelector('#ask-rename input').value = 'A <flower>'", json!([])).await;
    desk.click("#ask-rename button[value=yes]").await;
    desk.until_text("#title", "A <flower>").await;
    desk.until_text("#list [aria-current]", "A <flower>").await;

    desk.click(".bar [data-ask=delete]").await;
    desk.until_text("#ask-delete[open]", "A <flower>").await;
    desk.click("#ask-delete button[value=no]").await;
    desk.until("no question", "!document.querySelector('#ask-delete[open]')").await;
    desk.click(".bar [data-ask=delete]").await;
    desk.click("#ask-delete button[value=yes]").await;
    desk.until(
        "the one that is left",
        &format!("location.href !== {flower:?} && document.querySelectorAll('#list .item').length === 1"),
    )
    .await;
    desk.until_text("#title", "make it sepia").await;
    desk.go(&flower).await;
    desk.until_text("body", "no such conversation").await;
    desk.forgive("404").await;
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_leaves_a_conversation_deleted_in_another_tab() {
    let desk = Desk::sit_down().await;
    desk.edit(&["photo_flower.jpg"], "rotate left").await;
    let (here, there, address) = (desk.this_tab().await, desk.new_tab().await, desk.address().await);
    desk.switch_to(&there).await;
    desk.go(&address).await;
    desk.click(".bar [data-ask=delete]").await;
    desk.click("#ask-delete button[value=yes]").await;
    desk.until_there(".welcome").await;
    desk.switch_to(&here).await;
    desk.until_there(".welcome").await;
    desk.forgive("404").await;
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn older_messages_load_on_scroll_without_jumps() {
    let desk = Desk::sit_down().await;
    let store = desk.settings.store().await;
    let session = store.create_web_session(&UserId("local".into()), Some("Long")).await.unwrap();
    for number in 1..=150 {
        let message = NewMessage::new(
            session.conversation.clone(),
            session.session_id,
            if number % 2 == 1 { Role::User } else { Role::Assistant },
            format!("message {number}"),
        );
        store.add_message(&message, &[]).await.unwrap();
    }
    desk.open(&format!("/c/{}", session.session_id)).await;
    desk.until_text("article:last-of-type", "message 150").await;
    let first = desk.count("article").await;
    assert!(first < 100, "{first} at once");
    let at_end = "Math.abs(document.getElementById('scroll').scrollTop) < 5";
    desk.until("the newest in sight", at_end).await;
    // Scroll to the top, which loads older messages above.
    let place = desk
        .run(
            "const scroll = document.getElementById('scroll'); scroll.scrollTop = -scroll.scrollHeight; \
             const article = document.querySelector('article'); \
             return [article.id, article.getBoundingClientRect().top]",
            json!([]),
        )
        .await;
    desk.until("all of it", "document.querySelectorAll('article').length === 150").await;
    let now = desk
        .run("return document.getElementById(arguments[0]).getBoundingClientRect().top", json!([place[0]]))
        .await;
    let moved = (now.as_f64().unwrap() - place[1].as_f64().unwrap()).abs();
    assert!(moved < 60.0, "what was in sight moved by {moved} pixels");
    assert_eq!(desk.count("#older").await, 0);
    let order = desk.run("return [...document.querySelectorAll('article')].every((a, i) => a.innerText.includes(`message ${i + 1}`))", json!([])).await;
    assert_eq!(order, json!(true));
    assert_eq!(desk.count(".day").await, 1, "the day is said once");
    store.close().await;
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sidebar_stays_folded_and_is_a_drawer_on_a_phone() {
    let desk = Desk::sit_down().await;
    let seen = "document.getElementById('sidebar').checkVisibility({ visibilityProperty: true })";
    desk.until("the sidebar", seen).await;
    desk.click("#menu").await;
    desk.until("no sidebar", &format!("!{seen}")).await;
    desk.reload().await;
    desk.until("still none", &format!("document.readyState === 'complete' && !{seen}")).await;
    desk.resize(500, 900).await;
    desk.until("none on a phone either", &format!("!{seen}")).await;
    desk.click("#menu").await;
    desk.until("a drawer", seen).await;
    desk.until("the search to have the focus", "document.activeElement.matches('#search input')").await;
    desk.press(ESCAPE).await;
    desk.until("it to be closed", &format!("!{seen}")).await;
    desk.until("the focus to be back", "document.activeElement.id === 'menu'").await;
    desk.leave().await;
}
