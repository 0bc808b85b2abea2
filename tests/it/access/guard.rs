//! Host names, cross-site requests and security headers.

use super::{House, Shows};
use crate::{
    api::{Api, problem},
    harness::{Browser, user},
};
use reqwest::{
    Method, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, ORIGIN, WWW_AUTHENTICATE},
};
use serde_json::json;

const PUBLIC: &str = "https://photos.example.org";

#[tokio::test(flavor = "multi_thread")]
async fn foreign_host_names_are_refused() {
    let local = Api::open().await;
    let under = async |url: &str, client: &reqwest::Client, host: &str| -> Response {
        client.get(format!("{url}/sessions")).header(HOST, host).send().await.unwrap()
    };
    for host in ["evil.example", "127.0.0.1.evil.example", "photos.example.org"] {
        let refused = under(&local.url, &local.client, host).await;
        assert!(problem(refused, StatusCode::FORBIDDEN).await.contains("127.0.0.1"));
    }
    assert_eq!(under(&local.url, &local.client, "localhost:1").await.status(), StatusCode::OK);
    local.bot.stop().await;

    let house = House::open_with(|settings| settings.with("PHOTOTHREAD_WEB__PUBLIC_URL", PUBLIC)).await;
    for host in ["evil.example", "127.0.0.1", "photos.example.org.evil.example", "photos.example.org:8443"] {
        let refused = under(&house.url, &house.client, host).await;
        assert!(problem(refused, StatusCode::FORBIDDEN).await.contains(PUBLIC));
    }
    let known = under(&house.url, &house.client, "Photos.Example.org").await;
    assert_eq!(known.status(), StatusCode::UNAUTHORIZED);
    let well = house.client.get(format!("{}/healthz", house.url)).header(HOST, "10.0.0.7:8080");
    assert_eq!(well.send().await.unwrap().status(), StatusCode::OK, "health checks may use any host name");
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cross_site_requests_are_refused() {
    let house = House::open().await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    let link = house.link(&ann).await;
    let shows = house.log_in(&ann).await;
    let Shows::Cookie(cookie) = &shows else { panic!("a cookie") };
    let post = async |path: &str, headers: &[(&str, &str)]| {
        let mut request = house.client.post(format!("{}{path}", house.url)).header(COOKIE, cookie);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.json(&json!({})).send().await.unwrap().status()
    };
    let here = house.url.as_str();
    let upper = here.replace("http://", "HTTP://");
    for wrong in [
        &[][..],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("origin", "")],
        &[("origin", "http://127.0.0.1:1")],
        &[("origin", &upper)],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("origin", here), ("sec-fetch-site", "cross-site")],
        &[("origin", "https://evil.example"), ("sec-fetch-site", "same-origin")],
    ] {
        assert_eq!(post("/sessions", wrong).await, StatusCode::FORBIDDEN, "{wrong:?}");
        assert_eq!(post("/logout", wrong).await, StatusCode::FORBIDDEN, "{wrong:?}");
        assert_eq!(
            post(&link, wrong).await,
            StatusCode::FORBIDDEN,
            "a cross-site post must not log in: {wrong:?}"
        );
    }
    for right in [
        &[("origin", here)][..],
        &[("sec-fetch-site", "same-origin")],
        &[("origin", here), ("sec-fetch-site", "same-origin")],
    ] {
        assert_eq!(post("/sessions", right).await, StatusCode::CREATED, "{right:?}");
    }
    assert_eq!(house.follow(&link).await.status(), StatusCode::SEE_OTHER, "the link is still good");
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_a_token_need_no_origin() {
    let house = House::open().await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    let (token, _) = house.token(&house.log_in(&ann).await).await;
    let sent = house.ask(&token, Method::POST, "/sessions").header(ORIGIN, "https://tool.example");
    assert_eq!(sent.json(&json!({})).send().await.unwrap().status(), StatusCode::CREATED);
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_local_page_serves_programs_but_no_other_sites() {
    let local = Api::open().await;
    let post = |headers: &'static [(&'static str, &'static str)]| {
        let mut request = local.ask(Method::POST, "/sessions");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.json(&json!({})).send()
    };
    assert_eq!(post(&[]).await.unwrap().status(), StatusCode::CREATED, "curl says nothing");
    for wrong in [
        &[("origin", "http://evil.example")][..],
        &[("origin", "http://localhost:1")],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        &[("origin", "http://evil.example"), ("authorization", "Bearer pt_x")],
    ] {
        let refused = post(wrong).await.unwrap();
        problem(refused, StatusCode::FORBIDDEN).await;
    }
    local.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_without_login_refuses_requests_from_a_proxy() {
    let (local, house) = (Api::open().await, House::open().await);
    for (name, value) in [
        ("x-forwarded-for", "203.0.113.9"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "photos.example.org"),
        ("forwarded", "for=203.0.113.9"),
        ("via", "1.1 caddy"),
        ("x-real-ip", "203.0.113.9"),
    ] {
        for path in ["/", "/sessions", "/docs/", "/static/x/app/main.js", "/nowhere"] {
            let refused = local.ask(Method::GET, path).header(name, value).send().await.unwrap();
            let told = problem(refused, StatusCode::FORBIDDEN).await;
            assert!(told.contains("Set web.auth to required"), "{path} with {name}: {told}");
        }
        let well = local.ask(Method::GET, "/healthz").header(name, value).send().await.unwrap();
        assert_eq!(well.status(), StatusCode::OK, "{name}");
        let guarded = house.ask(&Shows::Nothing, Method::GET, "/sessions").header(name, value);
        assert_eq!(guarded.send().await.unwrap().status(), StatusCode::UNAUTHORIZED, "{name}: people log in");
    }
    house.bot.stop().await;
    local.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn browsers_get_a_login_page_and_programs_a_problem() {
    let house = House::open().await;
    for path in ["/", "/sessions", "/docs", "/nowhere"] {
        let person = house.ask(&Shows::Nothing, Method::GET, path).header("accept", "text/html,*/*");
        let person = person.send().await.unwrap();
        assert_eq!(person.status(), StatusCode::UNAUTHORIZED, "{path}");
        assert!(person.headers()[CONTENT_TYPE].to_str().unwrap().starts_with("text/html"), "{path}");
        assert!(person.text().await.unwrap().contains("Send /web to the bot"), "{path}");
        let program = house.get(&Shows::Nothing, path).await;
        assert_eq!(program.headers()[WWW_AUTHENTICATE], "Bearer");
        problem(program, StatusCode::UNAUTHORIZED).await;
    }
    let how = house.get(&Shows::Nothing, "/login").await;
    assert_eq!(how.status(), StatusCode::OK);
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_has_security_headers() {
    let local = Api::open().await;
    let header = |answer: &Response, name: &str| {
        answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
    };
    for path in ["/", "/sessions", "/docs/", "/openapi.json", "/nowhere", "/sessions/x"] {
        let answer = local.get(path).await;
        let policy = header(&answer, CONTENT_SECURITY_POLICY.as_str());
        assert!(
            policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{path}"
        );
        let scripts = policy.split(';').find(|rule| rule.trim().starts_with("script-src")).unwrap();
        assert_eq!(scripts.trim(), "script-src 'self'", "{path}: {policy}");
        assert_eq!(header(&answer, "x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header(&answer, "referrer-policy"), "same-origin", "{path}");
        assert_eq!(header(&answer, "cross-origin-opener-policy"), "same-origin", "{path}");
        let kind = header(&answer, CONTENT_TYPE.as_str());
        if kind.contains("json") || kind.contains("html") {
            assert_eq!(header(&answer, CACHE_CONTROL.as_str()), "no-store", "{path}");
        }
    }
    local.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_docs_page_works_under_its_content_policy() {
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
