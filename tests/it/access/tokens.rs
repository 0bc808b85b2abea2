//! API tokens: shown once, listed without their secret, revoked. Guessing is rate limited.

use super::{House, Shows, login::logins_of};
use crate::{api::problem, harness::user};
use chrono::{DateTime, TimeDelta, Utc};
use photothread::domain::UserId;
use reqwest::{
    Method, StatusCode,
    header::{RETRY_AFTER, WWW_AUTHENTICATE},
};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_shown_once_and_can_be_revoked() {
    let house = House::open().await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    let browser = house.log_in(&ann).await;
    let (token, id) = house.token(&browser).await;
    let Shows::Token(secret) = &token else { panic!("a token") };
    assert!(secret.starts_with("pt_") && secret.len() > 40, "{secret}");

    let begun = house.ask(&token, Method::POST, "/sessions").json(&json!({})).send().await.unwrap();
    assert_eq!(begun.status(), StatusCode::CREATED, "a program need not say where it sends from");
    let listed = house.get(&browser, "/tokens").await.text().await.unwrap();
    assert!(!listed.contains(secret.as_str()), "{listed}");
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["tokens"][0]["tokenId"], id);
    assert_eq!(listed["tokens"][0]["name"], "script");
    assert!(listed["tokens"][0]["lastUsedAt"].is_string(), "it was used: {listed}");

    let revoke = |shows: Shows| house.ask(&shows, Method::DELETE, &format!("/tokens/{id}")).send();
    assert_eq!(revoke(browser.clone()).await.unwrap().status(), StatusCode::OK);
    assert_eq!(revoke(browser.clone()).await.unwrap().status(), StatusCode::NOT_FOUND);
    let refused = house.get(&token, "/sessions").await;
    assert_eq!(refused.headers()[WWW_AUTHENTICATE], "Bearer");
    assert!(problem(refused, StatusCode::UNAUTHORIZED).await.contains("revoked"));
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_cannot_create_tokens_and_need_a_name() {
    let house = House::open().await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    let browser = house.log_in(&ann).await;
    let (token, _) = house.token(&browser).await;
    let make = |shows: &Shows, body: Value| house.ask(shows, Method::POST, "/tokens").json(&body).send();
    let refused = make(&token, json!({ "name": "heir" })).await.unwrap();
    assert!(problem(refused, StatusCode::FORBIDDEN).await.contains("cannot make another"));
    for body in [json!({ "name": " " }), json!({ "name": "x".repeat(101) }), json!({})] {
        let refused = make(&browser, body).await.unwrap();
        problem(refused, StatusCode::UNPROCESSABLE_ENTITY).await;
    }
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_may_expire_and_show_when() {
    let house = House::open().await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    let browser = house.log_in(&ann).await;
    let make = |days: Value| {
        let body = json!({ "name": "script", "expires_in_days": days });
        house.ask(&browser, Method::POST, "/tokens").json(&body).send()
    };
    for days in [json!(0), json!(-1), json!(3651), json!(1.5), json!("7")] {
        problem(make(days).await.unwrap(), StatusCode::UNPROCESSABLE_ENTITY).await;
    }
    let made: Value = make(json!(7)).await.unwrap().json().await.unwrap();
    let time = |value: &Value| value.as_str().unwrap().parse::<DateTime<Utc>>().unwrap();
    let token = &made["token"];
    assert_eq!(time(&token["expiresAt"]) - time(&token["createdAt"]), TimeDelta::days(7));
    let shows = Shows::Token(made["secret"].as_str().unwrap().to_owned());
    assert_eq!(house.status(&shows, "/sessions").await, StatusCode::OK);
    assert_eq!(
        make(Value::Null).await.unwrap().json::<Value>().await.unwrap()["token"]["expiresAt"],
        Value::Null
    );

    // Created a week ago: it has just expired.
    let logins = logins_of(&house, &house.settings).await;
    let week = TimeDelta::days(7);
    let (_, secret) = logins
        .create_token(&UserId("1001".into()), "old", Some(week), Utc::now() - week)
        .await
        .unwrap()
        .unwrap();
    let refused = house.get(&Shows::Token(secret), "/sessions").await;
    assert!(problem(refused, StatusCode::UNAUTHORIZED).await.contains("expired"));
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guessing_is_rate_limited_per_person_behind_a_trusted_proxy() {
    let house = House::open_with(|settings| {
        settings.with("PHOTOTHREAD_WEB__TRUSTED_PROXIES", "[\"127.0.0.1\", \"10.0.0.0/8\"]")
    })
    .await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    let browser = house.log_in(&ann).await;
    let (token, _) = house.token(&browser).await;
    let link = house.link(&ann).await;
    // Two proxies, and before them what the client says of itself.
    let from = async |address: &str, shows: &Shows, path: &str| {
        let request = house
            .ask(shows, Method::GET, path)
            .header("x-forwarded-for", format!("192.0.2.1, {address}, 10.0.0.7"));
        request.send().await.unwrap()
    };
    let eve = "203.0.113.66";
    for guess in 0..5 {
        let wrong = Shows::Token(format!("pt_{guess}"));
        assert_eq!(from(eve, &wrong, "/sessions").await.status(), StatusCode::UNAUTHORIZED);
        let wrong = format!("/login/{guess}");
        assert_eq!(from(eve, &Shows::Nothing, &wrong).await.status(), StatusCode::GONE);
    }
    let wrong = Shows::Token("pt_once_more".into());
    let refused = from(eve, &wrong, "/sessions").await;
    let wait: u64 = refused.headers()[RETRY_AFTER].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert!(problem(refused, StatusCode::TOO_MANY_REQUESTS).await.contains("seconds"));
    let refused = from(eve, &Shows::Nothing, "/login/once-more").await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.headers().contains_key(RETRY_AFTER));

    // A valid credential is no guess.
    assert_eq!(from(eve, &token, "/sessions").await.status(), StatusCode::OK);
    assert_eq!(from(eve, &Shows::Nothing, &link).await.status(), StatusCode::OK);
    assert_eq!(
        from("203.0.113.67", &wrong, "/sessions").await.status(),
        StatusCode::UNAUTHORIZED,
        "a neighbour"
    );
    assert_eq!(from(eve, &browser, "/sessions").await.status(), StatusCode::OK, "who is in is no guesser");
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_trusted_proxy_forwarded_addresses_are_ignored() {
    let house = House::open().await;
    let guess = async |at: u32| {
        let wrong = Shows::Token(format!("pt_{at}"));
        let request = house.ask(&wrong, Method::GET, "/sessions");
        request.header("x-forwarded-for", format!("203.0.113.{at}")).send().await.unwrap().status()
    };
    for at in 0..10 {
        assert_eq!(guess(at).await, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(guess(11).await, StatusCode::TOO_MANY_REQUESTS, "the connection's address counts");
    house.bot.stop().await;
}
