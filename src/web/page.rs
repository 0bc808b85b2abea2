//! The page itself: the current session's messages and pictures, and a form to go on.

use super::{Site, local_conversation, post::Trouble};
use crate::{
    attachments::{markers, size},
    domain::{Attachment, AttachmentId, Conversation, Message, MessageId, Role},
};
use askama::Template;
use axum::{
    extract::{Query, State},
    http::header,
    response::{Html, IntoResponse},
};
use chrono::{TimeDelta, Utc};
use serde::Deserialize;
use std::sync::Arc;
use tracing::error;

#[derive(Deserialize)]
pub struct Pointing {
    reply: Option<i64>,
    file: Option<AttachmentId>,
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    entries: Vec<Entry>,
    reply: Option<Reply>,
    elsewhere: Vec<Elsewhere>,
}

/// One message as shown.
struct Entry {
    id: i64,
    theirs: bool,
    text: String,
    when: String,
    /// What the agent did for this answer.
    did: Vec<String>,
    files: Vec<File>,
    note: Option<String>,
}

struct File {
    id: AttachmentId,
    name: String,
    about: String,
    picture: bool,
}

struct Reply {
    message: i64,
    file: Option<AttachmentId>,
    text: String,
}

/// A conversation on another interface, with its last words.
struct Elsewhere {
    place: Conversation,
    text: String,
    when: String,
}

pub async fn show(
    State(site): State<Arc<Site>>,
    Query(pointing): Query<Pointing>,
) -> Result<impl IntoResponse, Trouble> {
    let place = local_conversation();
    let messages = match site.store.current_session(&place).await? {
        Some(session) => site.store.messages_of_session(session.session_id).await?,
        None => Vec::new(),
    };
    let ids: Vec<AttachmentId> = messages.iter().flat_map(|m| m.attachments.clone()).collect();
    let known = site.store.attachments(&place, &ids).await?;
    let page = Page {
        entries: entries(&messages, &known),
        reply: pointing.reply.and_then(|id| reply(&messages, id, pointing.file)),
        elsewhere: elsewhere(&site).await?,
    };
    let html = page.render().map_err(|error| {
        error!(%error, "the page could not be made");
        Trouble::Ours
    })?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Html(html)))
}

pub async fn style() -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "text/css; charset=utf-8")],
        include_str!("ui/style.css"),
    )
}

fn entries(messages: &[Message], known: &[Attachment]) -> Vec<Entry> {
    let shown = messages
        .iter()
        .filter(|m| m.role != Role::Tool && m.tool_calls.is_empty());
    shown
        .map(|message| Entry {
            id: message.internal_id.0,
            theirs: message.role == Role::User,
            text: markers::said(message),
            when: message.timestamp.format("%H:%M").to_string(),
            did: did(messages, message),
            files: message
                .attachments
                .iter()
                .filter_map(|id| known.iter().find(|a| a.attachment_id == *id))
                .map(file)
                .collect(),
            note: message.error.clone().filter(|_| message.role == Role::User),
        })
        .collect()
}

/// The tools of the turn that ended with this message.
fn did(messages: &[Message], answer: &Message) -> Vec<String> {
    if answer.role == Role::User || answer.turn_id.is_none() {
        return Vec::new();
    }
    let tools = messages
        .iter()
        .filter(|m| m.role == Role::Tool && m.turn_id == answer.turn_id);
    tools
        .filter_map(|m| m.tool_name.as_ref())
        .map(|name| name.replace('_', " "))
        .collect()
}

fn file(attachment: &Attachment) -> File {
    let dimensions = match (attachment.width, attachment.height) {
        (Some(width), Some(height)) => format!("{width}×{height}, "),
        _ => String::new(),
    };
    File {
        id: attachment.attachment_id,
        name: attachment.filename.clone(),
        about: format!("{dimensions}{}", size(attachment.size.unsigned_abs())),
        picture: attachment.is_image() && attachment.width.is_some(),
    }
}

fn reply(messages: &[Message], id: i64, file: Option<AttachmentId>) -> Option<Reply> {
    let message = messages.iter().find(|m| m.internal_id == MessageId(id))?;
    let file = file.filter(|id| message.attachments.contains(id));
    let text: String = markers::said(message).chars().take(80).collect();
    Some(Reply {
        message: id,
        file,
        text,
    })
}

/// What goes on in other chats of this bot, so that the person at the machine sees it is alive.
async fn elsewhere(site: &Site) -> Result<Vec<Elsewhere>, Trouble> {
    let recent = site
        .store
        .recent_by_conversation(Utc::now() - TimeDelta::days(7), 1)
        .await?;
    let others = recent
        .into_iter()
        .filter(|(place, _)| *place != local_conversation());
    Ok(others
        .filter_map(|(place, messages)| {
            let last = messages.into_iter().next_back()?;
            let text: String = markers::said(&last).chars().take(80).collect();
            Some(Elsewhere {
                place,
                text,
                when: last.timestamp.format("%a %H:%M").to_string(),
            })
        })
        .collect())
}
