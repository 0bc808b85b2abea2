//! The part of a conversation that is on the page: some rows of its history and what is needed to show them. The only
//! file of the page that asks the store for messages.

use super::{entries::is_step, steps::asked_for};
use crate::{
    domain::{Attachment, AttachmentId, Message, MessageId, Role, Session, SessionId, TurnId, TurnState},
    store::{Detail, Store, StoreError},
};
use std::collections::HashMap;

/// Rows of one page: some forty messages, with the steps between them.
const PAGE: i64 = 80;
/// More are never asked for at once.
const MOST_ROWS: i64 = 1000;
/// Longer than any album.
const ALBUM: i64 = 20;
/// Turns that may have begun before the first row: one at a time runs in a conversation, the others wait.
const MOST_CUT: usize = 2;
/// Edits of edits of edits that a strip looks back on.
const MOST_GENERATIONS: usize = 8;

#[derive(Default)]
pub struct Window {
    /// Oldest first, beginning with a whole entry.
    pub rows: Vec<Message>,
    pub files: HashMap<AttachmentId, Attachment>,
    /// The message that carries a file, wherever in the session.
    pub carriers: HashMap<AttachmentId, i64>,
    pub turns: HashMap<TurnId, TurnState>,
    older: Option<i64>,
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
        let older = rows.first().map(|m| m.internal_id.0).filter(|_| older);
        let rows = with_all_steps(store, rows).await?;
        let mut window = Self { rows, older, ..Self::default() };
        window.find_quoted(store, session).await?;
        let wanted = window.named_files();
        window.find_files(store, session, wanted).await?;
        window.find_carriers(store, session).await?;
        window.find_turns(store).await?;
        Ok(window)
    }

    pub fn message(&self, id: i64) -> Option<&Message> {
        let here = self.rows.iter().find(|m| m.internal_id.0 == id);
        here.or_else(|| self.quoted.get(&id))
    }

    /// The first row here, if there are any before it.
    pub fn older(&self) -> Option<i64> {
        self.older
    }

    /// There may be more after the last row than could be asked for at once.
    pub fn is_cut(&self) -> bool {
        self.rows.len() as i64 >= MOST_ROWS
    }

    /// What is needed to show how a picture came about.
    pub async fn around(store: &Store, session: &Session, id: AttachmentId) -> Result<Self, StoreError> {
        let mut window = Self::default();
        window.find_files(store, session, vec![id]).await?;
        window.find_carriers(store, session).await?;
        Ok(window)
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

    fn named_files(&self) -> Vec<AttachmentId> {
        let named = self.rows.iter().flat_map(|m| m.tool_calls.iter().flat_map(asked_for));
        let carried = self.rows.iter().flat_map(|m| m.attachments.iter().copied());
        let referred = self.rows.iter().flat_map(|m| &m.refs);
        let referred =
            referred.filter_map(|reference| reference.url.strip_prefix("attachment:")?.parse().ok());
        carried.chain(named).chain(referred).collect()
    }

    async fn find_files(
        &mut self,
        store: &Store,
        session: &Session,
        mut wanted: Vec<AttachmentId>,
    ) -> Result<(), StoreError> {
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

    async fn find_carriers(&mut self, store: &Store, session: &Session) -> Result<(), StoreError> {
        let ids: Vec<AttachmentId> = self.files.keys().copied().collect();
        let found = store.carriers(session.session_id, &ids).await?;
        self.carriers = found.into_iter().map(|(file, message)| (file, message.0)).collect();
        Ok(())
    }

    async fn find_turns(&mut self, store: &Store) -> Result<(), StoreError> {
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

async fn rows(store: &Store, session: SessionId, part: Part) -> Result<(Vec<Message>, bool), StoreError> {
    let before = match part {
        Part::From(id) => return Ok((from_entry(store, session, id).await?, false)),
        Part::Newest => None,
        Part::Before(id) => Some(id),
    };
    let mut limit = PAGE;
    loop {
        let mut rows = store.messages_of_session(session, before, Some(limit + 1), Detail::WithTools).await?;
        if (rows.len() as i64) <= limit {
            return Ok((rows, false));
        }
        if let Some(start) = (1..rows.len()).find(|at| begins_entry(&rows, *at)) {
            return Ok((rows.split_off(start), true));
        }
        // One turn longer than a page.
        limit *= 4;
    }
}

/// From the beginning of the entry this row belongs to: an album's first photo, a turn's first step.
async fn from_entry(store: &Store, session: SessionId, id: MessageId) -> Result<Vec<Message>, StoreError> {
    let after = store.messages_after(session, MessageId(id.0.saturating_sub(1)), MOST_ROWS).await?;
    let mut before = store.messages_of_session(session, Some(id), Some(ALBUM), Detail::WithTools).await?;
    let album = after.first().and_then(|m| m.album_id.clone());
    let start = before.iter().rposition(|m| album.is_none() || m.album_id != album).map_or(0, |at| at + 1);
    let mut rows = before.split_off(start);
    rows.extend(after);
    Ok(rows)
}

/// Steps before the first row belong to the answers after it.
async fn with_all_steps(store: &Store, rows: Vec<Message>) -> Result<Vec<Message>, StoreError> {
    let Some(first) = rows.first().map(|m| m.internal_id) else { return Ok(rows) };
    let mut turns: Vec<TurnId> = Vec::new();
    for turn in rows.iter().filter_map(|m| m.turn_id) {
        if turns.len() < MOST_CUT && !turns.contains(&turn) {
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

/// A person's message that is not a later photo of an album: nothing of what came before is shown with it.
fn begins_entry(rows: &[Message], at: usize) -> bool {
    let (before, here) = (&rows[at - 1], &rows[at]);
    here.role == Role::User && !(here.album_id.is_some() && before.album_id == here.album_id)
}
