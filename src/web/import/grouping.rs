//! Entries to steps: which calls were made together, which result belongs to which call, which rows stay, and who is in
//! whose thread. Ids of turns and files are still those that were given.

use super::{
    Wrongs,
    reading::{Given, Reply},
};
use crate::{
    domain::{Message, MessageId, Role, TurnId},
    web::api::shapes::EntryRole,
};
use std::collections::HashMap;

/// What becomes one row.
pub struct Step<'a> {
    /// One entry; or several calls that were made together.
    pub entries: Vec<Given>,
    /// The row it goes on being.
    pub kept: Option<&'a Message>,
    pub turn: Option<TurnId>,
    /// Which step replies to which.
    pub reply_to: Option<usize>,
    /// The step that begins the thread, perhaps itself.
    pub root: usize,
    /// The name of the tool whose result this is.
    pub tool: Option<String>,
}

impl Step<'_> {
    pub fn first(&self) -> &Given {
        // A step is begun with its first entry and never loses one.
        &self.entries[0]
    }

    fn is_of(&self, message: &Message) -> bool {
        match self.first().role {
            EntryRole::User => message.role == Role::User,
            EntryRole::Assistant => message.role == Role::Assistant && message.tool_calls.is_empty(),
            EntryRole::ToolCall => message.role == Role::Assistant && !message.tool_calls.is_empty(),
            EntryRole::Tool => message.role == Role::Tool,
        }
    }
}

pub struct Plan<'a> {
    pub steps: Vec<Step<'a>>,
}

impl<'a> Plan<'a> {
    pub fn of(given: Vec<Given>, stored: &'a [Message], wrong: &mut Wrongs) -> Self {
        let mut plan = Self { steps: together(given, wrong) };
        let named = plan.named(wrong);
        plan.keep(stored);
        plan.name_turns();
        plan.pair(wrong);
        plan.reply(&named, wrong);
        plan.thread();
        plan
    }

    /// Which step each `internalId` means.
    fn named(&self, wrong: &mut Wrongs) -> HashMap<i64, usize> {
        let mut named = HashMap::new();
        for (index, step) in self.steps.iter().enumerate() {
            let Some(id) = step.first().internal_id else { continue };
            if let Some(before) = named.insert(id, index) {
                let why = format!("is that of entry {}, too", self.steps[before].first().at);
                wrong.add(step.first().at, "internalId", why);
            }
        }
        named
    }

    /// Rows of this session that come first and in their order stay; from the first entry on that does not fit, all
    /// are new, so that the order of rows is the order of entries.
    fn keep(&mut self, stored: &'a [Message]) {
        let mut rest = stored.iter();
        for step in &mut self.steps {
            let Some(id) = step.first().internal_id.map(MessageId) else { return };
            let Some(row) = rest.find(|row| row.internal_id == id).filter(|row| step.is_of(row)) else {
                return;
            };
            step.kept = Some(row);
        }
    }

    /// What the agent did for one request has one turn, whether or not its entries say so.
    fn name_turns(&mut self) {
        let mut current = None;
        for step in &mut self.steps {
            if step.first().role == EntryRole::User {
                current = None;
                continue;
            }
            let stated = step.first().turn_id.or_else(|| step.kept.and_then(|row| row.turn_id));
            let turn = stated.or(current).unwrap_or_else(TurnId::new);
            (step.turn, current) = (Some(turn), Some(turn));
        }
    }

    /// Every result has its call, once, in the same turn and before it.
    fn pair(&mut self, wrong: &mut Wrongs) {
        let mut calls: HashMap<(Option<TurnId>, String), (String, bool)> = HashMap::new();
        for step in &mut self.steps {
            let turn = step.turn;
            for entry in &step.entries {
                let key = (turn, entry.tool_call_id.clone().unwrap_or_default());
                match (&entry.call, entry.role) {
                    (Some(call), _) => {
                        let before = calls.insert(key, (call.name.clone(), false));
                        if before.is_some() {
                            wrong.add(entry.at, "tool_call_id", "is that of another call of this turn, too");
                        }
                    }
                    (None, EntryRole::Tool) => match calls.get_mut(&key) {
                        None => {
                            wrong.add(entry.at, "tool_call_id", "no call before it in its turn has this id")
                        }
                        Some((_, true)) => {
                            wrong.add(entry.at, "tool_call_id", "the call with this id has a result already");
                        }
                        Some((name, answered)) => {
                            *answered = true;
                            if entry.tool_name.as_ref().is_some_and(|given| given != name) {
                                wrong.add(
                                    entry.at,
                                    "tool_name",
                                    format!("is not that of its call, {name:?}"),
                                );
                            }
                            step.tool = Some(name.clone());
                        }
                    },
                    _ => {}
                }
            }
        }
    }

    fn reply(&mut self, named: &HashMap<i64, usize>, wrong: &mut Wrongs) {
        for index in 0..self.steps.len() {
            let step = &self.steps[index];
            let target = match (&step.first().reply, step.kept.and_then(|row| row.reply.as_ref())) {
                (Some(Some(Reply { internal_id: Some(id), .. })), _) => {
                    let found = named.get(id).copied().filter(|target| *target < index);
                    if found.is_none() {
                        let why = "must be the internalId of an earlier entry";
                        wrong.add(step.first().at, "replyTo.internalId", why);
                    }
                    found
                }
                // Left out: it goes on pointing where it did, if that is still there.
                (None, Some(reply)) => reply.message.and_then(|id| named.get(&id.0)).copied(),
                _ => None,
            };
            self.steps[index].reply_to = target.filter(|target| *target < index);
        }
    }

    /// Rows that stay are in the thread they were in. A new one joins what it replies to, a burst of messages, or the
    /// question it answers.
    fn thread(&mut self) {
        let mut roots: HashMap<MessageId, usize> = HashMap::new();
        let mut turns: HashMap<TurnId, usize> = HashMap::new();
        let mut asked = None;
        for index in 0..self.steps.len() {
            let step = &self.steps[index];
            let is_user = step.first().role == EntryRole::User;
            let before = index.checked_sub(1).map(|before| &self.steps[before]);
            let root = match (step.kept, step.reply_to) {
                (Some(row), _) => *roots.entry(row.root()).or_insert(index),
                (None, Some(target)) => self.steps[target].root,
                (None, None) if is_user => match before {
                    Some(before) if before.first().role == EntryRole::User => before.root,
                    _ => index,
                },
                (None, None) => {
                    let known = step.turn.and_then(|turn| turns.get(&turn)).copied();
                    known.or(asked).or(before.map(|before| before.root)).unwrap_or(index)
                }
            };
            if is_user {
                asked = Some(root);
            }
            if let Some(turn) = step.turn {
                turns.entry(turn).or_insert(root);
            }
            self.steps[index].root = root;
        }
    }
}

/// Calls of one `internalId` are one step. Without ids, those are that stand together and say nothing different.
fn together<'a>(given: Vec<Given>, wrong: &mut Wrongs) -> Vec<Step<'a>> {
    let mut steps: Vec<Step<'a>> = Vec::new();
    for entry in given {
        if let Some(step) = steps.last_mut()
            && entry.role == EntryRole::ToolCall
            && step.first().role == EntryRole::ToolCall
        {
            let differs = difference(step.first(), &entry);
            let same = match (step.first().internal_id, entry.internal_id) {
                (Some(one), Some(other)) => one == other,
                (None, None) => differs.is_none(),
                _ => false,
            };
            if same {
                if let Some(field) = differs {
                    let first = step.first().at;
                    let why =
                        format!("must be left out, or as in entry {first}, the first call of this step");
                    wrong.add(entry.at, field, why);
                }
                step.entries.push(entry);
                continue;
            }
        }
        steps.push(Step {
            entries: vec![entry],
            kept: None,
            turn: None,
            reply_to: None,
            root: 0,
            tool: None,
        });
    }
    steps
}

/// What a later call of a step says that is not what the first says of all of them.
fn difference(first: &Given, later: &Given) -> Option<&'static str> {
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
