//! The conformance suite of the store: one body per promise, run on SQLite and on PostgreSQL alike.
//! Here are the macro that doubles a test and the small things the promises are told with.

mod annotations;
mod attachments;
mod deletion;
mod drafts;
mod history;
mod inbox;
mod logins;
mod migrations;
mod outage;
mod outbox;
mod people;
mod plans;
mod replacing;
mod replies;
mod round_trips;
mod session_list;
mod sessions;
mod sqlite_settings;
mod together;
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

/// `async fn promise(store: Store) { … }` becomes `sqlite::promise` and `postgres::promise`.
macro_rules! on_both {
    ($(async fn $name:ident($store:ident: Store) $body:block)*) => {
        mod promises {
            use super::*;
            $(pub async fn $name($store: Store) $body)*
        }
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                let home = tempfile::tempdir().unwrap();
                let store = crate::store::sqlite_in(home.path()).await;
                super::promises::$name(store.clone()).await;
                store.close().await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                let url = crate::harness::postgres::database().await;
                let store = photothread::store::Store::open(&url).await.unwrap();
                super::promises::$name(store.clone()).await;
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

/// Now, as exactly as PostgreSQL keeps it.
fn now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(6)
}

fn long_ago() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH
}

/// A message of the person in this session, without an id that people see.
fn said(place: &Conversation, session: SessionId, text: &str) -> NewMessage {
    NewMessage::new(place.clone(), session, Role::User, text)
}

fn answered(place: &Conversation, session: SessionId, text: &str) -> NewMessage {
    NewMessage::new(place.clone(), session, Role::Assistant, text)
}

/// A picture the person sent, its bytes already in the object store.
fn picture(place: &Conversation) -> Attachment {
    Attachment {
        attachment_id: AttachmentId::new(),
        conversation: place.clone(),
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
fn unrendered(place: &Conversation) -> Attachment {
    let recipe = Recipe { tool: "crop_image".into(), arguments: json!({}) };
    Attachment { content: Content::Recipe(recipe), size: 0, ..picture(place) }
}

/// One message of a batch.
fn note(shown_id: &str, text: &str) -> FiledMessage {
    FiledMessage { interface_message_id: Some(shown_id.into()), ..FiledMessage::new(Role::User, text) }
}

fn album_photo(place: &Conversation, shown_id: &str, album: &str) -> FiledMessage {
    FiledMessage {
        album_id: Some(album.into()),
        files: vec![FiledFile::New(picture(place))],
        ..note(shown_id, "")
    }
}

/// A batch of Ann's that starts a thread of its own.
fn filing(place: &Conversation, messages: Vec<FiledMessage>) -> Filing {
    Filing {
        conversation: place.clone(),
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
async fn session_of_filed(store: &Store, place: &Conversation, user: &UserId, shown_id: &str) -> SessionId {
    let batch = Filing { user_id: user.clone(), ..filing(place, vec![note(shown_id, "hi")]) };
    let filed = store.file(&batch).await.unwrap();
    store.message(filed.messages[0]).await.unwrap().unwrap().session_id
}

/// The sessions a person began.
fn begun_by(user: &UserId) -> SessionFilter {
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
