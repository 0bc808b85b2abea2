//! `World`: the Telegram stand-in as tests use it. Adds people, injects faults, and reads what the bot did.

use super::{
    api,
    faults::{Next, RateLimits},
    people::{Group, MessageRef, Person, User},
    received::{Call, Received},
    server::Server,
    state::{BOT_ID, BOT_NAME, Shared, State},
};
use serde_json::Value;
use std::{path::Path, sync::Arc};

pub struct World {
    pub(super) shared: Arc<Shared>,
    server: Server,
}

impl World {
    /// Telegram with one bot and no people. It runs on a thread of its own until dropped.
    pub async fn start() -> World {
        let shared = Arc::new(Shared::new(format!("{BOT_ID}:AAE-the-token-of-the-test-world")));
        let server = Server::start(api::router(shared.clone()));
        World { shared, server }
    }

    pub fn api_url(&self) -> String {
        self.server.url()
    }

    pub fn token(&self) -> &str {
        &self.shared.token
    }

    /// The bot's name for `@mentions`, without the `@`.
    pub fn bot_name(&self) -> &'static str {
        BOT_NAME
    }

    /// Serves as a Bot API server that was started with `--local`: files of any size, in this folder.
    pub fn serves_locally(&self, folder: &Path) {
        self.shared.change(|state| state.local_folder = Some(folder.to_owned()));
    }

    pub fn private_chat(&self, user: User) -> Person {
        Person::in_private(self.shared.clone(), user)
    }

    pub fn group(&self, title: &str) -> Group {
        Group::new(self.shared.clone(), title)
    }

    /// Injects a fault into the next call of this method; downloads of files are the method `"download"`.
    pub fn next(&self, method: &str) -> Next<'_> {
        Next::new(&self.shared, method)
    }

    /// As [`World::next`], for the next send of any kind.
    pub fn next_send(&self) -> Next<'_> {
        Next::any_send(&self.shared)
    }

    /// Queues updates from now on without showing them to the bot.
    pub fn hold_updates(&self) {
        self.shared.change(|state| {
            state.held_back.get_or_insert_default();
        });
    }

    /// Shows the bot all updates that were held back.
    pub fn release_updates(&self) {
        self.shared.change(|state| {
            let held = state.held_back.take().unwrap_or_default();
            state.updates.extend(held);
        });
    }

    /// Drops the updates held back: their messages are from before the bot joined the chat.
    pub fn forget_updates(&self) {
        self.shared.change(|state| state.held_back = None);
    }

    /// Queues this JSON as an update, with a new `update_id`. Returns that id.
    pub fn raw_update(&self, body: Value) -> i64 {
        self.shared.change(|state| state.publish_raw(body))
    }

    /// Numbers updates from here on, as Telegram does after a week without updates.
    pub fn restart_update_ids(&self, first: i64) {
        self.shared.change(|state| state.restart_update_ids(first));
    }

    /// Leaves a gap in the message ids of a chat.
    pub fn skip_message_ids(&self, chat_id: i64, count: i32) {
        self.shared.change(|state| state.chat(chat_id).skip_message_ids(count));
    }

    /// The highest offset that the bot has confirmed. Updates below it are deleted.
    pub fn confirmed_offset(&self) -> i64 {
        self.shared.look().confirmed_offset
    }

    pub async fn wait_for_confirmed(&self, update_id: i64) {
        let what = format!("update {update_id} to be confirmed");
        self.shared.wait(&what, |state| (state.confirmed_offset > update_id).then_some(())).await;
    }

    /// Waits until the bot has confirmed every update. It may not have handled them yet.
    pub async fn wait_until_all_confirmed(&self) {
        let all = |state: &mut State| {
            let held = state.held_back.as_ref().is_some_and(|held| !held.is_empty());
            (!held && state.updates.is_empty()).then_some(())
        };
        self.shared.wait("all updates to be confirmed", all).await;
    }

    /// Waits until the bot has called a method this often, answered or not.
    pub async fn wait_for_calls(&self, method: &str, count: usize) {
        let what = format!("{count} × {method}");
        let enough = |state: &mut State| {
            let calls = state.calls.iter().filter(|call| call.method == method);
            (calls.count() >= count).then_some(())
        };
        self.shared.wait(&what, enough).await;
    }

    /// Waits until the bot has made this many calls of any kind, answered or not.
    pub async fn wait_for_calls_of_any_kind(&self, count: usize) {
        let what = format!("{count} calls");
        self.shared.wait(&what, |state| (state.calls.len() >= count).then_some(())).await;
    }

    /// Waits until a caller of this method has closed its connection before the answer, as a killed bot does.
    pub async fn wait_for_hang_up(&self, method: &str) {
        let what = format!("the caller of {method} to hang up");
        let gone = |call: &Call| call.method == method && matches!(call.answer, Some((api::HUNG_UP, _)));
        self.shared.wait(&what, |state| state.calls.iter().any(gone).then_some(())).await;
    }

    /// How often the bot has called a method, answered or not; downloads count as `"download"`.
    pub fn calls(&self, method: &str) -> usize {
        self.shared.look().calls.iter().filter(|call| call.method == method).count()
    }

    pub fn all_calls(&self) -> Vec<Call> {
        self.shared.look().calls.clone()
    }

    /// Calls that were answered with an error, such as a limit the bot broke. A server without drafts is no limit.
    pub fn refused_calls(&self) -> Vec<Call> {
        let refused = |call: &&Call| {
            let is_missing = call.method == "sendMessageDraft"
                && call.answer.as_ref().is_some_and(|(status, _)| *status == 404);
            !is_missing
                && call.answer.as_ref().is_some_and(|(status, _)| ![200, api::HUNG_UP].contains(status))
        };
        self.shared.look().calls.iter().filter(refused).cloned().collect()
    }

    /// Every message the bot has sent to a chat, read or not, as it was when sent.
    pub fn sends_to(&self, chat_id: i64) -> Vec<Received> {
        self.shared.look().chat(chat_id).deliveries.concat()
    }

    /// The same, one entry for each send: an album is one.
    pub fn deliveries_to(&self, chat_id: i64) -> Vec<Vec<Received>> {
        self.shared.look().chat(chat_id).deliveries.clone()
    }

    /// A message as it stands now, if it was not deleted.
    pub fn message(&self, chat_id: i64, message_id: i32) -> Option<Received> {
        let state = self.shared.look();
        state.find_message(chat_id, message_id.into()).map(|message| state.received(message))
    }

    /// Every text a message of the bot has had, oldest first; still there once it is deleted.
    pub fn texts_of(&self, message: impl Into<MessageRef>) -> Vec<String> {
        let MessageRef { chat_id, message_id, .. } = message.into();
        let mut state = self.shared.look();
        let chat = state.chat(chat_id);
        let versions = chat.deliveries.iter().flatten().chain(&chat.edits);
        versions
            .filter(|version| version.message_id == message_id)
            .map(|version| version.text.clone())
            .collect()
    }

    /// Waits until the bot has deleted a message.
    pub async fn wait_until_deleted(&self, message: impl Into<MessageRef>) {
        let MessageRef { chat_id, message_id, .. } = message.into();
        let what = format!("message {message_id} in chat {chat_id} to be deleted");
        let gone = |state: &mut State| state.chat(chat_id).deleted.contains(&message_id).then_some(());
        self.shared.wait(&what, gone).await;
    }

    /// Waits until a message of the bot has exactly this text.
    pub async fn wait_for_text(&self, message: impl Into<MessageRef>, text: &str) -> Received {
        let MessageRef { chat_id, message_id, .. } = message.into();
        let what = format!("message {message_id} in chat {chat_id} to be {text:?}");
        let reads = |state: &mut State| {
            let now = state.find_message(chat_id, message_id.into()).map(|message| state.received(message));
            now.filter(|message| message.text == text)
        };
        self.shared.wait(&what, reads).await
    }

    pub fn deleted_in(&self, chat_id: i64) -> Vec<i32> {
        self.shared.look().chat(chat_id).deleted.clone()
    }

    /// The chat actions, such as "typing…", that a chat has seen.
    pub fn actions(&self, chat_id: i64) -> Vec<String> {
        self.shared.look().chat(chat_id).actions.clone()
    }

    /// The chat actions that one topic has seen.
    pub fn actions_in(&self, chat_id: i64, topic: Option<i32>) -> Vec<String> {
        let mut state = self.shared.look();
        let chat = state.chat(chat_id);
        let seen = chat.actions.iter().zip(&chat.action_topics).filter(|(_, seen)| **seen == topic);
        seen.map(|(action, _)| action.clone()).collect()
    }

    /// Waits until the bot has answered this press of a button.
    pub async fn wait_for_callback_answer(&self, query_id: &str) {
        let what = format!("an answer to {query_id}");
        self.shared.wait(&what, |state| (!state.open_callbacks.contains(query_id)).then_some(())).await;
    }

    /// The commands that the bot registered for all people.
    pub fn commands(&self) -> Vec<String> {
        let state = self.shared.look();
        let default = state.commands.iter().filter(|(scope, _)| scope.contains(r#""default""#));
        let listed = default.filter_map(|(_, commands)| commands.as_array()).flatten();
        listed.filter_map(|command| command["command"].as_str().map(Into::into)).collect()
    }

    /// Describes where the bot broke these limits; empty if it kept them.
    pub fn rate_violations(&self, limits: RateLimits) -> Vec<String> {
        limits.violations(&self.shared.look().calls)
    }

    /// All recorded calls, for a failure message of a test.
    pub fn story(&self) -> String {
        self.shared.look().story()
    }
}
