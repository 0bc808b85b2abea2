//! Stores a message that was posted over HTTP: one message with its files, a turn and, if the conversation belongs to
//! another interface, an echo there. Used by the API and by the forms of the page. Once the whole message has arrived, it
//! is stored even if its sender hangs up; before that, nothing of it is kept.

use super::{Site, problem::Problem, run_to_end::run_to_end};
use crate::{
    access::{Scope, Viewer},
    attachments::{StagedFile, markers},
    domain::{
        Answer, Attachment, AttachmentId, InterfaceType, Message, MessageId, ReplyTo, Role, Session, TurnId,
    },
    store::{Echo, FiledFile, FiledMessage, Filing, StoreError, WantsTurn},
};
use std::sync::Arc;
use tracing::warn;

/// Longer texts are refused.
pub const MAX_TEXT_CHARS: usize = 20_000;
/// Files per message.
pub const MAX_FILES_PER_MESSAGE: usize = 20;

/// A message as it was sent.
#[derive(Default)]
pub struct PostedMessage {
    pub text: String,
    /// Stored, but without a row yet.
    pub new_files: Vec<StagedFile>,
    /// Why files were not stored, for the person who sent them.
    pub refused_files: Vec<String>,
    /// Files that are stored already: uploaded before, or part of a conversation.
    pub known_files: Vec<AttachmentId>,
    pub reply_to: Option<MessageId>,
    /// The file of that message that the reply is about.
    pub reply_attachment: Option<AttachmentId>,
}

impl PostedMessage {
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.count_files() == 0
    }

    pub fn count_files(&self) -> usize {
        self.new_files.len() + self.refused_files.len() + self.known_files.len()
    }
}

pub struct SubmittedMessage {
    pub message: MessageId,
    pub turn: TurnId,
}

/// Checks and stores the message, and starts its turn. Runs to its end even if the caller is dropped.
pub async fn submit(
    site: &Arc<Site>,
    viewer: &Viewer,
    (session, scope): (&Session, &Scope),
    incoming: PostedMessage,
) -> Result<SubmittedMessage, Problem> {
    let (site, viewer, session, scope) = (site.clone(), viewer.clone(), session.clone(), scope.clone());
    run_to_end(async move { store_message(&site, &viewer, (&session, &scope), incoming).await }).await
}

async fn store_message(
    site: &Site,
    viewer: &Viewer,
    (session, scope): (&Session, &Scope),
    incoming: PostedMessage,
) -> Result<SubmittedMessage, Problem> {
    if incoming.text.chars().count() > MAX_TEXT_CHARS {
        return Err(Problem::invalid(format!("content must have at most {MAX_TEXT_CHARS} characters.")));
    }
    if incoming.count_files() > MAX_FILES_PER_MESSAGE {
        return Err(too_many_files());
    }
    let root = find_reply_target(site, session, &incoming).await?;
    let reply = root.as_ref().map(|message| ReplyTo {
        message: Some(message.internal_id),
        attachment: incoming.reply_attachment,
        quote: None,
    });
    let mut files = MessageFiles { notes: incoming.refused_files, ..MessageFiles::default() };
    for id in &incoming.known_files {
        files.add_known(site, viewer, scope, *id).await?;
    }
    let mut accepted = Vec::new();
    for file in incoming.new_files {
        accepted.extend(files.add_new(scope, file).await?);
    }
    if incoming.text.trim().is_empty() && files.is_empty() {
        return Err(Problem::invalid("Write something, or add a file."));
    }
    let commanded = site.routes.parse_command(&incoming.text, "");
    let agent_id = site.routes.agent(commanded.as_ref().map(|found| found.agent), root.as_ref());
    let text = commanded.map_or(incoming.text.as_str(), |found| found.words).trim().to_owned();
    let echo = plan_echo(site, scope, &text, &files, reply.as_ref()).await?;
    let message = FiledMessage {
        user_id: Some(scope.user().clone()),
        error: (!files.notes.is_empty()).then(|| files.notes.join("\n")),
        reply,
        ..FiledMessage::new(Role::User, markers::with_markers(&text, &files.ids()))
    };
    let filing = Filing {
        conversation: scope.conversation().clone(),
        user_id: scope.user().clone(),
        agent_id,
        inbox_ids: Vec::new(),
        messages: vec![FiledMessage { files: files.into_filed(scope), ..message }],
        thread_root: root,
        session: Some(session.session_id),
        echo,
        wants_turn: WantsTurn::Yes,
    };
    let filed = site.store.file(&filing).await.map_err(|error| match error {
        StoreError::AttachmentGone(id) => no_attachment(id),
        other => other.into(),
    })?;
    accepted.into_iter().for_each(StagedFile::keep);
    site.turns.changed(scope.conversation());
    site.turns.wake();
    match (filed.messages.first(), filed.turn) {
        (Some(message), Some(turn)) => Ok(SubmittedMessage { message: *message, turn }),
        _ => Err(Problem::unavailable("store", &"neither message nor turn")),
    }
}

/// The message that is replied to. It must be in this session and carry the file that the reply is about.
async fn find_reply_target(
    site: &Site,
    session: &Session,
    incoming: &PostedMessage,
) -> Result<Option<Message>, Problem> {
    let Some(id) = incoming.reply_to else {
        return match incoming.reply_attachment {
            Some(_) => Err(Problem::invalid("reply_attachment needs reply_to, the message that carries it.")),
            None => Ok(None),
        };
    };
    let message = site.store.message(id).await?.filter(|found| found.session_id == session.session_id);
    let Some(message) = message else {
        return Err(Problem::invalid("reply_to is not a message of this session."));
    };
    match incoming.reply_attachment {
        Some(file) if !message.attachments.contains(&file) => {
            Err(Problem::invalid("reply_attachment is not a file of the message replied to."))
        }
        _ => Ok(Some(message)),
    }
}

/// The files of a message, in order: known files, then new ones.
#[derive(Default)]
struct MessageFiles {
    /// Of this conversation, or uploaded before.
    known: Vec<Attachment>,
    new: Vec<Attachment>,
    /// Why files could not be stored, for the person who sent them.
    notes: Vec<String>,
}

impl MessageFiles {
    fn is_empty(&self) -> bool {
        self.known.is_empty() && self.new.is_empty() && self.notes.is_empty()
    }

    fn ids(&self) -> Vec<AttachmentId> {
        self.known.iter().chain(&self.new).map(|file| file.attachment_id).collect()
    }

    fn into_filed(self, scope: &Scope) -> Vec<FiledFile> {
        let known = self.known.into_iter().map(|file| match file.conversation == *scope.conversation() {
            true => FiledFile::Known(file.attachment_id),
            false => FiledFile::Moved { id: file.attachment_id, from: file.conversation },
        });
        known.chain(self.new.into_iter().map(FiledFile::New)).collect()
    }

    /// Uses a file of this conversation or of the viewer's uploads as it is; copies a file of another conversation.
    async fn add_known(
        &mut self,
        site: &Site,
        viewer: &Viewer,
        scope: &Scope,
        id: AttachmentId,
    ) -> Result<(), Problem> {
        if self.known.iter().any(|file| file.attachment_id == id) {
            return Ok(());
        }
        let found = viewer.attachment(&site.store, id).await?;
        let Some((file, _)) = found else {
            return Err(no_attachment(id));
        };
        if file.conversation == *scope.conversation() || file.conversation == *viewer.uploads().conversation()
        {
            self.known.push(file);
            return Ok(());
        }
        let stored = site.renderer.ensure_stored(&file).await?;
        let sent = stored.as_sent_by_person();
        self.new.extend(site.attachments.copy_into(scope, vec![sent]).await?);
        Ok(())
    }

    /// Adds a new file and returns it. A file that is refused becomes a note and is deleted; the message and its other
    /// files are stored anyway.
    async fn add_new(&mut self, scope: &Scope, file: StagedFile) -> Result<Option<StagedFile>, Problem> {
        match file.attach(scope).await {
            Ok(attached) => {
                self.new.push(attached);
                return Ok(Some(file));
            }
            Err(error) if error.is_transient() => return Err(error.into()),
            Err(reason) => {
                warn!(reason = reason.log_text(), op = "store_upload", conversation = %scope.conversation(), "upload refused");
                self.notes.push(reason.to_string());
            }
        }
        Ok(None)
    }
}

pub fn too_many_files() -> Problem {
    Problem::invalid(format!("A message carries at most {MAX_FILES_PER_MESSAGE} files."))
}

fn no_attachment(id: AttachmentId) -> Problem {
    Problem::invalid(format!("attachment_ids: there is no attachment {id}."))
}

/// Plans the sends that show the message on the interface of its conversation, if that is not the web.
async fn plan_echo(
    site: &Site,
    scope: &Scope,
    text: &str,
    files: &MessageFiles,
    reply: Option<&ReplyTo>,
) -> Result<Option<Echo>, Problem> {
    let Some(plan) = site.echo_planners.get(&scope.conversation().interface) else { return Ok(None) };
    let reply_to = match reply.and_then(|reply| Some((reply.message?, reply.attachment))) {
        Some((message, attachment)) => site.store.interface_message_id(message, attachment).await?,
        None => None,
    };
    let mut attachments = Vec::new();
    for file in files.known.iter().chain(&files.new) {
        attachments.push(site.renderer.ensure_stored(file).await?);
    }
    let answer = Answer { text: text.to_owned(), attachments };
    Ok(Some(Echo { sends: plan(&answer), reply_to }))
}

/// Per interface, plans how a message of the web is shown there.
pub type EchoPlanners = std::collections::HashMap<InterfaceType, crate::agent::Planner>;
