//! The page itself: the current session's messages and pictures, and a form to go on.

use super::{Site, local_conversation, markdown, post::Trouble};
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
use chrono::{DateTime, Local, TimeDelta, Utc};
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

/// One message as shown; an album is one.
struct Entry {
    id: i64,
    theirs: bool,
    /// What a person wrote, as they wrote it.
    words: String,
    /// What the agent wrote, as HTML.
    answer: String,
    /// What it replies to.
    pointed: Option<Reply>,
    when: String,
    /// What the agent did for this answer.
    did: Vec<String>,
    files: Vec<File>,
    notes: Vec<String>,
    album_id: Option<String>,
}

struct File {
    id: AttachmentId,
    /// The message that carries it, for replies.
    message: i64,
    name: String,
    /// Width and height, of a picture.
    shape: Option<String>,
    size: String,
    picture: bool,
}

/// A message someone points at.
struct Reply {
    message: i64,
    file: Option<AttachmentId>,
    text: String,
}

const LONGEST_QUOTE: usize = 80;

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
        Some(session) => {
            site.store
                .messages_of_session(session.session_id, None, None, crate::store::Detail::WithTools)
                .await?
        }
        None => Vec::new(),
    };
    let ids: Vec<AttachmentId> = messages.iter().flat_map(|m| m.attachments.clone()).collect();
    let known = site.store.attachments(&place, &ids).await?;
    let page = Page {
        entries: entries(&messages, &known),
        reply: pointing.reply.and_then(|id| pointed(&messages, id, pointing.file)),
        elsewhere: elsewhere(&site).await?,
    };
    let html = page.render().map_err(|error| {
        error!(%error, "the page could not be made");
        Trouble::Ours
    })?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Html(html)))
}

pub async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("ui/style.css"))
}

fn entries(messages: &[Message], known: &[Attachment]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for message in messages.iter().filter(|m| m.role != Role::Tool && m.tool_calls.is_empty()) {
        let next = entry(messages, message, known);
        match entries.last_mut() {
            Some(album) if next.album_id.is_some() && album.album_id == next.album_id => album.take_in(next),
            _ => entries.push(next),
        }
    }
    entries
}

fn entry(messages: &[Message], message: &Message, known: &[Attachment]) -> Entry {
    let theirs = message.role == Role::User;
    let text = markers::said(message);
    let (words, answer) = if theirs { (text, String::new()) } else { (String::new(), markdown::html(&text)) };
    let target = message.reply.as_ref();
    let files = message.attachments.iter().filter_map(|id| known.iter().find(|a| a.attachment_id == *id));
    Entry {
        id: message.internal_id.0,
        theirs,
        words,
        answer,
        pointed: target.and_then(|to| pointed(messages, to.message?.0, to.attachment)),
        when: clock(message.timestamp, "%H:%M"),
        did: did(messages, message),
        files: files.map(|attachment| file(message, attachment)).collect(),
        notes: message.error.clone().filter(|_| theirs).into_iter().collect(),
        album_id: message.album_id.clone(),
    }
}

impl Entry {
    /// Another photo of the same album. The reply was said once, with the first.
    fn take_in(&mut self, next: Self) {
        self.words += &next.words;
        self.files.extend(next.files);
        self.notes.extend(next.notes);
    }
}

/// As the clock on this machine's wall shows it.
fn clock(time: DateTime<Utc>, format: &str) -> String {
    time.with_timezone(&Local).format(format).to_string()
}

/// The tools of the turn that ended with this message.
fn did(messages: &[Message], answer: &Message) -> Vec<String> {
    if answer.role == Role::User || answer.turn_id.is_none() {
        return Vec::new();
    }
    let tools = messages.iter().filter(|m| m.role == Role::Tool && m.turn_id == answer.turn_id);
    tools.filter_map(|m| m.tool_name.as_ref()).map(|name| name.replace('_', " ")).collect()
}

fn file(message: &Message, attachment: &Attachment) -> File {
    let shape = attachment.width.zip(attachment.height);
    File {
        id: attachment.attachment_id,
        message: message.internal_id.0,
        name: attachment.filename.clone(),
        picture: attachment.is_image() && shape.is_some(),
        shape: shape.map(|(width, height)| format!("{width}×{height}")),
        size: size(attachment.size.unsigned_abs()),
    }
}

fn pointed(messages: &[Message], id: i64, file: Option<AttachmentId>) -> Option<Reply> {
    let message = messages.iter().find(|m| m.internal_id == MessageId(id))?;
    let file = file.filter(|id| message.attachments.contains(id));
    Some(Reply { message: id, file, text: quote(message) })
}

fn quote(message: &Message) -> String {
    markers::said(message).chars().take(LONGEST_QUOTE).collect()
}

/// What goes on in other chats of this bot, so that the person at the machine sees it is alive.
async fn elsewhere(site: &Site) -> Result<Vec<Elsewhere>, Trouble> {
    let recent = site.store.recent_by_conversation(Utc::now() - TimeDelta::days(7), 1).await?;
    let others = recent.into_iter().filter(|(place, _)| *place != local_conversation());
    Ok(others
        .filter_map(|(place, messages)| {
            let last = messages.into_iter().next_back()?;
            let when = clock(last.timestamp, "%a %H:%M");
            Some(Elsewhere { place, text: quote(&last), when })
        })
        .collect())
}
