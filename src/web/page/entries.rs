//! Rows of the history → entries as shown: an album is one, and so is an answer with all that was done for it. Pure;
//! what it needs from the store is in the `Window`.

use super::{
    files::{Album, Doc, Strip, album, docs, is_picture, strip},
    steps::{Hood, Pill, hood, pills},
    window::Window,
};
use crate::{
    access::{Standing, Viewer},
    attachments::markers,
    domain::{Attachment, AttachmentId, InterfaceType, Message, Reference, Role, TurnId, TurnState},
    web::markdown,
};
use chrono::{DateTime, Local, NaiveDate, Utc};

/// One message as shown.
pub struct Entry {
    /// Stays the same while it grows: what the browser finds it by.
    pub key: String,
    pub id: i64,
    pub turn: Option<TurnId>,
    /// The person who wrote it; none if the agent did.
    pub author: Option<Author>,
    /// What a person wrote, as they wrote it.
    pub words: String,
    /// What the agent wrote, as HTML.
    pub answer: String,
    /// What it replies to.
    pub pointed: Option<Pointed>,
    pub when: When,
    /// On the first of a day.
    pub day: Option<String>,
    pub album: Album,
    pub docs: Vec<Doc>,
    pub strip: Option<Strip>,
    pub pills: Vec<Pill>,
    pub hood: Option<Hood>,
    pub notes: Vec<String>,
    pub state: State,
    pub tags: Vec<String>,
    pub refs: Vec<Source>,
    carried: Vec<(i64, AttachmentId)>,
    album_id: Option<String>,
}

/// A person, as whoever reads this page knows them.
#[derive(Debug, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    /// Where several people talk, everybody sees who said what; elsewhere only a screen reader needs it.
    pub in_sight: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Whole,
    /// The turn ended in an apology.
    Failed,
    /// Steps without an answer, so far.
    Running,
    /// Steps without an answer, for ever.
    Stopped,
}

pub struct When {
    pub iso: String,
    pub clock: String,
    pub date: NaiveDate,
}

impl When {
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

/// A message someone points at.
pub struct Pointed {
    pub message: i64,
    pub file: Option<AttachmentId>,
    pub text: String,
}

/// Something an answer rests on.
pub struct Source {
    pub title: String,
    /// Where a click leads; our own files and turns lead to themselves.
    pub href: Option<String>,
    /// It leads away from here.
    pub away: bool,
    /// The picture itself, if that is what it is.
    pub picture: Option<AttachmentId>,
    /// Not, if the entry shows it anyway.
    pub shown: bool,
    /// All of it, for whoever changes it.
    pub json: String,
}

const LONGEST_QUOTE: usize = 90;

pub fn entries(window: &Window, viewer: &Viewer) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for message in &window.rows {
        let next = match (message.role, message.turn_id) {
            (Role::User, _) => person(window, message, viewer),
            (Role::Assistant, _) if message.tool_calls.is_empty() => answer(window, message),
            (_, Some(turn)) if is_first_of_open_turn(window, message, turn) => {
                unfinished(window, message, turn)
            }
            _ => continue,
        };
        match entries.last_mut() {
            Some(whole) if next.album_id.is_some() && whole.album_id == next.album_id => whole.take_in(next),
            _ => entries.push(next),
        }
    }
    let mut day = None;
    for entry in &mut entries {
        if day != Some(entry.when.date) {
            day = Some(entry.when.date);
            entry.day = Some(entry.when.day_name());
        }
        entry.album = album(window, &entry.carried);
        entry.docs = docs(window, &entry.carried);
    }
    entries
}

fn sources(window: &Window, message: &Message) -> Vec<Source> {
    message.refs.iter().map(|reference| source(window, message, reference)).collect()
}

/// What refers to a file that is in sight anyway, and says no more than its name, is kept but not shown again.
fn source(window: &Window, message: &Message, reference: &Reference) -> Source {
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
    let says_more = title.is_some() && known.is_none_or(|file| title != name_as_title(file));
    let otherwise = || match turn {
        Some(_) => "an earlier answer".to_owned(),
        None => url.trim_start_matches("https://").trim_start_matches("http://").to_owned(),
    };
    Source {
        shown: says_more || !file.is_some_and(|id| in_sight(window, message, id)),
        title: title.or(named).unwrap_or_else(otherwise),
        href,
        away,
        picture: known.filter(|file| is_picture(file)).map(|file| file.attachment_id),
        json: serde_json::to_string(reference).unwrap_or_default(),
    }
}

/// The title that a reference to this file has if nobody gave it another.
fn name_as_title(file: &Attachment) -> Option<String> {
    Reference::to_file(file.attachment_id, &file.filename, "").title
}

/// A file that the entry shows, that was made on the way to it, or that one of these was made from.
fn in_sight(window: &Window, message: &Message, id: AttachmentId) -> bool {
    let made_from = |of: &AttachmentId| window.files.get(of).is_some_and(|file| file.parents.contains(&id));
    let steps = steps(window, message.turn_id);
    let of_turn = || steps.iter().flat_map(|m| m.attachments.iter());
    message.attachments.contains(&id)
        || message.attachments.iter().chain(of_turn()).any(|other| *other == id || made_from(other))
}

fn blank(message: &Message) -> Entry {
    Entry {
        key: format!("m{}", message.internal_id),
        id: message.internal_id.0,
        turn: message.turn_id,
        author: None,
        words: String::new(),
        answer: String::new(),
        pointed: None,
        when: When::of(message.timestamp),
        day: None,
        album: Album::default(),
        docs: Vec::new(),
        strip: None,
        pills: Vec::new(),
        hood: None,
        notes: Vec::new(),
        state: State::Whole,
        tags: message.tags.clone(),
        refs: Vec::new(),
        carried: message.attachments.iter().map(|id| (message.internal_id.0, *id)).collect(),
        album_id: message.album_id.clone(),
    }
}

fn author(message: &Message, viewer: &Viewer) -> Author {
    let place = &message.conversation;
    let telegram = place.interface == InterfaceType::Telegram;
    let name = match &message.user_id {
        Some(user) if *user == viewer.user => "You".to_owned(),
        // Whoever sees every chat is in none of them, as a rule.
        Some(user) if telegram && viewer.standing == Standing::Admin => format!("Person {user}"),
        Some(user) => format!("Somebody (user {user})"),
        None => "Somebody".to_owned(),
    };
    // Telegram's groups have negative ids.
    Author { name, in_sight: telegram && place.id.starts_with('-') }
}

fn person(window: &Window, message: &Message, viewer: &Viewer) -> Entry {
    let target = message.reply.as_ref();
    Entry {
        author: Some(author(message, viewer)),
        words: markers::said(message),
        pointed: target.and_then(|to| pointed(window, to.message?.0, to.attachment)),
        notes: message.error.clone().into_iter().collect(),
        refs: sources(window, message),
        ..blank(message)
    }
}

fn answer(window: &Window, message: &Message) -> Entry {
    let steps = steps(window, message.turn_id);
    let state = if message.error.is_some() { State::Failed } else { State::Whole };
    // In an album the strip would belong to one photo of many; there the lightbox shows it.
    let only = match message.attachments.as_slice() {
        [only] => strip(window, *only),
        _ => None,
    };
    Entry {
        key: message.turn_id.map_or_else(|| format!("m{}", message.internal_id), |turn| format!("t{turn}")),
        answer: markdown::html(&markers::said(message)),
        strip: only,
        pills: pills(window, &steps),
        hood: hood(&steps, Some(message)),
        state,
        refs: sources(window, message),
        ..blank(message)
    }
}

/// What was done in a turn that has no answer: it still runs, or was stopped.
fn unfinished(window: &Window, first: &Message, turn: TurnId) -> Entry {
    let steps = steps(window, Some(turn));
    let runs = matches!(window.turns.get(&turn), Some(TurnState::Pending | TurnState::Running));
    Entry {
        key: format!("t{turn}"),
        pills: pills(window, &steps),
        hood: hood(&steps, None),
        state: if runs { State::Running } else { State::Stopped },
        carried: Vec::new(),
        ..blank(first)
    }
}

fn steps(window: &Window, turn: Option<TurnId>) -> Vec<&Message> {
    let of_turn = |m: &&Message| turn.is_some() && m.turn_id == turn && is_step(m);
    window.rows.iter().filter(of_turn).collect()
}

/// A request for tools or the result of one.
pub fn is_step(message: &Message) -> bool {
    !message.is_said()
}

fn is_first_of_open_turn(window: &Window, message: &Message, turn: TurnId) -> bool {
    let mut of_turn = window.rows.iter().filter(|m| m.turn_id == Some(turn));
    let first = of_turn.clone().next().is_some_and(|m| m.internal_id == message.internal_id);
    first && of_turn.all(is_step)
}

impl Entry {
    /// Another photo of the same album. The reply was said once, with the first.
    fn take_in(&mut self, next: Self) {
        self.words += &next.words;
        self.carried.extend(next.carried);
        self.notes.extend(next.notes);
    }

    pub fn shows_refs(&self) -> bool {
        self.refs.iter().any(|source| source.shown)
    }

    pub fn is_draft(&self) -> bool {
        self.state == State::Running
    }

    pub fn is_stopped(&self) -> bool {
        self.state == State::Stopped
    }

    pub fn is_failed(&self) -> bool {
        self.state == State::Failed
    }
}

pub fn pointed(window: &Window, id: i64, file: Option<AttachmentId>) -> Option<Pointed> {
    let message = window.message(id)?;
    let file = file.filter(|id| message.attachments.contains(id));
    let only = match message.attachments.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    let file = file.or(only).filter(|id| window.files.get(id).is_some_and(is_picture));
    Some(Pointed { message: id, file, text: quote(message) })
}

fn quote(message: &Message) -> String {
    let said = markers::said(message);
    let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut quoted: String = line.chars().filter(|c| !"*_`#".contains(*c)).take(LONGEST_QUOTE).collect();
    if quoted.chars().count() == LONGEST_QUOTE {
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
    fn you_are_you_and_others_are_not() {
        let member = Viewer { user: UserId("7".into()), standing: Standing::Member };
        let local = Viewer::local();
        let name = |writer: &str, viewer: &Viewer| named(-100, writer, viewer).name;
        assert_eq!(name("7", &member), "You");
        assert_eq!(name("8", &member), "Somebody (user 8)");
        assert_eq!(name("8", &local), "Person 8");
        assert_eq!(name("local", &local), "You");
    }

    #[test]
    fn only_a_group_shows_who_wrote() {
        let viewer = Viewer::local();
        assert!(named(-100, "8", &viewer).in_sight);
        assert!(!named(8, "8", &viewer).in_sight);
    }
}
