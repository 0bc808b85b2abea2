//! Rows of the history → entries as the page shows them. An album is one entry, and so is an answer with its tool calls.
//! Pure: everything from the store is in the `MessageWindow`.

use super::{
    files::{Album, Doc, EditStrip, build_album, build_strip, is_picture, list_docs},
    steps::{Pill, TurnDetails, pills, turn_details},
    window::{MessageWindow, is_step},
};
use crate::{
    access::{Standing, Viewer},
    attachments::markers,
    domain::{Attachment, AttachmentId, InterfaceType, Message, Reference, Role, TurnId, TurnState},
    web::markdown,
};
use chrono::{DateTime, Local, NaiveDate, Utc};

/// One message as the page shows it.
pub struct PageEntry {
    /// The id of its element. It stays the same while an answer grows.
    pub key: String,
    pub id: i64,
    pub turn: Option<TurnId>,
    /// The author; none for the agent.
    pub author: Option<Author>,
    /// The text of a person.
    pub words: String,
    /// The text of the agent, as HTML.
    pub answer: String,
    /// The message that it replies to.
    pub pointed: Option<QuotedMessage>,
    pub when: EntryTime,
    /// The name of the day, on the first entry of the day.
    pub day: Option<String>,
    pub album: Album,
    pub docs: Vec<Doc>,
    pub strip: Option<EditStrip>,
    pub pills: Vec<Pill>,
    pub hood: Option<TurnDetails>,
    pub notes: Vec<String>,
    pub state: EntryState,
    pub tags: Vec<String>,
    /// Whether the viewer may change tags and references.
    pub may_annotate: bool,
    pub refs: Vec<EntrySource>,
    carried: Vec<(i64, AttachmentId)>,
    album_id: Option<String>,
}

/// The author of a message, as named to the viewer.
#[derive(Debug, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    /// Shown in groups; in other chats only for screen readers.
    pub in_sight: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryState {
    Complete,
    /// The turn ended with an error message.
    Failed,
    /// Steps without an answer; the turn still runs.
    Running,
    /// Steps without an answer; the turn was stopped.
    Stopped,
}

pub struct EntryTime {
    pub iso: String,
    pub clock: String,
    pub date: NaiveDate,
}

impl EntryTime {
    pub fn of(time: DateTime<Utc>) -> Self {
        let local = time.with_timezone(&Local);
        Self { iso: time.to_rfc3339(), clock: local.format("%H:%M").to_string(), date: local.date_naive() }
    }

    fn day_name(&self) -> String {
        let today = Local::now().date_naive();
        match (today - self.date).num_days() {
            0 => "Today".into(),
            1 => "Yesterday".into(),
            2..=6 => self.date.format("%A").to_string(),
            _ => self.date.format("%-d %B %Y").to_string(),
        }
    }
}

/// A message that another one replies to.
pub struct QuotedMessage {
    pub message: i64,
    pub file: Option<AttachmentId>,
    pub text: String,
}

/// A reference of a message.
pub struct EntrySource {
    pub title: String,
    /// The link target; files and turns link to themselves.
    pub href: Option<String>,
    /// The link leads to another site.
    pub away: bool,
    /// The picture, if the reference is to one.
    pub picture: Option<AttachmentId>,
    /// False if the entry already shows the file.
    pub shown: bool,
    /// The whole reference, for the editor.
    pub json: String,
}

const MAX_QUOTE_CHARS: usize = 90;

pub fn build_entries(window: &MessageWindow, viewer: &Viewer) -> Vec<PageEntry> {
    let mut entries: Vec<PageEntry> = Vec::new();
    for message in &window.rows {
        let mut next = match (message.role, message.turn_id) {
            (Role::User, _) => user_entry(window, message, viewer),
            (Role::Assistant, _) if message.tool_calls.is_empty() => answer_entry(window, message),
            (_, Some(turn)) if is_first_of_open_turn(window, message, turn) => {
                unanswered_entry(window, message, turn)
            }
            _ => continue,
        };
        let asker = message.turn_id.and_then(|turn| window.askers.get(&turn));
        next.may_annotate = viewer.may_annotate(message, asker);
        match entries.last_mut() {
            Some(album) if next.album_id.is_some() && album.album_id == next.album_id => album.append(next),
            _ => entries.push(next),
        }
    }
    let mut day = None;
    for entry in &mut entries {
        if day != Some(entry.when.date) {
            day = Some(entry.when.date);
            entry.day = Some(entry.when.day_name());
        }
        entry.album = build_album(window, &entry.carried);
        entry.docs = list_docs(window, &entry.carried);
    }
    entries
}

fn sources(window: &MessageWindow, message: &Message) -> Vec<EntrySource> {
    message.refs.iter().map(|reference| source(window, message, reference)).collect()
}

/// A reference to a file that the entry shows anyway, titled only with its name, is not shown again.
fn source(window: &MessageWindow, message: &Message, reference: &Reference) -> EntrySource {
    let url = reference.url.as_str();
    let file = url.strip_prefix("attachment:").and_then(|id| id.parse::<AttachmentId>().ok());
    let turn = url.strip_prefix("turn:").and_then(|id| id.parse::<TurnId>().ok());
    let known = file.and_then(|id| window.files.get(&id));
    let row = turn.and_then(|turn| window.rows.iter().rfind(|m| m.turn_id == Some(turn)));
    let away = file.is_none() && turn.is_none();
    let href = match (file, row) {
        (Some(id), _) => Some(format!("/attachments/{id}?size=2048")),
        (None, Some(row)) => Some(format!("#m{}", row.internal_id)),
        (None, None) => away.then(|| url.to_owned()),
    };
    let title = reference.title.clone().filter(|title| !title.trim().is_empty());
    let named = known.map(|file| file.filename.clone());
    let has_own_title = title.is_some() && known.is_none_or(|file| title != default_title(file));
    let fallback = || match turn {
        Some(_) => "an earlier answer".to_owned(),
        None => url.trim_start_matches("https://").trim_start_matches("http://").to_owned(),
    };
    EntrySource {
        shown: has_own_title || !file.is_some_and(|id| is_visible(window, message, id)),
        title: title.or(named).unwrap_or_else(fallback),
        href,
        away,
        picture: known.filter(|file| is_picture(file)).map(|file| file.attachment_id),
        json: serde_json::to_string(reference).unwrap_or_default(),
    }
}

/// The default title of a reference to this file.
fn default_title(file: &Attachment) -> Option<String> {
    Reference::to_file(file.attachment_id, &file.filename, "").title
}

/// Whether the entry shows this file: as its own, as a result of its steps, or as a parent of one of these.
fn is_visible(window: &MessageWindow, message: &Message, id: AttachmentId) -> bool {
    let made_from = |of: &AttachmentId| window.files.get(of).is_some_and(|file| file.parents.contains(&id));
    let steps = steps(window, message.turn_id);
    let of_turn = || steps.iter().flat_map(|m| m.attachments.iter());
    message.attachments.contains(&id)
        || message.attachments.iter().chain(of_turn()).any(|other| *other == id || made_from(other))
}

fn empty_entry(message: &Message) -> PageEntry {
    PageEntry {
        key: format!("m{}", message.internal_id),
        id: message.internal_id.0,
        turn: message.turn_id,
        author: None,
        words: String::new(),
        answer: String::new(),
        pointed: None,
        when: EntryTime::of(message.timestamp),
        day: None,
        album: Album::default(),
        docs: Vec::new(),
        strip: None,
        pills: Vec::new(),
        hood: None,
        notes: Vec::new(),
        state: EntryState::Complete,
        tags: message.tags.clone(),
        may_annotate: false,
        refs: Vec::new(),
        carried: message.attachments.iter().map(|id| (message.internal_id.0, *id)).collect(),
        album_id: message.album_id.clone(),
    }
}

fn author(message: &Message, viewer: &Viewer) -> Author {
    let conversation = &message.conversation;
    let telegram = conversation.interface == InterfaceType::Telegram;
    let name = match &message.user_id {
        Some(user) if *user == viewer.user => "You".to_owned(),
        // An admin sees chats without being part of them.
        Some(user) if telegram && viewer.standing == Standing::Admin => format!("Person {user}"),
        Some(user) => format!("Somebody (user {user})"),
        None => "Somebody".to_owned(),
    };
    Author { name, in_sight: conversation.is_shared() }
}

fn user_entry(window: &MessageWindow, message: &Message, viewer: &Viewer) -> PageEntry {
    let target = message.reply.as_ref();
    PageEntry {
        author: Some(author(message, viewer)),
        words: markers::visible_text(message),
        pointed: target.and_then(|to| quoted_message(window, to.message?.0, to.attachment)),
        notes: message.error.clone().into_iter().collect(),
        refs: sources(window, message),
        ..empty_entry(message)
    }
}

fn answer_entry(window: &MessageWindow, message: &Message) -> PageEntry {
    let steps = steps(window, message.turn_id);
    let state = if message.error.is_some() { EntryState::Failed } else { EntryState::Complete };
    // Only for a single picture. For an album, the lightbox shows the strip of each.
    let edits = match message.attachments.as_slice() {
        [only] => build_strip(window, *only),
        _ => None,
    };
    PageEntry {
        key: message.turn_id.map_or_else(|| format!("m{}", message.internal_id), |turn| format!("t{turn}")),
        answer: markdown::to_html(&markers::visible_text(message)),
        strip: edits,
        pills: pills(window, &steps),
        hood: turn_details(&steps, Some(message)),
        state,
        refs: sources(window, message),
        ..empty_entry(message)
    }
}

/// The steps of a turn without an answer: it still runs, or was stopped.
fn unanswered_entry(window: &MessageWindow, first: &Message, turn: TurnId) -> PageEntry {
    let steps = steps(window, Some(turn));
    let is_running = matches!(window.turns.get(&turn), Some(TurnState::Pending | TurnState::Running));
    PageEntry {
        key: format!("t{turn}"),
        pills: pills(window, &steps),
        hood: turn_details(&steps, None),
        state: if is_running { EntryState::Running } else { EntryState::Stopped },
        carried: Vec::new(),
        ..empty_entry(first)
    }
}

fn steps(window: &MessageWindow, turn: Option<TurnId>) -> Vec<&Message> {
    let of_turn = |m: &&Message| turn.is_some() && m.turn_id == turn && is_step(m);
    window.rows.iter().filter(of_turn).collect()
}

fn is_first_of_open_turn(window: &MessageWindow, message: &Message, turn: TurnId) -> bool {
    let mut of_turn = window.rows.iter().filter(|m| m.turn_id == Some(turn));
    let first = of_turn.clone().next().is_some_and(|m| m.internal_id == message.internal_id);
    first && of_turn.all(is_step)
}

impl PageEntry {
    /// Adds another photo of the same album. Only its first message carries the reply.
    fn append(&mut self, next: Self) {
        self.words += &next.words;
        self.carried.extend(next.carried);
        self.notes.extend(next.notes);
    }

    pub fn shows_refs(&self) -> bool {
        self.refs.iter().any(|source| source.shown)
    }

    pub fn is_draft(&self) -> bool {
        self.state == EntryState::Running
    }

    pub fn is_stopped(&self) -> bool {
        self.state == EntryState::Stopped
    }

    pub fn is_failed(&self) -> bool {
        self.state == EntryState::Failed
    }
}

pub fn quoted_message(window: &MessageWindow, id: i64, file: Option<AttachmentId>) -> Option<QuotedMessage> {
    let message = window.message(id)?;
    let file = file.filter(|id| message.attachments.contains(id));
    let only = match message.attachments.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    let file = file.or(only).filter(|id| window.files.get(id).is_some_and(is_picture));
    Some(QuotedMessage { message: id, file, text: quote(message) })
}

fn quote(message: &Message) -> String {
    let said = markers::visible_text(message);
    let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut quoted: String = line.chars().filter(|c| !"*_`#".contains(*c)).take(MAX_QUOTE_CHARS).collect();
    if quoted.chars().count() == MAX_QUOTE_CHARS {
        quoted.push('…');
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Conversation, MessageId, NewMessage, SessionId, UserId};

    fn named(chat: i64, writer: &str, viewer: &Viewer) -> Author {
        let session = SessionId::new();
        let body = NewMessage::new(Conversation::telegram(chat), session, Role::User, "hello");
        let body = NewMessage { user_id: Some(UserId(writer.into())), ..body };
        author(&Message { internal_id: MessageId(1), body }, viewer)
    }

    #[test]
    fn authors_are_named_for_the_viewer() {
        let member = Viewer { user: UserId("7".into()), standing: Standing::Member };
        let local = Viewer::local();
        let name = |writer: &str, viewer: &Viewer| named(-100, writer, viewer).name;
        assert_eq!(name("7", &member), "You");
        assert_eq!(name("8", &member), "Somebody (user 8)");
        assert_eq!(name("8", &local), "Person 8");
        assert_eq!(name("local", &local), "You");
    }

    #[test]
    fn only_groups_show_the_author() {
        let viewer = Viewer::local();
        assert!(named(-100, "8", &viewer).in_sight);
        assert!(!named(8, "8", &viewer).in_sight);
    }
}
