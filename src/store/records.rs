//! Arguments and results of the store's verbs that are not domain types.

use crate::domain::{
    Attachment, AttachmentId, Conversation, Message, MessageId, NewMessage, PlannedSend, Reference, ReplyTo,
    Role, SendKind, Session, SessionId, TokenId, Turn, TurnId, TurnState, UserId,
};
use chrono::{DateTime, Utc};
use serde_json::Value;

/// The message that an id of an interface belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundMessage {
    pub message: Message,
    /// The attachment that is shown under exactly this id.
    pub attachment: Option<AttachmentId>,
}

/// An update to be stored in the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewUpdate {
    /// The same for every delivery of the same update.
    pub key: String,
    pub raw: String,
    /// Its conversation, if the raw JSON tells. A batch of this conversation is not complete while it is unhandled.
    pub conversation_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRow {
    pub inbox_id: i64,
    pub raw: String,
}

/// An update that waits for its batch: the messages of one sender in one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchedUpdate {
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
    /// The conversation has a pending or running turn.
    pub busy: bool,
    /// Some of it belongs to an album whose turn is still pending.
    pub joins_pending: bool,
    /// The conversation has updates that are not handled yet and may belong here.
    pub more_may_come: bool,
}

/// A message that shows a reaction of the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaction {
    /// The update that brought the message.
    pub inbox_id: i64,
    pub conversation: Conversation,
    /// The id of the message on the interface.
    pub shown_id: String,
}

/// A batch to be stored in one transaction.
#[derive(Debug, Clone)]
pub struct Filing {
    pub conversation: Conversation,
    pub user_id: UserId,
    pub agent_id: String,
    /// The inbox rows that are closed with it; empty for the web.
    pub inbox_ids: Vec<i64>,
    pub messages: Vec<FiledMessage>,
    /// A message of the thread to continue; none starts a new one.
    pub thread_root: Option<Message>,
    /// The session of a new thread; none is the newest one of the conversation.
    pub session: Option<SessionId>,
    /// How the conversation's interface shows the first message, if that came in by another interface.
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
// A filing holds a handful of them for a moment: a box would save nothing.
#[allow(clippy::large_enum_variant)]
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

/// A message of one interface as another interface shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Echo {
    pub sends: Vec<PlannedSend>,
    /// The id, on that interface, of the message replied to.
    pub reply_to: Option<String>,
}

/// Where a planned send comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SendOrigin {
    pub turn: Option<TurnId>,
    /// The message it shows; gets the ids of the sent messages.
    pub message: Option<MessageId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantsTurn {
    Yes,
    /// Only store the messages.
    No,
}

/// The ids of what was filed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filed {
    pub messages: Vec<MessageId>,
    pub turn: Option<TurnId>,
}

/// The end of a turn: its last message and the planned sends.
#[derive(Debug, Clone)]
pub struct FinishedTurn<'a> {
    pub turn: &'a Turn,
    pub state: TurnState,
    pub message: &'a NewMessage,
    pub sends: &'a [PlannedSend],
    /// The id, on the interface, of the message that the first send replies to.
    pub reply_to: Option<&'a str>,
}

/// A send of the outbox.
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

/// The message that shows a running turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub turn_id: TurnId,
    /// Its send.
    pub outbox_id: i64,
    pub conversation: Conversation,
    /// Its id on the interface; none until it arrived, and forever if its send is `unknown`.
    pub shown_id: Option<String>,
}

/// A link that logs a user in once. Only the hash of its secret is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginLink {
    pub link_hash: String,
    pub user_id: UserId,
    pub expires_at: DateTime<Utc>,
}

/// The login of a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub user_id: UserId,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    /// When a newer login replaced it.
    pub replaced_at: Option<DateTime<Utc>>,
}

/// An API token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiToken {
    pub token_id: TokenId,
    pub user_id: UserId,
    pub name: String,
    pub created_at: DateTime<Utc>,
    pub last_used_at: Option<DateTime<Utc>>,
    /// None: valid until revoked.
    pub expires_at: Option<DateTime<Utc>>,
}

text_enum! {
    SendState "a state of a send" {
        Queued = "queued",
        /// The request may have left. After a crash, its outcome is unknown.
        Sending = "sending",
        Sent = "sent",
        /// The connection died after the request left. Never repeated; `doctor` lists it.
        Unknown = "unknown",
        Failed = "failed",
    }
}

/// Which sessions to list. The default is all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Only those of conversations that this person is a member of.
    pub seen_by: Option<UserId>,
    /// Only those that this person started.
    pub user: Option<UserId>,
    /// Only those with a message that has this tag.
    pub tag: Option<String>,
    /// Only those with a message that has a reference to this URL.
    pub reference: Option<String>,
    /// Only those with a message or a title that contains all of these words, which hold letters and digits only.
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
    /// The words of a search text.
    pub fn words_of(text: &str) -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).take(16).collect()
    }
}

/// One page of the sessions that match a filter.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionMatches {
    pub sessions: Vec<Session>,
    /// How many match in all.
    pub total: i64,
}

/// A deleted session.
#[derive(Debug, Clone, PartialEq)]
pub struct DeletedSession {
    pub conversation: Conversation,
    /// Its turns that were pending or running; the caller stops them.
    pub turns: Vec<TurnId>,
}

/// The content of a message after a file of it was deleted.
pub type RewriteMessage<'a> = dyn Fn(&Attachment, &str) -> String + Sync + 'a;

/// A blob of a deleted attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectToDelete {
    pub attachment_id: AttachmentId,
    pub object_key: String,
    pub sha256: String,
}

/// Which messages of a session are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Messages of people and the agent.
    WithoutTools,
    /// Tool calls and their results, too.
    WithTools,
}

/// New references and tags of a message. The caller has read its session at this revision.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageAnnotation {
    pub session: SessionId,
    pub revision: i64,
    pub message: MessageId,
    /// None changes nothing.
    pub refs: Option<Vec<Reference>>,
    pub tags: Option<Vec<String>>,
}

/// A new history of a session. The caller has read the session at this revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Replacement {
    pub session: SessionId,
    pub revision: i64,
    /// Used if the session has no title.
    pub title: Option<String>,
    /// New attachments. Their blobs are stored already.
    pub files: Vec<Attachment>,
    pub rows: Vec<ReplacementRow>,
}

/// A part of a history: its first and last message, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistorySpan {
    pub first: MessageId,
    pub last: MessageId,
    pub count: i64,
}

/// One row of a new history.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplacementRow {
    pub content: RowContent,
    /// The index of the earlier row that is the root of its thread; none on a root.
    pub thread_root: Option<usize>,
    /// The index of the earlier row that it replies to.
    pub reply_to: Option<usize>,
}

/// The content of a row of a new history. Rows of the old history come first, in their order. The store sets session,
/// thread and reply target of the messages.
#[derive(Debug, Clone, PartialEq)]
pub enum RowContent {
    /// A row of the old history as it is.
    Kept(MessageId),
    /// A row of the old history with other content.
    Rewritten(MessageId, NewMessage),
    New(NewMessage),
}

impl RowContent {
    /// The row of the old history, if it is one.
    pub fn stored_id(&self) -> Option<MessageId> {
        match self {
            Self::Kept(id) | Self::Rewritten(id, _) => Some(*id),
            Self::New(_) => None,
        }
    }
}

/// The outcome of a change to a session that other people may change at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOutcome {
    Changed,
    /// Not changed: the session is at another revision.
    Stale,
    /// Not changed: the session has a pending or running turn.
    Busy,
    /// There is no such session, or no such message in it.
    Missing,
}
