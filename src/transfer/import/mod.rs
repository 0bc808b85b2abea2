//! Import: a sent history is read, checked as a whole and turned into rows, all or nothing. An invalid field is an
//! error with its index and name; no field is dropped silently.
//!
//! `document` finds the entries, `entries` parses each one, `plan` groups them into rows, `files` finds and copies the
//! attachments they name, `rows` writes the final rows. `archive` reads the document, and unpacks an exported zip. `limits` bounds what
//! may come, `turns` how many imports run and the memory they take.

mod archive;
mod document;
mod entries;
mod error;
mod files;
mod ids;
mod limits;
mod plan;
mod rows;
mod turns;

pub use error::{EntryError, ImportError};
pub use limits::MAX_HISTORY_BYTES;

use crate::{
    access::{Scope, Viewer},
    attachments::{ReceivedBytes, StagedFile},
    domain::{Attachment, Message, NewMessage, ReferenceTarget, Session, TurnId},
    rendering::Renderer,
    store::{ChangeOutcome, Detail, Replacement, ReplacementRow, RowContent},
};
use error::EntryErrors;
use files::FileUses;
use ids::NewIds;
use plan::HistoryPlan;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use tracing::error;
use turns::ImportTurn;

/// Imports for one person: files are read and written with this person's rights.
pub struct Importer<'a> {
    pub renderer: &'a Renderer,
    pub viewer: &'a Viewer,
    /// Tag groups of which a message may have at most one.
    pub exclusive_tags: &'a [String],
}

impl Importer<'_> {
    /// Creates a session from an exported zip or exported JSON. A failed import leaves nothing behind.
    pub async fn import_session(&self, export: ReceivedBytes) -> Result<Session, ImportError> {
        let turn = ImportTurn::wait(&self.viewer.user).await?;
        let store = &self.renderer.store;
        let created = store.create_web_session(&self.viewer.user, None).await?;
        let imported = async {
            let found = self.viewer.session(store, created.session_id).await?;
            let (session, scope) = found.ok_or(ImportError::Missing)?;
            let unpacked = archive::unpack(&self.renderer.attachments, &scope, &turn, export).await?;
            self.write_history(&session, &scope, &unpacked.document.value, unpacked.files).await?;
            unpacked.staged.into_iter().for_each(StagedFile::keep);
            store.session(created.session_id).await?.ok_or(ImportError::Missing)
        };
        match imported.await {
            Ok(session) => Ok(session),
            Err(error) => {
                store.delete_session(created.session_id).await?;
                if let Err(error) = self.renderer.sweep().await {
                    error!(%error, op = "sweep", session_id = %created.session_id,
                        "deleted blobs not removed yet; retrying with the next upkeep");
                }
                Err(error)
            }
        }
    }

    /// Replaces the history of a session by this JSON, in one transaction. Fails with `Stale` if the session is no longer
    /// at the revision of `session`.
    pub async fn replace_history(
        &self,
        session: &Session,
        scope: &Scope,
        json: ReceivedBytes,
    ) -> Result<(), ImportError> {
        let turn = ImportTurn::wait(&self.viewer.user).await?;
        let document = archive::read_json(&turn, json).await?;
        self.write_history(session, scope, &document.value, Vec::new()).await
    }

    /// Writes the history and adds the rows of the files that came with it.
    async fn write_history(
        &self,
        session: &Session,
        scope: &Scope,
        document: &Value,
        new_files: Vec<Attachment>,
    ) -> Result<(), ImportError> {
        let replacement = self.prepare(session, scope, document, new_files).await?;
        match self.renderer.store.replace_history(&replacement).await? {
            ChangeOutcome::Changed => Ok(()),
            ChangeOutcome::Missing => Err(ImportError::Missing),
            ChangeOutcome::Stale => Err(ImportError::Stale),
            ChangeOutcome::Busy => Err(ImportError::Busy),
        }
    }

    /// Checks the document and builds its rows. Copies files of other conversations into this one on the way.
    async fn prepare(
        &self,
        session: &Session,
        scope: &Scope,
        document: &Value,
        mut new_files: Vec<Attachment>,
    ) -> Result<Replacement, ImportError> {
        let store = &self.renderer.store;
        let document = document::parse(document).map_err(|error| ImportError::Invalid(vec![error.into()]))?;
        let mut errors = EntryErrors::default();
        let entries = entries::parse_all(document.entries, self.exclusive_tags, &mut errors);
        errors.into_result()?;

        let stored = store.messages_of_session(session.session_id, None, None, Detail::WithTools).await?;
        let mut errors = EntryErrors::default();
        let plan = HistoryPlan::build(entries, &stored, &mut errors);
        let turns = self.new_turn_ids(session, &plan, &mut errors).await?;
        let uses = FileUses::of(&plan);
        let foreign = uses.find_foreign(store, self.viewer, scope, &new_files, &mut errors).await?;
        errors.into_result()?;

        let adopted = foreign.adopt(self.renderer, scope).await?;
        let ids = NewIds { files: adopted.new_ids, turns };
        let mut rows = rows::build(&plan, &ids, session, self.viewer);
        if !self.viewer.may_change_all(&session.conversation) {
            keep_messages_of_others(self.viewer, &stored, &mut rows)?;
        }
        new_files.extend(adopted.files);
        Ok(Replacement {
            session: session.session_id,
            revision: session.revision,
            title: document.title,
            files: new_files,
            rows,
        })
    }

    /// New ids for turns that belong to another session: a turn belongs to exactly one. A reference to a turn that is
    /// not in this history is an error.
    async fn new_turn_ids(
        &self,
        session: &Session,
        plan: &HistoryPlan<'_>,
        errors: &mut EntryErrors,
    ) -> Result<HashMap<TurnId, TurnId>, ImportError> {
        let turns: HashSet<TurnId> = plan.rows.iter().filter_map(|row| row.turn).collect();
        for row in &plan.rows {
            let entry = row.first();
            for (position, reference) in entry.refs.iter().flatten().enumerate() {
                if let ReferenceTarget::Turn(turn) = reference.target()
                    && !turns.contains(&turn)
                {
                    let detail = "there is no such turn in this history";
                    errors.add(entry.index, format!("refs[{position}].url"), detail);
                }
            }
        }
        let turns: Vec<TurnId> = turns.into_iter().collect();
        let elsewhere = self.renderer.store.turns_of_other_sessions(session.session_id, &turns).await?;
        Ok(elsewhere.into_iter().map(|turn| (turn, TurnId::new())).collect())
    }
}

/// Checks that every stored message stays, that none is added, and that only messages of the viewer get other content.
/// Usage is not compared, because it does not survive the way through JSON exactly; that of others stays as it is stored.
fn keep_messages_of_others(
    viewer: &Viewer,
    stored: &[Message],
    rows: &mut [ReplacementRow],
) -> Result<(), ImportError> {
    if stored.len() != rows.len() {
        return Err(ImportError::NotTheirs);
    }
    for (message, row) in stored.iter().zip(rows) {
        match &row.content {
            RowContent::Kept(id) if *id == message.internal_id => {}
            RowContent::Rewritten(id, _) if *id == message.internal_id && viewer.may_rewrite(message) => {}
            RowContent::Rewritten(id, new) if *id == message.internal_id && same_content(message, new) => {
                row.content = RowContent::Kept(*id);
            }
            _ => return Err(ImportError::NotTheirs),
        }
    }
    Ok(())
}

fn same_content(message: &Message, new: &NewMessage) -> bool {
    NewMessage { reasoning_info: message.reasoning_info.clone(), ..new.clone() } == message.body
}
