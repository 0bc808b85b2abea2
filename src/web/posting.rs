//! What a person sends over HTTP becomes history: one message with its words and files, a turn, and, where the
//! conversation is at home on another interface, an echo there. The same for the API and the page's forms.

use super::{Site, problem::Problem};
use crate::{
    access::{Scope, Viewer},
    attachments::{NewFile, markers},
    domain::{
        Answer, Attachment, AttachmentId, InterfaceType, Message, MessageId, NewMessage, ReplyTo, Role,
        Session, TurnId,
    },
    store::{Echo, FiledMessage, Filing, WantsTurn},
};
use tracing::error;

/// More than anyone writes, and less than would drown a model.
const LONGEST: usize = 20_000;
/// Files one message may carry.
pub const MOST_FILES: usize = 20;

#[derive(Default)]
pub struct Post {
    pub words: String,
    /// New files.
    pub files: Vec<NewFile>,
    /// Files that are here already: uploaded before, or of the conversation.
    pub known: Vec<AttachmentId>,
    pub reply_to: Option<MessageId>,
    /// The one file of that message that is meant.
    pub reply_attachment: Option<AttachmentId>,
}

pub struct Posted {
    pub message: MessageId,
    pub turn: TurnId,
}

pub async fn post(
    site: &Site,
    viewer: &Viewer,
    (session, scope): (&Session, &Scope),
    post: Post,
) -> Result<Posted, Problem> {
    if post.words.chars().count() > LONGEST {
        return Err(Problem::invalid(format!("content must have at most {LONGEST} characters.")));
    }
    if post.files.len() + post.known.len() > MOST_FILES {
        return Err(Problem::invalid(format!("A message carries at most {MOST_FILES} files.")));
    }
    let root = answered(site, session, &post).await?;
    let reply = root.as_ref().map(|message| ReplyTo {
        message: Some(message.internal_id),
        attachment: post.reply_attachment,
        quote: None,
    });
    let mut carried = Carried::default();
    for id in &post.known {
        carried.take_known(site, viewer, scope, *id).await?;
    }
    for file in post.files {
        carried.take_new(site, scope, file).await?;
    }
    if post.words.trim().is_empty() && carried.is_empty() {
        return Err(Problem::invalid("Write something, or add a file."));
    }
    let commanded = site.routes.commanded(&post.words, "");
    let agent_id = site.routes.agent(commanded.as_ref().map(|found| found.agent), root.as_ref());
    let words = commanded.map_or(post.words.as_str(), |found| found.words).trim().to_owned();
    let echo = echo(site, scope, &words, &carried, reply.as_ref()).await?;
    let message = NewMessage {
        user_id: Some(scope.user().clone()),
        error: (!carried.notes.is_empty()).then(|| carried.notes.join("\n")),
        reply,
        attachments: carried.known.iter().map(|file| file.attachment_id).collect(),
        ..NewMessage::new(
            scope.conversation().clone(),
            session.session_id,
            Role::User,
            markers::with_markers(&words, &carried.ids()),
        )
    };
    let filing = Filing {
        conversation: scope.conversation().clone(),
        user_id: scope.user().clone(),
        agent_id,
        inbox_ids: Vec::new(),
        messages: vec![FiledMessage { message, attachments: carried.new }],
        thread_root: root,
        session: Some(session.session_id),
        echo,
        wants_turn: WantsTurn::Yes,
    };
    let moved: Vec<AttachmentId> = carried.known.iter().map(|file| file.attachment_id).collect();
    let uploads = viewer.uploads();
    site.store.move_attachments(&moved, uploads.conversation(), scope.conversation()).await?;
    let filed = site.store.file(&filing).await?;
    site.turns.changed(scope.conversation());
    site.turns.wake();
    match (filed.messages.first(), filed.turn) {
        (Some(message), Some(turn)) => Ok(Posted { message: *message, turn }),
        _ => Err(Problem::ours("a filing", &"neither message nor turn")),
    }
}

/// The message replied to, which must be one of this session, and the file one of its own.
async fn answered(site: &Site, session: &Session, post: &Post) -> Result<Option<Message>, Problem> {
    let Some(id) = post.reply_to else {
        return match post.reply_attachment {
            Some(_) => Err(Problem::invalid("reply_attachment needs reply_to, the message that carries it.")),
            None => Ok(None),
        };
    };
    let message = site.store.message(id).await?.filter(|found| found.session_id == session.session_id);
    let Some(message) = message else {
        return Err(Problem::invalid("reply_to is not a message of this session."));
    };
    match post.reply_attachment {
        Some(file) if !message.attachments.contains(&file) => {
            Err(Problem::invalid("reply_attachment is not a file of the message replied to."))
        }
        _ => Ok(Some(message)),
    }
}

/// The files of a message, in order: those that were here, then those that came with it.
#[derive(Default)]
struct Carried {
    known: Vec<Attachment>,
    new: Vec<Attachment>,
    /// What the person is told of files that could not be kept.
    notes: Vec<String>,
}

impl Carried {
    fn is_empty(&self) -> bool {
        self.known.is_empty() && self.new.is_empty() && self.notes.is_empty()
    }

    fn ids(&self) -> Vec<AttachmentId> {
        self.known.iter().chain(&self.new).map(|file| file.attachment_id).collect()
    }

    /// A file of the conversation or of the person's uploads is that file; one of theirs from elsewhere is copied.
    async fn take_known(
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
            return Err(Problem::invalid(format!("attachment_ids: there is no attachment {id}.")));
        };
        if file.conversation == *scope.conversation() || file.conversation == *viewer.uploads().conversation()
        {
            self.known.push(file);
            return Ok(());
        }
        let bytes = site.renderer.bytes(&file).await?;
        let copy = NewFile::from_person(bytes, Some(file.filename));
        self.new.push(site.attachments.keep(scope, copy).await?);
        Ok(())
    }

    /// A file that cannot be kept does not cost the others: the person is told.
    async fn take_new(&mut self, site: &Site, scope: &Scope, file: NewFile) -> Result<(), Problem> {
        match site.attachments.keep(scope, file).await {
            Ok(kept) => self.new.push(kept),
            Err(error) if error.is_passing() => return Err(error.into()),
            Err(reason) => {
                error!(%reason, "an upload was not kept");
                self.notes.push(reason.to_string());
            }
        }
        Ok(())
    }
}

/// What a chat elsewhere is shown of it.
async fn echo(
    site: &Site,
    scope: &Scope,
    words: &str,
    carried: &Carried,
    reply: Option<&ReplyTo>,
) -> Result<Option<Echo>, Problem> {
    let Some(plan) = site.echoes.get(&scope.conversation().interface) else { return Ok(None) };
    let reply_to = match reply.and_then(|reply| Some((reply.message?, reply.attachment))) {
        Some((message, attachment)) => site.store.shown_as(message, attachment).await?,
        None => None,
    };
    let mut attachments = Vec::new();
    for file in carried.known.iter().chain(&carried.new) {
        attachments.push(site.renderer.ensure_stored(file).await?);
    }
    let answer = Answer { text: words.to_owned(), attachments };
    Ok(Some(Echo { sends: plan(&answer), reply_to }))
}

/// How messages of the web are shown on other interfaces.
pub type Echoes = std::collections::HashMap<InterfaceType, crate::agent::Planner>;
