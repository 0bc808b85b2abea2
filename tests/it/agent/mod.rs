//! What the model is sent and how its answers are handled: the real program with the Telegram stand-in and a scripted
//! model. This file has the fixture; the tests are in the files below.

mod budgets;
mod context_window;
mod fallback;
mod image_generation;
mod images_shown;
mod logs;
mod prompts;
mod provider_errors;
mod routing;
mod sent_files;
mod stored_messages;
mod streaming;
mod titles;
mod tool_loop;
mod turn_limits;

use crate::harness::{BotUnderTest, Person, ScriptedModel, Settings, World, newest_session, user};
use photothread::{
    domain::{Conversation, Message},
    store::Store,
};
use regex::Regex;
use serde_json::Value;
use std::ops::Deref;

/// Ann, the bot and its model.
struct Stage {
    world: World,
    model: ScriptedModel,
    settings: Settings,
    bot: BotUnderTest,
    ann: Person,
}

impl Stage {
    async fn set() -> Stage {
        Stage::set_with(&[]).await
    }

    async fn set_with(variables: &[(&str, &str)]) -> Stage {
        let world = World::start().await;
        let model = ScriptedModel::start().await;
        let mut settings = Settings::new(&world).with_model(&model.base_url());
        for (name, value) in variables {
            settings = settings.with(name, *value);
        }
        let bot = BotUnderTest::start(&settings).await;
        let ann = world.private_chat(user(1001, "Ann"));
        Stage { world, model, settings, bot, ann }
    }

    fn last_request(&self) -> Value {
        self.model.requests().pop().expect("the model was asked")
    }

    /// Everything in Ann's chat, oldest first.
    async fn rows(&self) -> Vec<Message> {
        rows_of(&self.settings.store().await, &self.ann).await
    }

    /// Asserts that the model refused no request, and stops the bot.
    async fn clear(self) {
        assert_eq!(self.model.refusals(), [""; 0]);
        self.bot.stop().await;
    }

    /// The same; returns the stored messages. When the bot has stopped, the ids of all sends are stored.
    async fn at_rest(self) -> (AtRest, Vec<Message>) {
        assert_eq!(self.model.refusals(), [""; 0]);
        self.bot.stop().await;
        let store = self.settings.store().await;
        let rows = rows_of(&store, &self.ann).await;
        (AtRest { store, _home: self.settings }, rows)
    }
}

/// The store of a stopped bot, with the temporary folder that holds it.
struct AtRest {
    store: Store,
    _home: Settings,
}

impl Deref for AtRest {
    type Target = Store;
    fn deref(&self) -> &Store {
        &self.store
    }
}

async fn rows_of(store: &Store, person: &Person) -> Vec<Message> {
    let conversation = Conversation::telegram(person.chat_id);
    let session = newest_session(store, &conversation).await.expect("a session");
    store
        .messages_of_session(session.session_id, None, None, photothread::store::Detail::WithTools)
        .await
        .unwrap()
}

/// The text of a message in a request, its parts joined by lines; pixels become `[pixels]`.
fn text_of(message: &Value) -> String {
    let part = |part: &Value| part["text"].as_str().unwrap_or("[pixels]").to_owned();
    match &message["content"] {
        Value::Array(parts) => parts.iter().map(part).collect::<Vec<_>>().join("\n"),
        content => content.as_str().unwrap_or_default().to_owned(),
    }
}

/// The texts of all messages of this role, oldest first.
fn said_by(role: &str, request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().expect("messages");
    messages.iter().filter(|message| message["role"] == role).map(text_of).collect()
}

fn system(request: &Value) -> String {
    said_by("system", request).remove(0)
}

fn tools(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
}

/// A whole request as a person would read it. Ids become A1, A2, … in order of appearance, moments become names.
fn shown(request: &Value) -> String {
    let mut page = String::new();
    for message in request["messages"].as_array().expect("messages") {
        let about = message["tool_call_id"].as_str().map(|id| format!(" for {id}")).unwrap_or_default();
        page += &format!("──── {}{about}\n", message["role"].as_str().unwrap_or_default());
        let text = text_of(message);
        if !text.is_empty() {
            page += &format!("{text}\n");
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let (id, function) = (call["id"].as_str().unwrap_or_default(), &call["function"]);
            let (name, arguments) = (&function["name"], &function["arguments"]);
            let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            page += &format!("{id}: {} {}\n", words(name), words(arguments));
        }
    }
    renamed(&page)
}

/// The same without the rules at the start of the system prompt, which have a snapshot of their own.
fn shown_after_rules(request: &Value) -> String {
    let page = shown(request);
    let (_, rest) = page.split_once("\nIt is <now>").expect("a system prompt");
    format!("──── system\n…\nIt is <now>{rest}")
}

fn renamed(page: &str) -> String {
    let pattern = |text: &str| Regex::new(text).expect("a valid pattern");
    let id = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
    // Numbered in the order of the conversation: the system prompt lists them in reverse order.
    let (before, after) = page.split_once("──── user").unwrap_or((page, ""));
    let told = format!("{after}{before}");
    let mut page = page.to_owned();
    for (letter, context) in [("T", format!(r"\(turn ({id})\)")), ("A", format!("({id})"))] {
        let mut number = 0;
        for found in pattern(&context).captures_iter(&told).map(|found| found[1].to_owned()) {
            if page.contains(&found) {
                number += 1;
                page = page.replace(&found, &format!("{letter}{number}"));
            }
        }
    }
    let page = pattern(r"It is \w+ \d+ \w+ \d+, \d\d:\d\d UTC").replace_all(&page, "It is <now>");
    pattern(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC").replace_all(&page, "<then>").into_owned()
}
