//! The state of one turn, rebuilt from the prompt on every request.

use super::looks::FoundThing;
use crate::domain::{Attachment, AttachmentId};
use crate::providers::{Prompt, PromptMessage};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Tells the calls of the offline agent from those of a model.
const CALL_ID_PREFIX: &str = "offline-";

pub struct TurnState<'a> {
    pub prompt: &'a Prompt,
    /// The messages before this turn.
    pub earlier: &'a [PromptMessage],
    /// Tool results of this turn by call id.
    pub results: HashMap<&'a str, &'a str>,
    /// Ids of the calls of this turn, with or without a result.
    pub issued: HashSet<&'a str>,
    /// The present version of each file this turn has edited.
    pub current: HashMap<AttachmentId, AttachmentId>,
    /// What the last edit made.
    pub last_outputs: Option<Vec<AttachmentId>>,
    /// Pictures this turn has made and not edited further.
    pub results_to_send: BTreeSet<AttachmentId>,
    /// What was done, and to how many pictures.
    pub did: Vec<(String, usize)>,
    /// Paragraphs of the reply: facts, lists, text of files.
    pub sections: Vec<String>,
    /// Sentences at the end of the reply: errors, questions.
    pub remarks: Vec<String>,
    pub asked_about_picture: bool,
    /// What the last look found in each picture.
    pub found: HashMap<AttachmentId, Vec<FoundThing>>,
    /// How many of them the edit takes.
    pub taken: HashMap<AttachmentId, usize>,
}

impl<'a> TurnState<'a> {
    pub fn new(prompt: &'a Prompt) -> Self {
        let is_user = |message: &PromptMessage| matches!(message, PromptMessage::User { .. });
        let start = prompt.messages.iter().rposition(is_user).map_or(0, |at| at + 1);
        let earlier = &prompt.messages[..start.saturating_sub(1)];
        let (mut results, mut issued) = (HashMap::new(), HashSet::new());
        for message in &prompt.messages[start..] {
            match message {
                PromptMessage::Tool { call_id, text, .. } => {
                    results.insert(call_id.as_str(), text.as_str());
                }
                PromptMessage::Assistant { tool_calls, .. } => {
                    issued.extend(tool_calls.iter().map(|call| call.id.as_str()));
                }
                PromptMessage::User { .. } => {}
            }
        }
        Self {
            prompt,
            earlier,
            results,
            issued,
            current: HashMap::new(),
            last_outputs: None,
            results_to_send: BTreeSet::new(),
            did: Vec::new(),
            sections: Vec::new(),
            remarks: Vec::new(),
            asked_about_picture: false,
            found: HashMap::new(),
            taken: HashMap::new(),
        }
    }

    /// Whether a model made calls in this turn and failed before it was done. Running our plan as well would do
    /// everything twice.
    pub fn was_started_by_model(&self) -> bool {
        self.issued.iter().any(|id| !id.starts_with(CALL_ID_PREFIX))
    }

    pub fn has_tool(&self, name: &str) -> bool {
        self.prompt.tools.iter().any(|tool| tool.name == name)
    }

    /// The version of a file after the edits of this turn.
    pub fn current_version(&self, id: AttachmentId) -> AttachmentId {
        self.current.get(&id).copied().unwrap_or(id)
    }

    /// The version of a file before this turn.
    pub fn version_at_start(&self, id: AttachmentId) -> AttachmentId {
        self.current.iter().find(|(_, current)| **current == id).map_or(id, |(first, _)| *first)
    }

    pub fn file(&self, id: AttachmentId) -> Option<&Attachment> {
        let focus = &self.prompt.focus;
        let mut files = [&focus.sent, &focus.replied, &focus.album, &focus.recent].into_iter().flatten();
        files.find(|file| file.attachment_id == id)
    }

    pub fn is_other_file(&self, id: &AttachmentId) -> bool {
        self.file(*id).is_some_and(|file| !file.is_image())
    }
}

/// The id counts steps and not calls, so that a skipped step cannot claim the results of the next one.
pub fn call_id(step: usize, nth: usize) -> String {
    match nth {
        0 => format!("{CALL_ID_PREFIX}{step}"),
        _ => format!("{CALL_ID_PREFIX}{step}-{}", nth + 1),
    }
}

/// The attachment ids in the marker lines of a text.
pub fn marked_ids(text: &str) -> Vec<AttachmentId> {
    let marked = |line: &str| line.trim().strip_prefix("[Attachment ID: ")?.strip_suffix(']')?.parse().ok();
    text.lines().filter_map(marked).collect()
}
