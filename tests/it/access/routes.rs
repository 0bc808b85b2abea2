//! Tries every route with given ids. The routes come from the OpenAPI document, so a new route fails here until this file
//! says how to try it.

use super::{House, Shows};
use reqwest::{
    Method, RequestBuilder, StatusCode,
    header::IF_MATCH,
    multipart::{Form, Part},
};
use serde_json::{Value, json};

/// The ids for path parameters.
#[derive(Clone, Debug)]
pub struct Things {
    pub session: String,
    pub message: String,
    pub turn: String,
    pub attachment: String,
    pub token: String,
}

impl Things {
    /// Ids that do not exist.
    pub fn nothing() -> Self {
        let id = || uuid::Uuid::new_v4().to_string();
        Self { session: id(), message: "999999999".into(), turn: id(), attachment: id(), token: id() }
    }

    fn fill(&self, path: &str) -> String {
        let filled = path
            .replace("{session_id}", &self.session)
            .replace("{internal_id}", &self.message)
            .replace("{attachment_id}", &self.attachment)
            .replace("{token_id}", &self.token);
        assert!(!filled.contains('{'), "{path}: say in this file what that stands for");
        filled
    }
}

/// Method and path template.
#[derive(Clone, Debug)]
pub struct Route {
    pub method: Method,
    pub path: String,
}

/// What a route accesses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum About {
    /// The resource in its path.
    Something,
    /// Only data of the caller: it succeeds and shows nothing of others.
    Oneself,
}

enum Body {
    Nothing,
    Json(Value),
    File(&'static [u8]),
}

impl Route {
    /// All routes of the document.
    pub async fn all(house: &House, shows: &Shows) -> Vec<Self> {
        let document: Value = house.get(shows, "/openapi.json").await.json().await.unwrap();
        let mut routes = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                let Ok(method) = method.to_uppercase().parse() else { continue };
                routes.push(Self { method, path: path.clone() });
            }
        }
        assert!(routes.len() > 15, "the document was not understood: {routes:?}");
        // Last: it ends the login with which the routes are tried.
        routes.sort_by_key(|route| route.path == "/logins");
        routes
    }

    /// How to try a route: what it accesses, and a body that would work. Add new routes here.
    fn trial(&self) -> (About, Body) {
        use About::{Oneself, Something};
        let entry = || json!({ "role": "user", "content": "not Ann's words" });
        match (self.method.as_str(), self.path.as_str()) {
            ("GET", "/sessions" | "/tokens" | "/history/recent") => (Oneself, Body::Nothing),
            ("DELETE", "/logins") => (Oneself, Body::Nothing),
            ("POST", "/sessions") => (Oneself, Body::Json(json!({}))),
            ("POST", "/tokens") => (Oneself, Body::Json(json!({ "name": "mine" }))),
            ("POST", "/attachments") => (Oneself, Body::File(b"hello")),
            ("POST", "/sessions/import") => (Oneself, Body::File(b"[]")),
            ("PUT", "/sessions/{session_id}") => (Something, Body::Json(json!({ "title": "mine" }))),
            ("PUT", "/sessions/{session_id}/history") => (Something, Body::Json(json!([entry()]))),
            ("PATCH", "/sessions/{session_id}/history/{internal_id}") => {
                (Something, Body::Json(json!({ "tags": ["mine"], "refs": [] })))
            }
            ("POST", "/sessions/{session_id}/messages") => {
                (Something, Body::Json(json!({ "content": "hello" })))
            }
            ("POST", "/sessions/{session_id}/cancel") => (Something, Body::Nothing),
            (
                "GET",
                "/sessions/{session_id}"
                | "/sessions/{session_id}/metadata"
                | "/sessions/{session_id}/history"
                | "/sessions/{session_id}/events"
                | "/sessions/{session_id}/refs"
                | "/sessions/{session_id}/export"
                | "/attachments/{attachment_id}"
                | "/attachments/{attachment_id}/metadata",
            )
            | ("DELETE", "/sessions/{session_id}" | "/attachments/{attachment_id}" | "/tokens/{token_id}") => {
                (Something, Body::Nothing)
            }
            (method, path) => panic!("{method} {path}: say in this file how it is tried"),
        }
    }

    pub fn about(&self) -> About {
        self.trial().0
    }

    pub fn request(&self, house: &House, shows: &Shows, things: &Things) -> RequestBuilder {
        // Without If-Match the change would be refused for that.
        let request = house
            .ask(shows, self.method.clone(), &things.fill(&self.path))
            .header(IF_MATCH, format!("\"{}-0\"", things.session.replace('-', "")));
        match self.trial().1 {
            Body::Nothing => request,
            Body::Json(body) => request.json(&body),
            Body::File(bytes) => request.multipart(Form::new().part("file", Part::bytes(bytes))),
        }
    }

    /// The start of the response: a stream has no end.
    pub async fn tried(&self, house: &House, shows: &Shows, things: &Things) -> (StatusCode, String) {
        let mut answer = self.request(house, shows, things).send().await.unwrap();
        let status = answer.status();
        let streams = answer.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let text = match streams {
            true => answer.chunk().await.unwrap().map(|bytes| bytes.to_vec()).unwrap_or_default(),
            false => answer.bytes().await.unwrap().to_vec(),
        };
        (status, String::from_utf8_lossy(&text).into_owned())
    }
}
