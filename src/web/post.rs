//! What the person sends from the page: files and words become one filing, and the answer is waited for.

use super::{Site, page::Oops};
use crate::{
    access::{Scope, Viewer},
    agent::TurnEvent,
    attachments::{NewFile, markers},
    domain::{
        Attachment, AttachmentId, Message, MessageId, NewMessage, ReplyTo, Role, Session, SessionId, TurnId,
    },
    store::{FiledMessage, Filing, WantsTurn},
};
use axum::{
    extract::{Multipart, Path, State},
    response::Redirect,
};
use std::{sync::Arc, time::Duration};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// A browser should not wait longer for a page; the answer appears when it is reloaded.
const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Default)]
struct Form {
    words: String,
    files: Vec<NewFile>,
    reply_to: Option<MessageId>,
    reply_file: Option<AttachmentId>,
}

impl Form {
    fn is_empty(&self) -> bool {
        self.words.trim().is_empty() && self.files.is_empty()
    }
}

/// A conversation begins with its first message.
pub async fn first_message(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    form: Multipart,
) -> Result<Redirect, Oops> {
    let form = read(form).await?;
    if form.is_empty() {
        return Ok(Redirect::to("/new"));
    }
    let session = site.store.open_session(&viewer.user, "").await?;
    sent(&site, &viewer, session.session_id, form).await
}

pub async fn message(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    Path(id): Path<SessionId>,
    form: Multipart,
) -> Result<Redirect, Oops> {
    let form = read(form).await?;
    sent(&site, &viewer, id, form).await
}

async fn sent(site: &Site, viewer: &Viewer, id: SessionId, form: Form) -> Result<Redirect, Oops> {
    let found = viewer.session(&site.store, id).await?;
    let (session, scope) = found.ok_or_else(Oops::not_found)?;
    if !form.is_empty() {
        let mut events = site.turns.events();
        if let Some(turn) = file(site, viewer, &session, &scope, form).await? {
            site.turns.wake();
            let _ = tokio::time::timeout(PATIENCE, ended(&mut events, turn)).await;
        }
    }
    Ok(Redirect::to(&format!("/c/{id}#end")))
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

async fn read(mut multipart: Multipart) -> Result<Form, Oops> {
    let mut form = Form::default();
    while let Some(field) = multipart.next_field().await? {
        let name = field.name().unwrap_or_default().to_owned();
        match name.as_str() {
            "content" => form.words = field.text().await?,
            "reply_to" => form.reply_to = field.text().await?.parse().ok().map(MessageId),
            "reply_attachment" => form.reply_file = field.text().await?.parse().ok(),
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
async fn file(
    site: &Site,
    viewer: &Viewer,
    session: &Session,
    scope: &Scope,
    form: Form,
) -> Result<Option<TurnId>, Oops> {
    let root = match form.reply_to {
        Some(id) => site.store.message(id).await?.filter(|m| m.conversation == *scope.conversation()),
        None => None,
    };
    let reply = root.as_ref().map(|message| reply_to(message, form.reply_file));
    let album = (form.files.len() > 1).then(|| uuid::Uuid::new_v4().to_string());
    let mut kept: Vec<Result<Attachment, String>> = Vec::new();
    for file in form.files {
        kept.push(match site.attachments.keep(scope, file).await {
            Ok(attachment) => Ok(attachment),
            Err(error) if error.is_passing() => {
                return Err(Oops::ours(&error));
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
            user_id: Some(viewer.user.clone()),
            error: note,
            reply: reply.clone(),
            album_id: album.clone(),
            ..NewMessage::new(scope.conversation().clone(), session.session_id, Role::User, content)
        };
        FiledMessage { message, attachments }
    });
    let filing = Filing {
        conversation: scope.conversation().clone(),
        user_id: viewer.user.clone(),
        agent_id,
        inbox_ids: Vec::new(),
        messages: messages.collect(),
        thread_root: root,
        session: Some(session.session_id),
        echo: Vec::new(),
        wants_turn: WantsTurn::Yes,
    };
    Ok(site.store.file(&filing).await?.turn)
}

fn reply_to(message: &Message, file: Option<AttachmentId>) -> ReplyTo {
    let attachment = file.filter(|id| message.attachments.contains(id));
    ReplyTo { message: Some(message.internal_id), attachment, quote: None }
}
