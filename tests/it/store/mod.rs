//! The test suite of the store. `on_both!` runs each test on SQLite and on PostgreSQL; the functions below build test data.

mod annotations;
mod attachments;
mod chats;
mod concurrency;
mod deletion;
mod drafts;
mod erasure;
mod findings;
mod history;
mod inbox;
mod logins;
mod migrations;
mod outage;
mod outbox;
mod people;
mod query_plans;
mod reactions;
mod replacement;
mod replies;
mod round_trips;
mod session_list;
mod sessions;
mod sqlite_settings;
mod turns;
mod usage;
mod verbs;

use crate::harness::newest_session;
use chrono::{DateTime, SubsecRound as _, Utc};
use photothread::{
    domain::{
        Attachment, AttachmentId, AttachmentSource, Content, Conversation, InterfaceType, NewMessage,
        PlannedSend, Recipe, Role, SendKind, SessionId, UserId,
    },
    store::{Detail, FiledFile, FiledMessage, Filing, NewUpdate, SessionFilter, Store, WantsTurn},
};
use serde_json::json;

/// `async fn name(store: Store) { … }` becomes the tests `sqlite::name` and `postgres::name`.
macro_rules! on_both {
    ($(async fn $name:ident($store:ident: Store) $body:block)*) => {
        mod bodies {
            use super::*;
            $(pub async fn $name($store: Store) $body)*
        }
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                let home = tempfile::tempdir().unwrap();
                let store = crate::store::sqlite_in(home.path()).await;
                super::bodies::$name(store.clone()).await;
                store.close().await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                let url = crate::harness::postgres::database().await;
                let store = photothread::store::Store::open(&url).await.unwrap();
                super::bodies::$name(store.clone()).await;
                store.close().await;
            })*
        }
    };
}
use on_both;

async fn sqlite_in(home: &std::path::Path) -> Store {
    Store::open(&sqlite_url(home)).await.unwrap()
}

fn sqlite_url(home: &std::path::Path) -> String {
    format!("sqlite://{}", home.join("photothread.db").display())
}

fn chat(id: i64) -> Conversation {
    Conversation::telegram(id)
}

fn page(id: &str) -> Conversation {
    Conversation::new(InterfaceType::Web, id)
}

fn ann() -> UserId {
    UserId("100".into())
}

/// A number of turns per person that no test reaches.
const MANY: i64 = 100;

/// Now, with the precision of PostgreSQL.
fn now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(6)
}

fn long_ago() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH
}

/// A user message of this session, without an id on the interface.
fn said(conversation: &Conversation, session: SessionId, text: &str) -> NewMessage {
    NewMessage::new(conversation.clone(), session, Role::User, text)
}

fn answered(conversation: &Conversation, session: SessionId, text: &str) -> NewMessage {
    NewMessage::new(conversation.clone(), session, Role::Assistant, text)
}

/// A stored picture that a person sent.
fn picture(conversation: &Conversation) -> Attachment {
    Attachment {
        attachment_id: AttachmentId::new(),
        conversation: conversation.clone(),
        user_id: ann(),
        source: AttachmentSource::User,
        mime_type: "image/jpeg".into(),
        filename: "image.jpg".into(),
        description: None,
        size: 1000,
        width: Some(40),
        height: Some(30),
        content: Content::stored("ab/abab", "ab".repeat(32)),
        created_at: now(),
        parents: Vec::new(),
    }
}

/// A stored file that a tool made.
fn stored_by(recipe: Recipe) -> Content {
    Content::Stored { object_key: "ab/abab".into(), sha256: "abab".into(), recipe: Some(recipe) }
}

/// A picture that is only a recipe so far.
fn unrendered(conversation: &Conversation) -> Attachment {
    let recipe = Recipe { tool: "crop_image".into(), arguments: json!({}) };
    Attachment { content: Content::Recipe(recipe), size: 0, ..picture(conversation) }
}

/// One message of a batch.
fn note(shown_id: &str, text: &str) -> FiledMessage {
    FiledMessage { interface_message_id: Some(shown_id.into()), ..FiledMessage::new(Role::User, text) }
}

fn album_photo(conversation: &Conversation, shown_id: &str, album: &str) -> FiledMessage {
    FiledMessage {
        album_id: Some(album.into()),
        files: vec![FiledFile::New(picture(conversation))],
        ..note(shown_id, "")
    }
}

/// A batch of Ann that starts a new thread.
fn filing(conversation: &Conversation, messages: Vec<FiledMessage>) -> Filing {
    Filing {
        conversation: conversation.clone(),
        user_id: ann(),
        agent_id: "photothread".into(),
        inbox_ids: Vec::new(),
        messages,
        thread_root: None,
        session: None,
        echo: None,
        wants_turn: WantsTurn::Yes,
    }
}

/// Files a message outside any thread and returns its session.
async fn session_of_filed(
    store: &Store,
    conversation: &Conversation,
    user: &UserId,
    shown_id: &str,
) -> SessionId {
    let batch = Filing { user_id: user.clone(), ..filing(conversation, vec![note(shown_id, "hi")]) };
    let filed = store.file(&batch).await.unwrap();
    store.message(filed.messages[0]).await.unwrap().unwrap().session_id
}

/// The sessions that a person started.
fn started_by(user: &UserId) -> SessionFilter {
    SessionFilter { user: Some(user.clone()), ..SessionFilter::default() }
}

fn update(key: &str) -> NewUpdate {
    NewUpdate { key: key.into(), raw: format!(r#"{{"update_id":{key}}}"#), conversation_id: None }
}

fn text_send(text: &str) -> PlannedSend {
    PlannedSend { kind: SendKind::Text, payload: json!({ "text": text }), items: 1, attachments: Vec::new() }
}

fn album_send(ids: &[AttachmentId]) -> PlannedSend {
    PlannedSend {
        kind: SendKind::MediaGroup,
        payload: json!({ "caption": null }),
        items: ids.len() as i64,
        attachments: ids.to_vec(),
    }
}
