//! Entries → planned rows: which calls form one row, which result belongs to which call, which stored rows stay, and
//! which thread each row is in. Ids of turns and files are still those of the document.

use super::{
    entries::{ImportedEntry, ImportedReply},
    error::EntryErrors,
};
use crate::{
    domain::{Message, MessageId, Role, TurnId},
    transfer::json::EntryRole,
};
use std::collections::HashMap;

/// One row to be.
pub struct PlannedRow<'a> {
    /// One entry, or several tool calls of one model response. Never empty.
    pub entries: Vec<ImportedEntry>,
    /// The stored row that it keeps.
    pub stored: Option<&'a Message>,
    pub turn: Option<TurnId>,
    /// The planned row that it replies to.
    pub reply_to: Option<usize>,
    /// The planned row that starts the thread, perhaps itself.
    pub root: usize,
    /// For a tool result, the name of the tool.
    pub tool: Option<String>,
}

impl PlannedRow<'_> {
    pub fn first(&self) -> &ImportedEntry {
        // Rows are built with their first entry and never lose one.
        &self.entries[0]
    }

    fn has_kind_of(&self, message: &Message) -> bool {
        match self.first().role {
            EntryRole::User => message.role == Role::User,
            EntryRole::Assistant => message.role == Role::Assistant && message.tool_calls.is_empty(),
            EntryRole::ToolCall => message.role == Role::Assistant && !message.tool_calls.is_empty(),
            EntryRole::Tool => message.role == Role::Tool,
        }
    }
}

pub struct HistoryPlan<'a> {
    pub rows: Vec<PlannedRow<'a>>,
}

impl<'a> HistoryPlan<'a> {
    pub fn build(entries: Vec<ImportedEntry>, stored: &'a [Message], errors: &mut EntryErrors) -> Self {
        let mut plan = Self { rows: group_calls(entries, errors) };
        let by_internal_id = plan.index_by_internal_id(errors);
        plan.match_stored(stored);
        plan.assign_turns();
        plan.pair_results(errors);
        plan.resolve_replies(&by_internal_id, errors);
        plan.assign_threads();
        plan
    }

    /// Maps each `internalId` to its planned row.
    fn index_by_internal_id(&self, errors: &mut EntryErrors) -> HashMap<i64, usize> {
        let mut by_internal_id = HashMap::new();
        for (index, planned) in self.rows.iter().enumerate() {
            let Some(id) = planned.first().internal_id else { continue };
            if let Some(before) = by_internal_id.insert(id, index) {
                let why = format!("is that of entry {}, too", self.rows[before].first().index);
                errors.add(planned.first().index, "internalId", why);
            }
        }
        by_internal_id
    }

    /// Keeps stored rows that come first and in order. From the first entry that does not match, all rows are new, so
    /// that rows are in the order of entries.
    fn match_stored(&mut self, stored: &'a [Message]) {
        let mut rest = stored.iter();
        for planned in &mut self.rows {
            let Some(id) = planned.first().internal_id.map(MessageId) else { return };
            let Some(row) = rest.find(|row| row.internal_id == id).filter(|row| planned.has_kind_of(row))
            else {
                return;
            };
            planned.stored = Some(row);
        }
    }

    /// Entries of the agent between two user messages share a turn unless they name their own.
    fn assign_turns(&mut self) {
        let mut current = None;
        for planned in &mut self.rows {
            if planned.first().role == EntryRole::User {
                current = None;
                continue;
            }
            let stated = planned.first().turn_id.or_else(|| planned.stored.and_then(|row| row.turn_id));
            let turn = stated.or(current).unwrap_or_else(TurnId::new);
            (planned.turn, current) = (Some(turn), Some(turn));
        }
    }

    /// Each result must follow its call in the same turn, at most once per call.
    fn pair_results(&mut self, errors: &mut EntryErrors) {
        let mut calls: HashMap<(Option<TurnId>, String), (String, bool)> = HashMap::new();
        for planned in &mut self.rows {
            let turn = planned.turn;
            for entry in &planned.entries {
                let key = (turn, entry.tool_call_id.clone().unwrap_or_default());
                match (&entry.call, entry.role) {
                    (Some(call), _) => {
                        let before = calls.insert(key, (call.name.clone(), false));
                        if before.is_some() {
                            errors.add(
                                entry.index,
                                "tool_call_id",
                                "is that of another call of this turn, too",
                            );
                        }
                    }
                    (None, EntryRole::Tool) => match calls.get_mut(&key) {
                        None => errors.add(
                            entry.index,
                            "tool_call_id",
                            "no call before it in its turn has this id",
                        ),
                        Some((_, true)) => {
                            errors.add(
                                entry.index,
                                "tool_call_id",
                                "the call with this id has a result already",
                            );
                        }
                        Some((name, answered)) => {
                            *answered = true;
                            if entry.tool_name.as_ref().is_some_and(|given| given != name) {
                                errors.add(
                                    entry.index,
                                    "tool_name",
                                    format!("is not that of its call, {name:?}"),
                                );
                            }
                            planned.tool = Some(name.clone());
                        }
                    },
                    _ => {}
                }
            }
        }
    }

    fn resolve_replies(&mut self, by_internal_id: &HashMap<i64, usize>, errors: &mut EntryErrors) {
        for index in 0..self.rows.len() {
            let planned = &self.rows[index];
            let target = match (&planned.first().reply, planned.stored.and_then(|row| row.reply.as_ref())) {
                (Some(Some(ImportedReply { internal_id: Some(id), .. })), _) => {
                    let found = by_internal_id.get(id).copied().filter(|target| *target < index);
                    if found.is_none() {
                        let why = "must be the internalId of an earlier entry";
                        errors.add(planned.first().index, "replyTo.internalId", why);
                    }
                    found
                }
                // Left out: keep the stored target if it is still in the history.
                (None, Some(reply)) => reply.message.and_then(|id| by_internal_id.get(&id.0)).copied(),
                _ => None,
            };
            self.rows[index].reply_to = target.filter(|target| *target < index);
        }
    }

    /// Stored rows keep their thread. A new row joins the thread of the message it replies to, of the user message
    /// right before it, or of the question it answers.
    fn assign_threads(&mut self) {
        let mut roots: HashMap<MessageId, usize> = HashMap::new();
        let mut turns: HashMap<TurnId, usize> = HashMap::new();
        let mut asked = None;
        for index in 0..self.rows.len() {
            let planned = &self.rows[index];
            let is_user = planned.first().role == EntryRole::User;
            let before = index.checked_sub(1).map(|before| &self.rows[before]);
            let root = match (planned.stored, planned.reply_to) {
                (Some(row), _) => *roots.entry(row.root()).or_insert(index),
                (None, Some(target)) => self.rows[target].root,
                (None, None) if is_user => match before {
                    Some(before) if before.first().role == EntryRole::User => before.root,
                    _ => index,
                },
                (None, None) => {
                    let known = planned.turn.and_then(|turn| turns.get(&turn)).copied();
                    known.or(asked).or(before.map(|before| before.root)).unwrap_or(index)
                }
            };
            if is_user {
                asked = Some(root);
            }
            if let Some(turn) = planned.turn {
                turns.entry(turn).or_insert(root);
            }
            self.rows[index].root = root;
        }
    }
}

/// Groups consecutive calls with the same `internalId` into one row. Without ids, consecutive calls are grouped if their
/// shared fields agree.
fn group_calls<'a>(entries: Vec<ImportedEntry>, errors: &mut EntryErrors) -> Vec<PlannedRow<'a>> {
    let mut rows: Vec<PlannedRow<'a>> = Vec::new();
    for entry in entries {
        if let Some(planned) = rows.last_mut()
            && entry.role == EntryRole::ToolCall
            && planned.first().role == EntryRole::ToolCall
        {
            let differs = difference(planned.first(), &entry);
            let same = match (planned.first().internal_id, entry.internal_id) {
                (Some(one), Some(other)) => one == other,
                (None, None) => differs.is_none(),
                _ => false,
            };
            if same {
                if let Some(field) = differs {
                    let first = planned.first().index;
                    let why =
                        format!("must be left out, or as in entry {first}, the first call of this step");
                    errors.add(entry.index, field, why);
                }
                planned.entries.push(entry);
                continue;
            }
        }
        rows.push(PlannedRow {
            entries: vec![entry],
            stored: None,
            turn: None,
            reply_to: None,
            root: 0,
            tool: None,
        });
    }
    rows
}

/// The first field in which a later call of a row contradicts the first call.
fn difference(first: &ImportedEntry, later: &ImportedEntry) -> Option<&'static str> {
    fn differs<T: PartialEq>(first: &Option<T>, later: &Option<T>) -> bool {
        later.is_some() && first != later
    }
    let fields = [
        ("turnId", differs(&first.turn_id, &later.turn_id)),
        ("timestamp", differs(&first.timestamp, &later.timestamp)),
        ("agent_id", differs(&first.agent_id, &later.agent_id)),
        ("attachments", differs(&first.attachments, &later.attachments)),
        ("refs", differs(&first.refs, &later.refs)),
        ("tags", differs(&first.tags, &later.tags)),
        ("replyTo", differs(&first.reply, &later.reply)),
        ("albumId", differs(&first.album_id, &later.album_id)),
        ("failed", differs(&first.failed, &later.failed)),
        ("durationMs", differs(&first.duration_ms, &later.duration_ms)),
        ("usage", matches!(later.usage, Some(Some(_)))),
        ("content.said", later.call.as_ref().is_some_and(|call| call.said)),
    ];
    fields.into_iter().find(|(_, differs)| *differs).map(|(field, _)| field)
}
