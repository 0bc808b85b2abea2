//! The part of a conversation that the page shows: some rows of its history and everything needed to show them. The
//! only file of the page that reads messages from the store.

use super::{calls::input_attachments, found::found_things};
use crate::{
    domain::{
        Attachment, AttachmentId, Message, MessageId, Role, Session, SessionId, TurnId, TurnState, UserId,
    },
    store::{Detail, Store, StoreError},
};
use std::collections::HashMap;

/// Rows per page: about forty messages with the steps between them.
const PAGE_ROWS: i64 = 80;
/// Rows per read when reading forward.
const MAX_ROWS: i64 = 1000;
/// No album has more messages.
const MAX_ALBUM_ROWS: i64 = 20;
/// Turns that may have started before the first row: one runs at a time in a conversation.
const MAX_CUT_TURNS: usize = 2;
/// Ancestors of a picture that are loaded for its strip of edits.
const MAX_GENERATIONS: usize = 8;

#[derive(Default)]
pub struct MessageWindow {
    /// Oldest first; starts with a complete entry.
    pub rows: Vec<Message>,
    pub files: HashMap<AttachmentId, Attachment>,
    /// What the on-device models found in a picture: "2 × cat, face".
    pub found: HashMap<AttachmentId, String>,
    /// The message that carries each file, anywhere in the session.
    pub carriers: HashMap<AttachmentId, i64>,
    pub turns: HashMap<TurnId, TurnState>,
    /// In a group, the person who asked for each answer.
    pub askers: HashMap<TurnId, UserId>,
    older: Option<i64>,
    quoted: HashMap<i64, Message>,
}

/// Which rows to load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowRange {
    Newest,
    Before(MessageId),
    /// The entry of this row and everything after it.
    From(MessageId),
}

impl MessageWindow {
    pub async fn load(store: &Store, session: &Session, range: WindowRange) -> Result<Self, StoreError> {
        let (rows, older) = load_rows(store, session.session_id, range).await?;
        let older = rows.first().map(|m| m.internal_id.0).filter(|_| older);
        let rows = add_earlier_steps(store, rows).await?;
        let mut window = Self { rows, older, ..Self::default() };
        window.load_all_quoted(store, session).await?;
        let ids = window.named_files();
        window.load_files(store, session, ids).await?;
        window.load_carriers(store, session).await?;
        window.load_found(store).await?;
        window.load_open_turns(store).await?;
        if session.conversation.is_shared() {
            window.load_askers(store).await?;
        }
        Ok(window)
    }

    pub fn message(&self, id: i64) -> Option<&Message> {
        let here = self.rows.iter().find(|m| m.internal_id.0 == id);
        here.or_else(|| self.quoted.get(&id))
    }

    /// The id of the first row, if there are rows before it.
    pub fn older(&self) -> Option<i64> {
        self.older
    }

    /// Whether there may be rows after the last one, because of the limit.
    pub fn is_cut(&self) -> bool {
        self.rows.len() as i64 >= MAX_ROWS
    }

    /// Loads what the strip of edits of one picture needs.
    pub async fn load_for_strip(
        store: &Store,
        session: &Session,
        id: AttachmentId,
    ) -> Result<Self, StoreError> {
        let mut window = Self::default();
        window.load_files(store, session, vec![id]).await?;
        window.load_carriers(store, session).await?;
        Ok(window)
    }

    pub fn last(&self) -> i64 {
        self.rows.last().map_or(0, |m| m.internal_id.0)
    }

    /// Loads a message that is quoted but not in the window.
    pub async fn load_quoted(&mut self, store: &Store, session: &Session, id: i64) -> Result<(), StoreError> {
        if self.message(id).is_none() {
            let found = store.message(MessageId(id)).await?;
            if let Some(found) = found.filter(|m| m.conversation == session.conversation) {
                self.load_new_files(store, session, found.attachments.clone()).await?;
                self.quoted.insert(id, found);
            }
        }
        Ok(())
    }

    async fn load_all_quoted(&mut self, store: &Store, session: &Session) -> Result<(), StoreError> {
        let replies = self.rows.iter().filter_map(|m| m.reply.as_ref()?.message);
        for id in replies.map(|id| id.0).collect::<Vec<_>>() {
            self.load_quoted(store, session, id).await?;
        }
        Ok(())
    }

    fn named_files(&self) -> Vec<AttachmentId> {
        let named = self.rows.iter().flat_map(|m| m.tool_calls.iter().flat_map(input_attachments));
        let carried = self.rows.iter().flat_map(|m| m.attachments.iter().copied());
        let referred = self.rows.iter().flat_map(|m| &m.refs);
        let referred =
            referred.filter_map(|reference| reference.url.strip_prefix("attachment:")?.parse().ok());
        carried.chain(named).chain(referred).collect()
    }

    async fn load_files(
        &mut self,
        store: &Store,
        session: &Session,
        mut ids: Vec<AttachmentId>,
    ) -> Result<(), StoreError> {
        for _ in 0..MAX_GENERATIONS {
            ids = self.load_new_files(store, session, ids).await?;
            if ids.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Loads the files that are not loaded yet and returns their parents.
    async fn load_new_files(
        &mut self,
        store: &Store,
        session: &Session,
        mut ids: Vec<AttachmentId>,
    ) -> Result<Vec<AttachmentId>, StoreError> {
        ids.retain(|id| !self.files.contains_key(id));
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return Ok(ids);
        }
        let found = store.attachments(&session.conversation, &ids).await?;
        let parents = found.iter().flat_map(|file| file.parents.clone()).collect();
        self.files.extend(found.into_iter().map(|file| (file.attachment_id, file)));
        Ok(parents)
    }

    async fn load_found(&mut self, store: &Store) -> Result<(), StoreError> {
        let ids: Vec<AttachmentId> = self.files.keys().copied().collect();
        for findings in store.findings_of_files(&ids).await? {
            let things = found_things(&findings);
            if !things.is_empty() {
                let known = self.found.entry(findings.attachment_id).or_default();
                *known = [known.as_str(), &things]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join(", ");
            }
        }
        Ok(())
    }

    async fn load_carriers(&mut self, store: &Store, session: &Session) -> Result<(), StoreError> {
        let ids: Vec<AttachmentId> = self.files.keys().copied().collect();
        let found = store.carrying_messages(session.session_id, &ids).await?;
        self.carriers = found.into_iter().map(|(file, message)| (file, message.0)).collect();
        Ok(())
    }

    async fn load_askers(&mut self, store: &Store) -> Result<(), StoreError> {
        for id in self.rows.iter().filter_map(|m| m.turn_id) {
            if !self.askers.contains_key(&id)
                && let Some(turn) = store.turn(id).await?
            {
                self.askers.insert(id, turn.user_id);
            }
        }
        Ok(())
    }

    async fn load_open_turns(&mut self, store: &Store) -> Result<(), StoreError> {
        let open: Vec<TurnId> = self.rows.iter().filter(|m| is_step(m)).filter_map(|m| m.turn_id).collect();
        for id in open {
            let answered = self.rows.iter().any(|m| m.turn_id == Some(id) && !is_step(m));
            if !answered
                && !self.turns.contains_key(&id)
                && let Some(turn) = store.turn(id).await?
            {
                self.turns.insert(id, turn.state);
            }
        }
        Ok(())
    }
}

async fn load_rows(
    store: &Store,
    session: SessionId,
    range: WindowRange,
) -> Result<(Vec<Message>, bool), StoreError> {
    let before = match range {
        WindowRange::From(id) => return Ok((load_from_entry(store, session, id).await?, false)),
        WindowRange::Newest => None,
        WindowRange::Before(id) => Some(id),
    };
    let mut limit = PAGE_ROWS;
    loop {
        let mut rows = store.messages_of_session(session, before, Some(limit + 1), Detail::WithTools).await?;
        if (rows.len() as i64) <= limit {
            return Ok((rows, false));
        }
        if let Some(start) = (1..rows.len()).find(|at| starts_entry(&rows, *at)) {
            return Ok((rows.split_off(start), true));
        }
        // No entry starts on this page: one turn is longer than it.
        limit *= 4;
    }
}

/// Rows from the start of the entry that this row belongs to: for an album, from its first photo.
async fn load_from_entry(
    store: &Store,
    session: SessionId,
    id: MessageId,
) -> Result<Vec<Message>, StoreError> {
    let after = store.messages_after(session, MessageId(id.0.saturating_sub(1)), MAX_ROWS).await?;
    let mut before =
        store.messages_of_session(session, Some(id), Some(MAX_ALBUM_ROWS), Detail::WithTools).await?;
    let album = after.first().and_then(|m| m.album_id.clone());
    let start = before.iter().rposition(|m| album.is_none() || m.album_id != album).map_or(0, |at| at + 1);
    let mut rows = before.split_off(start);
    rows.extend(after);
    Ok(rows)
}

/// Adds the steps before the first row that belong to answers after it.
async fn add_earlier_steps(store: &Store, rows: Vec<Message>) -> Result<Vec<Message>, StoreError> {
    let Some(first) = rows.first().map(|m| m.internal_id) else { return Ok(rows) };
    let mut turns: Vec<TurnId> = Vec::new();
    for turn in rows.iter().filter_map(|m| m.turn_id) {
        if turns.len() < MAX_CUT_TURNS && !turns.contains(&turn) {
            turns.push(turn);
        }
    }
    let mut before = Vec::new();
    for turn in turns {
        let steps = store.messages_of_turn(turn).await?;
        before.extend(steps.into_iter().filter(|m| m.internal_id < first));
    }
    before.extend(rows);
    Ok(before)
}

/// Whether a message is a request for tools or the result of one.
pub fn is_step(message: &Message) -> bool {
    !message.is_chat_message()
}

/// Whether a row starts an entry: a user message that is not a later photo of an album.
fn starts_entry(rows: &[Message], at: usize) -> bool {
    let (before, here) = (&rows[at - 1], &rows[at]);
    here.role == Role::User && !(here.album_id.is_some() && before.album_id == here.album_id)
}
