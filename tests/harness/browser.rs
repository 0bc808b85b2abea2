//! Chromium, driven over WebDriver with plain JSON requests to chromedriver. Every wait polls until its condition holds,
//! or fails after [`WAIT_TIMEOUT`] with the text of the page.

use super::WAIT_TIMEOUT;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::Stdio,
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

const DRIVER: &str = "chromedriver";
/// How elements are named in WebDriver's JSON.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
const FLAGS: [&str; 11] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    // A desktop window: a mouse that can hover.
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4",
];

pub struct Browser {
    client: Client,
    driver: Child,
    port: u16,
    session: String,
}

/// A window or tab of it.
#[derive(Clone, Debug)]
pub struct Tab(String);

impl Browser {
    /// A window of its own, with nothing in it.
    pub async fn start() -> Browser {
        Self::start_with(&[]).await
    }

    pub async fn start_with(more_flags: &[&str]) -> Browser {
        let mut driver = Command::new(DRIVER)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| {
                panic!("These tests need Chromium and its {DRIVER} ({error}). Run `make setup`.")
            });
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = loop {
            let line = tokio::time::timeout(WAIT_TIMEOUT, lines.next_line())
                .await
                .expect("chromedriver prints a line");
            let line = line.unwrap().expect("chromedriver prints its port");
            if let Some((_, rest)) = line.split_once("started successfully on port ") {
                break rest.trim_end_matches('.').parse().unwrap();
            }
        };
        // Its output must be read, or it blocks when the pipe is full.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let client = Client::builder().no_proxy().build().unwrap();
        let mut browser = Browser { client, driver, port, session: String::new() };
        let flags: Vec<&str> = FLAGS.iter().chain(more_flags).copied().collect();
        let wanted = json!({
            "browserName": "chrome",
            "goog:chromeOptions": { "args": flags },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let started =
            browser.call(Method::POST, "", json!({ "capabilities": { "alwaysMatch": wanted } })).await;
        browser.session = started["sessionId"].as_str().expect("a session").to_owned();
        browser.resize(1280, 900).await;
        browser
    }

    async fn try_call(&self, method: Method, path: &str, body: Value) -> Result<Value, String> {
        let slash = if self.session.is_empty() { "" } else { "/" };
        let url = format!("http://127.0.0.1:{}/session{slash}{}{path}", self.port, self.session);
        let request = self.client.request(method.clone(), url);
        let request = if method == Method::POST { request.json(&body) } else { request };
        let answer = request.send().await.expect("chromedriver answers");
        let failed = !answer.status().is_success();
        let mut answer: Value = answer.json().await.expect("JSON");
        let value = answer["value"].take();
        if failed { Err(value["message"].as_str().unwrap_or_default().to_owned()) } else { Ok(value) }
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        self.try_call(method, path, body).await.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.call(Method::POST, path, body).await
    }

    pub async fn resize(&self, width: u32, height: u32) {
        self.post("/window/rect", json!({ "width": width, "height": height })).await;
    }

    pub async fn go(&self, url: &str) {
        self.post("/url", json!({ "url": url })).await;
    }

    pub async fn reload(&self) {
        self.post("/refresh", json!({})).await;
    }

    pub async fn address(&self) -> String {
        self.call(Method::GET, "/url", Value::Null).await.as_str().unwrap().to_owned()
    }

    pub async fn new_tab(&self) -> Tab {
        let made = self.post("/window/new", json!({ "type": "tab" })).await;
        Tab(made["handle"].as_str().unwrap().to_owned())
    }

    pub async fn this_tab(&self) -> Tab {
        Tab(self.call(Method::GET, "/window", Value::Null).await.as_str().unwrap().to_owned())
    }

    pub async fn switch_to(&self, tab: &Tab) {
        self.post("/window", json!({ "handle": tab.0 })).await;
    }

    /// Runs the body of a function with these arguments and returns its result; awaits a promise.
    pub async fn run(&self, script: &str, arguments: Value) -> Value {
        let arguments = if arguments.is_array() { arguments } else { json!([arguments]) };
        self.post("/execute/sync", json!({ "script": script, "args": arguments })).await
    }

    /// Waits until an expression is true, and gives its value.
    pub async fn until(&self, what: &str, expression: &str) -> Value {
        let script = format!("return ({expression})");
        let wait = async {
            loop {
                // A page that is being replaced cannot evaluate it yet.
                let body = json!({ "script": script, "args": [] });
                match self.try_call(Method::POST, "/execute/sync", body).await {
                    Ok(Value::Null | Value::Bool(false)) | Err(_) => {}
                    Ok(Value::Number(number)) if number.as_f64() == Some(0.0) => {}
                    Ok(Value::String(text)) if text.is_empty() => {}
                    Ok(value) => return value,
                }
                tokio::task::yield_now().await;
            }
        };
        match tokio::time::timeout(WAIT_TIMEOUT, wait).await {
            Ok(value) => value,
            Err(_) => panic!("waited in vain for {what}: {expression}\n{}", self.story().await),
        }
    }

    pub async fn until_there(&self, css: &str) {
        self.until(css, &format!("!!document.querySelector({})", json!(css))).await;
    }

    pub async fn until_text(&self, css: &str, text: &str) {
        let expression =
            format!("document.querySelector({})?.textContent.includes({})", json!(css), json!(text));
        self.until(&format!("{text:?} in {css}"), &expression).await;
    }

    /// How many elements match right now.
    pub async fn count(&self, css: &str) -> u64 {
        let script = "return document.querySelectorAll(arguments[0]).length";
        self.run(script, json!([css])).await.as_u64().unwrap()
    }

    pub async fn text(&self, css: &str) -> String {
        self.until_there(css).await;
        let script = "return document.querySelector(arguments[0]).textContent.trim()";
        self.run(script, json!([css])).await.as_str().unwrap().to_owned()
    }

    async fn element(&self, css: &str) -> String {
        self.until_there(css).await;
        let found = self.post("/element", json!({ "using": "css selector", "value": css })).await;
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    /// Clicks like a person: the element must be visible and not covered.
    pub async fn click(&self, css: &str) {
        let mut why = String::new();
        let attempt = async {
            loop {
                let id = self.element(css).await;
                // The driver takes elements above the start of a reversed list for hidden.
                let script = "arguments[0].scrollIntoView({ block: 'nearest' })";
                let body = json!({ "script": script, "args": [{ ELEMENT: id }] });
                let _ = self.try_call(Method::POST, "/execute/sync", body).await;
                match self.try_call(Method::POST, &format!("/element/{id}/click"), json!({})).await {
                    Ok(_) => return,
                    // The element moves, or was just replaced.
                    Err(error) => why = error,
                }
                tokio::task::yield_now().await;
            }
        };
        if tokio::time::timeout(WAIT_TIMEOUT, attempt).await.is_err() {
            panic!("{css} cannot be clicked: {why}\n{}", self.story().await);
        }
    }

    /// Types into a field, or gives a file field the paths of files.
    pub async fn write(&self, css: &str, text: &str) {
        let id = self.element(css).await;
        self.post(&format!("/element/{id}/value"), json!({ "text": text })).await;
    }

    /// Presses keys on the focused element.
    pub async fn press(&self, keys: &str) {
        let strokes = keys.chars().flat_map(|key| {
            ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
        });
        let keyboard = json!({ "type": "key", "id": "keys", "actions": strokes.collect::<Vec<_>>() });
        self.post("/actions", json!({ "actions": [keyboard] })).await;
    }

    /// Drags the mouse from one point of the window to another.
    pub async fn drag(&self, from: (i64, i64), to: (i64, i64)) {
        let to_point = |(x, y): (i64, i64), duration: u32| json!({ "type": "pointerMove", "duration": duration, "x": x, "y": y });
        let way = json!([
            to_point(from, 0),
            { "type": "pointerDown", "button": 0 },
            to_point(((from.0 + to.0) / 2, (from.1 + to.1) / 2), 20),
            to_point(to, 20),
            { "type": "pointerUp", "button": 0 },
        ]);
        let mouse = json!({ "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" }, "actions": way });
        self.post("/actions", json!({ "actions": [mouse] })).await;
    }

    /// Errors of the browser's console, such as a script error or a violation of the content security policy.
    pub async fn complaints(&self) -> Vec<String> {
        let log = self.post("/se/log", json!({ "type": "browser" })).await;
        let severe = log.as_array().into_iter().flatten().filter(|line| line["level"] == "SEVERE");
        severe.map(|line| line["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    pub async fn photograph(&self, path: &Path) {
        use base64::Engine as _;
        let picture = self.call(Method::GET, "/screenshot", Value::Null).await;
        let bytes = base64::engine::general_purpose::STANDARD.decode(picture.as_str().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    async fn story(&self) -> String {
        let text = json!({ "script": "return location.href + '\\n' + document.body.innerText", "args": [] });
        let page =
            self.try_call(Method::POST, "/execute/sync", text).await.unwrap_or_else(|error| json!(error));
        let complaints = self.complaints().await.join("\n");
        format!("The page:\n{}\nThe console:\n{complaints}", page.as_str().unwrap_or_default())
    }
}

impl Drop for Browser {
    /// Chromium ends with its session, not with the driver. A failed test must not leave one running.
    fn drop(&mut self) {
        if let Ok(mut line) = TcpStream::connect(("127.0.0.1", self.port)) {
            let _ = line.set_read_timeout(Some(WAIT_TIMEOUT));
            let request = format!(
                "DELETE /session/{} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
                self.session
            );
            let _ = line.write_all(request.as_bytes());
            let _ = line.read(&mut [0; 256]);
        }
        let _ = self.driver.start_kill();
    }
}
