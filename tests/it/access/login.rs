//! Login by a link from the bot, renewal and logout.

use super::{House, Shows, contains, cookie_of};
use crate::harness::{BotUnderTest, Settings, World, user};
use chrono::{TimeDelta, Utc};
use photothread::{
    access::{Access, Logins, PageAccess},
    domain::UserId,
};
use reqwest::{
    Method, StatusCode,
    header::{HOST, LOCATION, ORIGIN, SET_COOKIE},
};
use serde_json::json;
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread")]
async fn login_links_work_once_and_survive_previews() {
    let house = House::open().await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    let link = house.link(&ann).await;
    let sent = house.world.all_calls().into_iter().rev().find(|call| call.method == "sendMessage").unwrap();
    assert_eq!(sent.params["link_preview_options"]["is_disabled"], true, "{}", sent.params);

    for method in [Method::GET, Method::HEAD, Method::GET] {
        let looked = house.ask(&Shows::Nothing, method, &link).send().await.unwrap();
        assert_eq!((looked.status(), cookie_of(&looked)), (StatusCode::OK, None));
    }
    let page = house.get(&Shows::Nothing, &link).await.text().await.unwrap();
    assert!(page.contains("method=\"post\"") && page.contains("Log in"), "{page}");

    let answer = house.follow(&link).await;
    assert_eq!(
        (answer.status(), &answer.headers()[LOCATION]),
        (StatusCode::SEE_OTHER, &"/".parse().unwrap())
    );
    let line = answer.headers()[SET_COOKIE].to_str().unwrap();
    for wanted in ["photothread=", "; Path=/", "; Max-Age=2592000", "; HttpOnly", "; SameSite=Lax"] {
        assert!(line.contains(wanted), "{line}");
    }
    assert!(!line.contains("Secure"), "without TLS a secure cookie would never come back: {line}");
    let browser = Shows::Cookie(cookie_of(&answer).unwrap());
    assert_eq!(house.status(&browser, "/sessions").await, StatusCode::OK);
    assert_eq!(house.status(&browser, "/").await, StatusCode::OK);

    let again = house.follow(&link).await;
    assert_eq!((again.status(), cookie_of(&again)), (StatusCode::GONE, None));
    let told = again.text().await.unwrap();
    assert!(told.contains("/web"), "what to do now: {told}");
    assert_eq!(house.status(&Shows::Nothing, &link).await, StatusCode::GONE);
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_stored_in_the_database() {
    let house = House::open().await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    let unused = house.link(&ann).await;
    let browser = house.log_in(&ann).await;
    let (Shows::Token(token), id) = house.token(&browser).await else { panic!("a token") };
    let Shows::Cookie(cookie) = &browser else { panic!("a cookie") };
    let (_, cookie) = cookie.split_once('=').unwrap();
    assert_eq!(house.status(&Shows::Token(token.clone()), "/sessions").await, StatusCode::OK);
    let stored = house.database();
    assert!(contains(&stored, &id), "the database was found");
    for secret in [unused.rsplit('/').next().unwrap(), cookie, &token] {
        assert!(!contains(&stored, secret), "{secret} is stored");
    }
    house.bot.stop().await;
}

/// Another `Logins` on the same data, to create links at other times.
pub async fn logins_of(house: &House, settings: &Settings) -> Logins {
    let store = settings.store().await;
    let access = Arc::new(Access::open(store.clone(), [], true).await.unwrap());
    Logins::new(store, access, PageAccess::Login(house.url.clone()), [])
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_and_forged_links_are_refused() {
    let house = House::open().await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    let fresh = house.link(&ann).await;
    let logins = logins_of(&house, &house.settings).await;
    let link_of = async |age: i64| {
        let link =
            logins.create_link(&UserId("1001".into()), Utc::now() - TimeDelta::seconds(age)).await.unwrap();
        link.unwrap().strip_prefix(&house.url).unwrap().to_owned()
    };
    let (nearly, old) = (link_of(280).await, link_of(301).await);
    let forged = format!("{}AA", &fresh[..fresh.len() - 2]);
    for dead in [old.as_str(), &forged, "/login/x", "/login/%20"] {
        assert_eq!(house.status(&Shows::Nothing, dead).await, StatusCode::GONE, "{dead}");
        let answer = house.follow(dead).await;
        assert_eq!((answer.status(), cookie_of(&answer)), (StatusCode::GONE, None), "{dead}");
        assert!(answer.text().await.unwrap().contains("Send /web to the bot"));
    }
    assert_eq!(house.follow(&nearly).await.status(), StatusCode::SEE_OTHER, "five minutes are five minutes");
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_get_no_login_link() {
    let house = House::open().await;
    let group = house.world.group("Holiday");
    let ann = group.member(user(1001, "Ann"));
    ann.says("/web@photothread_bot").await;
    let told = ann.next_message().await.text;
    assert!(told.contains("private chat") && !told.contains("/login/"), "{told}");
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_get_no_login_link() {
    let house = House::open_with(|settings| {
        settings
            .with("PHOTOTHREAD_TELEGRAM__ALLOW_EVERYONE", "false")
            .with("PHOTOTHREAD_TELEGRAM__ALLOWED_USER_IDS", "[1001]")
    })
    .await;
    let eve = house.world.private_chat(user(6666, "Eve"));
    eve.says("/web").await;
    let told = eve.next_message().await.text;
    assert!(told.contains("private") && !told.contains("/login/"), "{told}");
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_login_the_bot_names_the_address_of_the_page() {
    let world = World::start().await;
    let settings = Settings::new(&world).with("PHOTOTHREAD_WEB__LISTEN", "127.0.0.1:0");
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.says("/web").await;
    let told = ann.next_message().await.text;
    assert!(told.contains(&bot.page()) && told.contains("machine"), "{told}");
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let to = client.get(format!("{}/login/x", bot.page())).send().await.unwrap();
    assert_eq!(to.headers()[LOCATION], "/", "every logins leads inside");
    bot.stop().await;

    let settings = settings.with("PHOTOTHREAD_WEB__LISTEN", "null");
    let bot = BotUnderTest::start(&settings).await;
    ann.says("/web").await;
    assert!(ann.next_message().await.text.contains("no page"));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cookie_over_tls_is_secure_and_host_only() {
    let house = House::open_with(|settings| {
        settings.with("PHOTOTHREAD_WEB__PUBLIC_URL", "https://photos.example.org")
    })
    .await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    ann.says("/web").await;
    let text = ann.next_message().await.text;
    let (_, path) = text.split_once("https://photos.example.org").expect("the public address");
    let answer = house
        .client
        .post(format!("{}{path}", house.url))
        .header(HOST, "photos.example.org")
        .header(ORIGIN, "https://photos.example.org")
        .send()
        .await
        .unwrap();
    let line = answer.headers()[SET_COOKIE].to_str().unwrap();
    assert!(line.starts_with("__Host-photothread=") && line.contains("; Secure"), "{line}");
    assert!(!line.contains("Domain"), "{line}");
    let inside = house.ask(&Shows::Cookie(cookie_of(&answer).unwrap()), Method::GET, "/sessions");
    let inside = inside.header(HOST, "photos.example.org").send().await.unwrap();
    assert_eq!(inside.status(), StatusCode::OK);
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_are_renewed_every_day() {
    let house = House::open().await;
    let logins = logins_of(&house, &house.settings).await;
    let ann = UserId("1001".into());
    let yesterday = Utc::now() - TimeDelta::hours(25);
    let link = logins.create_link(&ann, yesterday).await.unwrap().unwrap();
    let login = logins.log_in(link.rsplit('/').next().unwrap(), yesterday).await.unwrap().unwrap();
    let old = Shows::Cookie(format!("photothread={login}"));
    let answer = house.get(&old, "/sessions").await;
    assert_eq!(answer.status(), StatusCode::OK);
    let new = Shows::Cookie(cookie_of(&answer).expect("a new cookie"));
    for shows in [&old, &new] {
        let answer = house.get(shows, "/sessions").await;
        assert_eq!((answer.status(), cookie_of(&answer)), (StatusCode::OK, None), "no third one");
    }
    house.ask(&new, Method::POST, "/logout").send().await.unwrap();
    for shows in [&old, &new] {
        assert_eq!(house.status(shows, "/sessions").await, StatusCode::UNAUTHORIZED, "out means out");
    }
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn logout_ends_only_this_login() {
    let house = House::open().await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    let (desk, phone) = (house.log_in(&ann).await, house.log_in(&ann).await);
    let out = house.ask(&desk, Method::POST, "/logout").send().await.unwrap();
    assert_eq!((out.status(), &out.headers()[LOCATION]), (StatusCode::SEE_OTHER, &"/login".parse().unwrap()));
    assert!(out.headers()[SET_COOKIE].to_str().unwrap().contains("Max-Age=0"));
    assert_eq!(house.status(&desk, "/sessions").await, StatusCode::UNAUTHORIZED);
    assert_eq!(house.status(&phone, "/sessions").await, StatusCode::OK);
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn logging_out_everywhere_ends_all_logins_but_no_token() {
    let house = House::open().await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    let bob = house.log_in(&house.world.private_chat(user(1002, "Bob"))).await;
    let (desk, phone) = (house.log_in(&ann).await, house.log_in(&ann).await);
    let (token, _) = house.token(&desk).await;
    let unused = house.link(&ann).await;
    let cross_site = house.ask(&desk, Method::DELETE, "/logins").header("sec-fetch-site", "cross-site");
    assert_eq!(cross_site.send().await.unwrap().status(), StatusCode::FORBIDDEN);

    let out = house.ask(&desk, Method::DELETE, "/logins").send().await.unwrap();
    assert_eq!(out.status(), StatusCode::OK);
    assert!(out.headers()[SET_COOKIE].to_str().unwrap().contains("Max-Age=0"));
    for ended in [&desk, &phone] {
        assert_eq!(house.status(ended, "/sessions").await, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(house.follow(&unused).await.status(), StatusCode::GONE, "a link would log in again");
    assert_eq!(house.status(&token, "/sessions").await, StatusCode::OK, "tokens are revoked one by one");
    assert_eq!(house.status(&bob, "/sessions").await, StatusCode::OK, "others stay");

    let again = house.log_in(&ann).await;
    let out = house.ask(&token, Method::DELETE, "/logins").send().await.unwrap();
    assert_eq!(out.status(), StatusCode::OK, "a program may do it, too: the browser may be the lost one");
    assert_eq!(house.status(&again, "/sessions").await, StatusCode::UNAUTHORIZED);
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_users_are_refused_at_once() {
    let only = |settings: Settings, ids: &str| {
        settings
            .with("PHOTOTHREAD_TELEGRAM__ALLOW_EVERYONE", "false")
            .with("PHOTOTHREAD_TELEGRAM__ALLOWED_USER_IDS", ids)
    };
    let house = House::open_with(|settings| only(settings, "[1001, 1002]")).await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    let browser = house.log_in(&ann).await;
    let (token, _) = house.token(&browser).await;
    let unused = house.link(&ann).await;
    for shows in [&browser, &token] {
        assert_eq!(house.status(shows, "/sessions").await, StatusCode::OK);
    }
    let house = house.reopened_with(|settings| only(settings, "[1002]")).await;
    for shows in [&browser, &token] {
        assert_eq!(house.status(shows, "/sessions").await, StatusCode::UNAUTHORIZED, "{shows:?}");
    }
    assert_eq!(house.follow(&unused).await.status(), StatusCode::GONE);
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn admins_see_all_conversations_and_members_their_own() {
    let house = House::open_with(|settings| settings.with("PHOTOTHREAD_WEB__ADMINS", "[1001]")).await;
    let (ann, bob) =
        (house.world.private_chat(user(1001, "Ann")), house.world.private_chat(user(1002, "Bob")));
    let (of_ann, of_bob) = (house.log_in(&ann).await, house.log_in(&bob).await);
    for browser in [&of_ann, &of_bob] {
        let begun = house.ask(browser, Method::POST, "/sessions").json(&json!({})).send().await.unwrap();
        assert_eq!(begun.status(), StatusCode::CREATED);
    }
    let count = async |browser: &Shows| {
        let listed = house.get(browser, "/sessions").await;
        listed.json::<serde_json::Value>().await.unwrap()["totalCount"].clone()
    };
    assert_eq!((count(&of_ann).await, count(&of_bob).await), (json!(2), json!(1)));
    house.bot.stop().await;
}
