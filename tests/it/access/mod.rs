//! Login, tokens and isolation over HTTP: the real server with login required, people who ask for links on Telegram, and
//! their browsers and programs.

mod changes;
mod erasure;
mod guard;
mod isolation;
mod login;
mod members;
mod routes;
mod tokens;

use crate::harness::{BotUnderTest, Person, Settings, World};
use reqwest::{
    Client, Method, RequestBuilder, Response, StatusCode,
    header::{AUTHORIZATION, COOKIE, ORIGIN, SET_COOKIE},
    redirect::Policy,
};
use serde_json::{Value, json};

/// The program with a login for its page.
pub struct House {
    pub world: World,
    pub settings: Settings,
    pub bot: BotUnderTest,
    pub url: String,
    pub client: Client,
}

/// The credential of a request.
#[derive(Clone, Debug)]
pub enum Shows {
    Nothing,
    Cookie(String),
    Token(String),
}

impl House {
    pub async fn open() -> Self {
        Self::open_with(|settings| settings).await
    }

    pub async fn open_with(change: impl FnOnce(Settings) -> Settings) -> Self {
        let world = World::start().await;
        let settings = change(Settings::new(&world).with("PHOTOTHREAD_WEB__AUTH", "required"));
        Self::start(world, settings.with("PHOTOTHREAD_WEB__LISTEN", "127.0.0.1:0")).await
    }

    async fn start(world: World, settings: Settings) -> Self {
        let bot = BotUnderTest::start(&settings).await;
        let client = Client::builder().redirect(Policy::none()).build().unwrap();
        Self { world, settings, url: bot.page(), bot, client }
    }

    /// Restarts on the same data with changed settings.
    pub async fn reopened_with(self, change: impl FnOnce(Settings) -> Settings) -> Self {
        self.bot.stop().await;
        Self::start(self.world, change(self.settings)).await
    }

    pub fn ask(&self, shows: &Shows, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.url));
        match shows {
            Shows::Nothing => request,
            // As browsers send it.
            Shows::Cookie(cookie) => request.header(COOKIE, cookie).header(ORIGIN, &self.url),
            Shows::Token(token) => request.header(AUTHORIZATION, format!("Bearer {token}")),
        }
    }

    pub async fn get(&self, shows: &Shows, path: &str) -> Response {
        self.ask(shows, Method::GET, path).send().await.unwrap()
    }

    pub async fn status(&self, shows: &Shows, path: &str) -> StatusCode {
        self.get(shows, path).await.status()
    }

    /// The path of the login link that the bot sends to this person.
    pub async fn link(&self, person: &Person) -> String {
        person.says("/web").await;
        let text = person.next_message().await.text;
        let (_, path) = text.split_once(&self.url).unwrap_or_else(|| panic!("no link in {text:?}"));
        path.trim().to_owned()
    }

    /// Posts the form of the login page.
    pub async fn follow(&self, link: &str) -> Response {
        self.client.post(format!("{}{link}", self.url)).header(ORIGIN, &self.url).send().await.unwrap()
    }

    /// Logs in with a link from the bot.
    pub async fn log_in(&self, person: &Person) -> Shows {
        let answer = self.follow(&self.link(person).await).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        Shows::Cookie(cookie_of(&answer).expect("a cookie"))
    }

    /// Creates a token and returns it with its id.
    pub async fn token(&self, browser: &Shows) -> (Shows, String) {
        let made = self.ask(browser, Method::POST, "/tokens").json(&json!({ "name": "script" }));
        let made = made.send().await.unwrap();
        assert_eq!(made.status(), StatusCode::CREATED);
        let made: Value = made.json().await.unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (Shows::Token(text(&made["secret"])), text(&made["token"]["tokenId"]))
    }

    /// The raw bytes of the database files.
    pub fn database(&self) -> Vec<u8> {
        let files = std::fs::read_dir(self.settings.folder()).unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.is_file()).flat_map(|path| std::fs::read(path).unwrap()).collect()
    }
}

/// Name and value of the cookie that a response sets.
pub fn cookie_of(answer: &Response) -> Option<String> {
    let line = answer.headers().get(SET_COOKIE)?.to_str().unwrap();
    Some(line.split(';').next().unwrap().to_owned())
}

pub fn contains(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle.as_bytes())
}
