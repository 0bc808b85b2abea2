//! The part of a conversation that is on the page: some rows of its history and what is needed to show them. The only
//! file of the page that asks the store for messages.

use super::{entries::is_step, steps::asked_for};
use crate::{
    domain::{Attachment, AttachmentId, Message, MessageId, Role, Session, SessionId, TurnId, TurnState},
    store::{Store, StoreError},
};
use std::collections::HashMap;

/// Rows of one page: some forty messages, with the steps between them.
const PAGE: usize = 100;
/// Edits of edits of edits that a strip looks back on.
const MOST_GENERATIONS: usize = 8;

pub struct Window {
    /// Oldest first, beginning with a whole entry.
    pub rows: Vec<Message>,
    pub files: HashMap<AttachmentId, Attachment>,
    /// The message that carries a file, as far as it is in these rows.
    pub carriers: HashMap<AttachmentId, i64>,
    pub turns: HashMap<TurnId, TurnState>,
    /// There is more before the first row.
    pub older: bool,
    quoted: HashMap<i64, Message>,
}

/// Which rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Newest,
    Before(MessageId),
    /// The entry of this row, and all after it.
    From(MessageId),
}

impl Window {
    pub async fn open(store: &Store, session: &Session, part: Part) -> Result<Self, StoreError> {
        let (rows, older) = rows(store, session.session_id, part).await?;
        let mut window = Self {
            carriers: carriers(&rows),
            rows,
            files: HashMap::new(),
            turns: HashMap::new(),
            older,
            quoted: HashMap::new(),
        };
        window.find_quoted(store, session).await?;
        window.find_files(store, session).await?;
        window.find_turns(store).await?;
        Ok(window)
    }

    pub fn message(&self, id: i64) -> Option<&Message> {
        let here = self.rows.iter().find(|m| m.internal_id.0 == id);
        here.or_else(|| self.quoted.get(&id))
    }

    pub fn first(&self) -> Option<i64> {
        self.rows.first().map(|m| m.internal_id.0)
    }

    pub fn last(&self) -> i64 {
        self.rows.last().map_or(0, |m| m.internal_id.0)
    }

    /// Also messages that are not here, but pointed at.
    pub async fn quote(&mut self, store: &Store, session: &Session, id: i64) -> Result<(), StoreError> {
        if self.message(id).is_none() {
            let found = store.message(MessageId(id)).await?;
            if let Some(found) = found.filter(|m| m.conversation == session.conversation) {
                self.look_up(store, session, found.attachments.clone()).await?;
                self.quoted.insert(id, found);
            }
        }
        Ok(())
    }

    async fn find_quoted(&mut self, store: &Store, session: &Session) -> Result<(), StoreError> {
        let replies = self.rows.iter().filter_map(|m| m.reply.as_ref()?.message);
        for id in replies.map(|id| id.0).collect::<Vec<_>>() {
            self.quote(store, session, id).await?;
        }
        Ok(())
    }

    async fn find_files(&mut self, store: &Store, session: &Session) -> Result<(), StoreError> {
        let named = self.rows.iter().flat_map(|m| m.tool_calls.iter().flat_map(asked_for));
        let carried = self.rows.iter().flat_map(|m| m.attachments.iter().copied());
        let mut wanted: Vec<AttachmentId> = carried.chain(named).collect();
        for _ in 0..MOST_GENERATIONS {
            wanted = self.look_up(store, session, wanted).await?;
            if wanted.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Finds files that are not known yet, and tells whose parents are not.
    async fn look_up(
        &mut self,
        store: &Store,
        session: &Session,
        mut wanted: Vec<AttachmentId>,
    ) -> Result<Vec<AttachmentId>, StoreError> {
        wanted.retain(|id| !self.files.contains_key(id));
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.is_empty() {
            return Ok(wanted);
        }
        let found = store.attachments(&session.conversation, &wanted).await?;
        let parents = found.iter().flat_map(|file| file.parents.clone()).collect();
        self.files.extend(found.into_iter().map(|file| (file.attachment_id, file)));
        Ok(parents)
    }

    async fn find_turns(&mut self, store: &Store) -> Result<(), StoreError> {
        let open: Vec<TurnId> = self.rows.iter().filter(|m| is_step(m)).filter_map(|m| m.turn_id).collect();
        for id in open {
            let answered = self.rows.iter().any(|m| m.turn_id == Some(id) && !is_step(m));
            if !answered && !self.turns.contains_key(&id)
                && let Some(turn) = store.turn(id).await?
            {
                self.turns.insert(id, turn.state);
            }
        }
        Ok(())
    }
}

async fn rows(store: &Store, session: SessionId, part: Part) -> Result<(Vec<Message>, bool), StoreError> {
    let all = store.messages_of_session(session).await?;
    Ok(match part {
        Part::From(id) => (from_entry(all, id), false),
        Part::Newest => newest(all, None),
        Part::Before(id) => newest(all, Some(id)),
    })
}

/// An album's first photo, if this is a later one of it.
fn from_entry(rows: Vec<Message>, id: MessageId) -> Vec<Message> {
    let at = rows.iter().position(|m| m.internal_id >= id).unwrap_or(rows.len());
    let turn = rows.get(at).and_then(|m| m.turn_id);
    let album = rows.get(at).and_then(|m| m.album_id.clone());
    let mut start = at;
    while let Some(before) = start.checked_sub(1).map(|i| &rows[i]) {
        let same_album = album.is_some() && before.album_id == album;
        let same_turn = turn.is_some() && before.turn_id == turn;
        if !same_album && !same_turn {
            break;
        }
        start -= 1;
    }
    rows.into_iter().skip(start).collect()
}

fn newest(mut rows: Vec<Message>, before: Option<MessageId>) -> (Vec<Message>, bool) {
    if let Some(before) = before {
        rows.retain(|m| m.internal_id < before);
    }
    let mut start = rows.len().saturating_sub(PAGE);
    while start > 0 && !begins_entry(&rows, start) {
        start -= 1;
    }
    (rows.split_off(start), start > 0)
}

/// A person's message that is not a later photo of an album: nothing of what came before is shown with it.
fn begins_entry(rows: &[Message], at: usize) -> bool {
    let (before, here) = (&rows[at - 1], &rows[at]);
    here.role == Role::User && !(here.album_id.is_some() && before.album_id == here.album_id)
}

/// Where a file can be replied to: what was said first, then what a tool made.
fn carriers(rows: &[Message]) -> HashMap<AttachmentId, i64> {
    let mut carriers = HashMap::new();
    let (steps, said): (Vec<&Message>, Vec<&Message>) = rows.iter().partition(|m| is_step(m));
    for message in said.into_iter().chain(steps) {
        for id in &message.attachments {
            carriers.entry(*id).or_insert(message.internal_id.0);
        }
    }
    carriers
}
