//! The door in a real browser: in by a link, a token made on the page, out again; and the reference page under its
//! policy.

use super::{House, Shows};
use crate::{
    api::Api,
    harness::{Browser, user},
};
use reqwest::StatusCode;

#[tokio::test(flavor = "multi_thread")]
async fn a_link_from_the_bot_opens_the_page_and_the_way_out_closes_it() {
    let house = House::open().await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    let browser = Browser::start().await;
    browser.go(&house.url).await;
    browser.until_text("main", "Send /web to the bot").await;

    let link = house.link(&ann).await;
    browser.go(&format!("{}{link}", house.url)).await;
    browser.click("main button").await;
    browser.until_there("#composer").await;
    browser.until_text(".account .who", "1001").await;

    browser.click("#tokens-open").await;
    browser.write("#tokens input[name=name]", "script").await;
    browser.click("#tokens [data-make]").await;
    browser.until("a token", "document.querySelector('.new-token code').textContent.startsWith('pt_')").await;
    let token = Shows::Token(browser.text(".new-token code").await);
    assert_eq!(house.status(&token, "/sessions").await, StatusCode::OK);
    browser.reload().await;

    browser.click(".account form button").await;
    browser.until_text("main", "Send /web to the bot").await;
    browser.go(&format!("{}{link}", house.url)).await;
    browser.until_text("main", "This link has done its work").await;
    // A page that answers 401 or 410 is no complaint of ours.
    let complaints = browser.complaints().await;
    let forbidden: Vec<_> =
        complaints.iter().filter(|line| line.contains("Content Security Policy")).collect();
    assert!(forbidden.is_empty(), "{forbidden:?}");
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_page_works_under_its_policy() {
    let api = Api::open().await;
    let browser = Browser::start().await;
    browser.go(&format!("{}/docs/", api.url)).await;
    browser.until_there(".opblock-summary-path").await;
    browser.click(".opblock-get .opblock-summary-control").await;
    browser.until_there(".opblock-body .responses-wrapper").await;
    browser.click(".authorize").await;
    browser.until_there(".auth-container").await;
    assert_eq!(browser.complaints().await, [""; 0]);
    api.bot.stop().await;
}
