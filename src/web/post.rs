//! What the person sends from the page: files and words become one filing, and the answer is waited for.

use super::{Site, local_conversation, local_user};
use crate::{
    access::Viewer,
    agent::TurnEvent,
    attachments::{NewFile, markers},
    domain::{Attachment, AttachmentId, Message, MessageId, NewMessage, ReplyTo, Role, SessionId, TurnId},
    store::{FiledMessage, Filing, StoreError, WantsTurn},
};
use axum::{
    extract::{Multipart, State, multipart::MultipartError},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use std::{sync::Arc, time::Duration};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tracing::error;

/// A browser should not wait longer for a page; the answer appears when it is reloaded.
const PATIENCE: Duration = Duration::from_secs(90);

/// What went wrong, by whom the browser should blame.
pub enum Trouble {
    Theirs(String),
    Ours,
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        error!(%error, "the page could not reach the database");
        Self::Ours
    }
}

impl From<MultipartError> for Trouble {
    fn from(error: MultipartError) -> Self {
        Self::Theirs(error.body_text())
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        match self {
            Self::Theirs(text) => (StatusCode::BAD_REQUEST, text).into_response(),
            Self::Ours => {
                let text = "Something went wrong here. Go back and try again.";
                (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
            }
        }
    }
}

#[derive(Default)]
struct Form {
    words: String,
    files: Vec<NewFile>,
    reply_to: Option<MessageId>,
    reply_file: Option<AttachmentId>,
}

pub async fn message(State(site): State<Arc<Site>>, form: Multipart) -> Result<Redirect, Trouble> {
    let form = read(form).await?;
    if form.words.trim().is_empty() && form.files.is_empty() {
        return Ok(Redirect::to("/"));
    }
    let mut events = site.turns.events();
    if let Some(turn) = file(&site, form).await? {
        site.turns.wake();
        let _ = tokio::time::timeout(PATIENCE, ended(&mut events, turn)).await;
    }
    Ok(Redirect::to("/#end"))
}

pub async fn new_conversation(State(site): State<Arc<Site>>) -> Result<Redirect, Trouble> {
    site.store.start_session(&local_conversation(), &local_user()).await?;
    Ok(Redirect::to("/"))
}

async fn ended(events: &mut Receiver<TurnEvent>, turn: TurnId) {
    loop {
        match events.recv().await {
            Ok(TurnEvent::Ended { turn: over, .. }) if over == turn => return,
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

async fn read(mut multipart: Multipart) -> Result<Form, Trouble> {
    let mut form = Form::default();
    while let Some(field) = multipart.next_field().await? {
        let name = field.name().unwrap_or_default().to_owned();
        match name.as_str() {
            "words" => form.words = field.text().await?,
            "reply_to" => form.reply_to = field.text().await?.parse().ok().map(MessageId),
            "reply_file" => form.reply_file = field.text().await?.parse().ok(),
            "files" => {
                let filename = field.file_name().map(str::to_owned);
                let bytes = field.bytes().await?;
                // An empty file field is how browsers send "no file chosen".
                if !(bytes.is_empty() && filename.as_deref().unwrap_or_default().is_empty()) {
                    form.files.push(NewFile::from_person(bytes, filename));
                }
            }
            _ => {}
        }
    }
    Ok(form)
}

/// One message per file, the words on the first, as Telegram sends albums.
async fn file(site: &Site, form: Form) -> Result<Option<TurnId>, Trouble> {
    let Some(scope) = Viewer::local().enter(&site.store, &local_conversation()).await? else {
        return Err(Trouble::Ours);
    };
    let root = match form.reply_to {
        Some(id) => site.store.message(id).await?.filter(|m| m.conversation == *scope.conversation()),
        None => None,
    };
    let reply = root.as_ref().map(|message| reply_to(message, form.reply_file));
    let album = (form.files.len() > 1).then(|| uuid::Uuid::new_v4().to_string());
    let mut kept: Vec<Result<Attachment, String>> = Vec::new();
    for file in form.files {
        kept.push(match site.attachments.keep(&scope, file).await {
            Ok(attachment) => Ok(attachment),
            Err(error) if error.is_passing() => {
                error!(%error, "an upload could not be kept");
                return Err(Trouble::Ours);
            }
            Err(reason) => Err(reason.to_string()),
        });
    }
    if kept.is_empty() {
        kept.push(Err(String::new()));
    }
    let commanded = site.routes.commanded(&form.words, "");
    let agent_id = site.routes.agent(commanded.as_ref().map(|found| found.agent), root.as_ref());
    let mut words = commanded.map_or(form.words.as_str(), |found| found.words).trim().to_owned();
    let messages = kept.into_iter().map(|kept| {
        let (attachments, note) = match kept {
            Ok(attachment) => (vec![attachment], None),
            Err(note) => (Vec::new(), Some(note).filter(|note| !note.is_empty())),
        };
        let ids: Vec<_> = attachments.iter().map(|a| a.attachment_id).collect();
        let content = markers::with_markers(&std::mem::take(&mut words), &ids);
        let message = NewMessage {
            user_id: Some(local_user()),
            error: note,
            reply: reply.clone(),
            album_id: album.clone(),
            ..NewMessage::new(scope.conversation().clone(), SessionId(uuid::Uuid::nil()), Role::User, content)
        };
        FiledMessage { message, attachments }
    });
    let filing = Filing {
        conversation: scope.conversation().clone(),
        user_id: local_user(),
        agent_id,
        inbox_ids: Vec::new(),
        messages: messages.collect(),
        thread_root: root,
        session: None,
        echo: None,
        wants_turn: WantsTurn::Yes,
    };
    Ok(site.store.file(&filing).await?.turn)
}

fn reply_to(message: &Message, file: Option<AttachmentId>) -> ReplyTo {
    let attachment = file.filter(|id| message.attachments.contains(id));
    ReplyTo { message: Some(message.internal_id), attachment, quote: None }
}
