//! What goes in and out of the store's verbs and is not a domain type of its own.

use crate::domain::{
    Attachment, AttachmentId, Conversation, Message, MessageId, NewMessage, PlannedSend, Reference, ReplyTo,
    Role, SendKind, Session, SessionId, TokenId, Turn, TurnId, TurnState, UserId,
};
use chrono::{DateTime, NaiveDate, Utc};
use serde_json::Value;

/// What a person replied to.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub message: Message,
    /// The one attachment carried by the very message they pointed at.
    pub attachment: Option<AttachmentId>,
}

/// An update on its way in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewUpdate {
    /// Recognises the same update when Telegram delivers it again.
    pub key: String,
    pub raw: String,
    /// Where it belongs, as far as can be told before it is parsed: its batch must not be judged without it.
    pub conversation_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRow {
    pub inbox_id: i64,
    pub raw: String,
}

/// An update that belongs to a batch: whose, and of which album.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    pub inbox_id: i64,
    pub conversation_id: String,
    pub sender_id: String,
    pub album_id: Option<String>,
}

/// The waiting messages of one sender in one conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingGroup {
    pub conversation_id: String,
    pub sender_id: String,
    pub first_arrival: DateTime<Utc>,
    pub last_arrival: DateTime<Utc>,
    pub has_album: bool,
    /// A turn of this conversation is waiting or running.
    pub busy: bool,
    /// Some of it belongs to an album whose turn has not started.
    pub joins_pending: bool,
    /// There are updates nobody has looked at yet: they may belong here.
    pub more_may_come: bool,
}

/// A batch on its way into the history: everything that must happen at once or not at all.
#[derive(Debug, Clone)]
pub struct Filing {
    pub conversation: Conversation,
    pub user_id: UserId,
    pub agent_id: String,
    /// Inbox rows this closes; empty for the web.
    pub inbox_ids: Vec<i64>,
    pub messages: Vec<FiledMessage>,
    /// The thread they go to; none starts a new one.
    pub thread_root: Option<Message>,
    /// The session a new thread goes to; none is the conversation's newest.
    pub session: Option<SessionId>,
    /// What the conversation's own interface is told of the first message, which came in by another.
    pub echo: Option<Echo>,
    pub wants_turn: WantsTurn,
}

/// One message of a batch. The filing gives it its conversation, session and thread.
#[derive(Debug, Clone)]
pub struct FiledMessage {
    pub role: Role,
    /// The text, followed by a marker for each file.
    pub content: String,
    /// The id on its interface; none for a message that no interface shows yet.
    pub interface_message_id: Option<String>,
    pub timestamp: DateTime<Utc>,
    pub user_id: Option<UserId>,
    /// The display name of the person when they wrote it; none if the interface has no names.
    pub user_name: Option<String>,
    /// Why a part of it could not be stored, for the person who sent it.
    pub error: Option<String>,
    pub reply: Option<ReplyTo>,
    /// Shared by the messages of one album.
    pub album_id: Option<String>,
    /// In order.
    pub files: Vec<FiledFile>,
}

impl FiledMessage {
    /// A bare message; fill in what else is known with struct update syntax.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
            interface_message_id: None,
            timestamp: Utc::now(),
            user_id: None,
            user_name: None,
            error: None,
            reply: None,
            album_id: None,
            files: Vec::new(),
        }
    }
}

/// A file of a filed message. Its bytes are in the object store already.
#[derive(Debug, Clone)]
pub enum FiledFile {
    /// Gets its row with the message.
    New(Attachment),
    /// A file of the conversation that the message is filed in.
    Known(AttachmentId),
    /// A file of another conversation. It moves into the conversation of the message; the filing fails with
    /// `AttachmentGone` if it is not there any more.
    Moved { id: AttachmentId, from: Conversation },
}

impl FiledFile {
    pub fn id(&self) -> AttachmentId {
        match self {
            Self::New(attachment) => attachment.attachment_id,
            Self::Known(id) | Self::Moved { id, .. } => *id,
        }
    }
}

/// A message of one interface, shown on another.
#[derive(Debug, Clone, PartialEq)]
pub struct Echo {
    pub sends: Vec<PlannedSend>,
    /// The message that people see there as the one replied to.
    pub reply_to: Option<String>,
}

/// Where a planned send comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Origin {
    pub turn: Option<TurnId>,
    /// The message it shows, which gets the ids that people see.
    pub message: Option<MessageId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantsTurn {
    Yes,
    /// Only remember what was said.
    No,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filed {
    pub messages: Vec<MessageId>,
    pub turn: Option<TurnId>,
}

/// The end of a turn: its last message and the sends planned for it.
#[derive(Debug, Clone)]
pub struct Finish<'a> {
    pub turn: &'a Turn,
    pub state: TurnState,
    pub message: &'a NewMessage,
    pub sends: &'a [PlannedSend],
    /// What the first send replies to.
    pub reply_to: Option<&'a str>,
}

/// A send as it stands in the outbox.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboxRow {
    pub outbox_id: i64,
    pub conversation: Conversation,
    pub turn_id: Option<TurnId>,
    pub internal_id: Option<MessageId>,
    pub kind: SendKind,
    pub payload: Value,
    pub items: i64,
    pub attachments: Vec<AttachmentId>,
    pub reply_to: Option<String>,
    pub state: SendState,
    pub attempts: i64,
    pub not_before: Option<DateTime<Utc>>,
    pub error: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// The message in which a turn is shown while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub turn_id: TurnId,
    /// The send that brought it.
    pub outbox_id: i64,
    pub conversation: Conversation,
    /// The id people see it under; none until it has arrived, and for ever if nobody knows whether it did.
    pub shown_id: Option<String>,
}

/// A link that logs a person in once. What opens the door is nowhere stored: only its hash is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginLink {
    pub link_hash: String,
    pub user_id: UserId,
    pub expires_at: DateTime<Utc>,
}

/// A browser that logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub user_id: UserId,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    /// Since when there is a newer one in its place.
    pub replaced_at: Option<DateTime<Utc>>,
}

/// A program's way in, as its person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiToken {
    pub token_id: TokenId,
    pub user_id: UserId,
    pub name: String,
    pub created_at: DateTime<Utc>,
    pub last_used_at: Option<DateTime<Utc>>,
}

text_enum! {
    SendState "a state of a send" {
        Queued = "queued",
        /// The request may be on the wire. Found so at start-up, its fate is unknown.
        Sending = "sending",
        Sent = "sent",
        /// The connection died after the request left: never repeated, always shown.
        Unknown = "unknown",
        Failed = "failed",
    }
}

/// On whose account a request to a model goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spender {
    pub conversation: Conversation,
    pub user_id: UserId,
    pub agent_id: String,
}

impl Spender {
    /// An agent may work on a turn that was filed for another.
    pub fn of_turn(turn: &Turn, agent_id: &str) -> Self {
        Self {
            conversation: turn.conversation.clone(),
            user_id: turn.user_id.clone(),
            agent_id: agent_id.to_owned(),
        }
    }
}

/// What one request took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageNote {
    /// In UTC, as all days here.
    pub day: NaiveDate,
    pub spender: Spender,
    pub provider: String,
    pub model: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// In millionths of a dollar; none if nobody knows the price.
    pub cost_micros: Option<i64>,
}

/// What a day has cost so far, in millionths of a dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub by_user: i64,
    pub by_chat: i64,
    /// By all people together.
    pub by_agent: i64,
}

/// What one model took on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    pub day: NaiveDate,
    pub model: String,
    pub requests: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cost_micros: i64,
    /// How many of the requests are not in the cost, because nobody knows their price.
    pub unpriced: i64,
}

/// Which sessions are wanted. Nothing set is all there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Only those of conversations this person takes part in.
    pub seen_by: Option<UserId>,
    /// Only those this person began.
    pub user: Option<UserId>,
    /// Only those with a message that has this tag.
    pub tag: Option<String>,
    /// Only those with a message that refers to this.
    pub reference: Option<String>,
    /// Only those with a message, or a title, in which all of these stand: letters and digits only.
    pub words: Vec<String>,
}

/// Which recent messages to list, by conversation.
#[derive(Debug, Clone)]
pub struct RecentFilter {
    /// Only conversations that this person is a member of.
    pub seen_by: Option<UserId>,
    pub since: DateTime<Utc>,
    /// At most this many conversations: those with the newest messages.
    pub conversations: i64,
    /// At most this many messages of each conversation: the newest.
    pub per_conversation: i64,
    pub detail: Detail,
}

impl SessionFilter {
    /// The words of what a person typed to search for.
    pub fn words_of(typed: &str) -> Vec<String> {
        let words = typed.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).take(16).collect()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionList {
    pub sessions: Vec<Session>,
    /// How many there are in all.
    pub total: i64,
}

/// What was deleted with a session and still has to be stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct DeletedSession {
    pub conversation: Conversation,
    /// Turns that waited or ran.
    pub turns: Vec<TurnId>,
}

/// Bytes in the object store whose row is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doomed {
    pub attachment_id: AttachmentId,
    pub object_key: String,
    pub sha256: String,
}

/// Which messages of a session are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What people and the agent said.
    Said,
    /// Calls of tools and their results, too.
    WithTools,
}

/// What somebody notes on a message of a session they have read at this revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotation {
    pub session: SessionId,
    pub revision: i64,
    pub message: MessageId,
    /// None leaves them as they are.
    pub refs: Option<Vec<Reference>>,
    pub tags: Option<Vec<String>>,
}

/// A whole history for a session that was read at this revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Replacement {
    pub session: SessionId,
    pub revision: i64,
    /// For a session that has none.
    pub title: Option<String>,
    /// Files that come with it, their bytes already in the object store.
    pub files: Vec<Attachment>,
    pub rows: Vec<NewRow>,
}

/// One row of a new history.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRow {
    /// The row of the old history that it goes on being. Those come first, and in their order.
    pub kept: Option<MessageId>,
    /// Session, thread and what it replies to are filled in by the store. None leaves a kept row as it is.
    pub message: Option<NewMessage>,
    /// Which earlier row begins its thread; none on a root.
    pub thread_root: Option<usize>,
    /// Which earlier row it replies to.
    pub reply_to: Option<usize>,
}

/// What became of a change to a session that others may change, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Made,
    /// Somebody else changed it first.
    Stale,
    /// A turn waits or runs.
    Busy,
    /// There is no such session, or no such message in it.
    Missing,
}
