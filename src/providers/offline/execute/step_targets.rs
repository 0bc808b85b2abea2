//! The files a step works on, given what the turn has done so far.

use super::turn_state::{TurnState, marked_ids};
use crate::domain::AttachmentId;
use crate::providers::PromptMessage;
use crate::providers::offline::plan::planner::{PlannedStep, StepKind};
use crate::providers::offline::reply::messages;
use crate::providers::offline::targets::combine::{RequiredPictures, find_combine_targets};
use crate::providers::offline::targets::repeat::find_repeat_targets;
use crate::providers::offline::targets::selection::{
    ChosenTargets, Selection, TargetError, TargetKind, choose,
};

pub struct StepTargets {
    pub ids: Vec<AttachmentId>,
    /// The picture whose edits are repeated.
    pub repeat_from: Option<AttachmentId>,
}

impl From<Vec<AttachmentId>> for StepTargets {
    fn from(ids: Vec<AttachmentId>) -> Self {
        Self { ids, repeat_from: None }
    }
}

impl TurnState<'_> {
    pub fn find_targets(&mut self, step: &PlannedStep) -> Result<StepTargets, TargetError> {
        let focus = &self.prompt.focus;
        let wanted = match step.kind {
            StepKind::List => return Ok(Vec::new().into()),
            StepKind::Combine(required) => {
                return self.combine_targets(step, required).map(StepTargets::from);
            }
            StepKind::Repeat => return self.repeat_targets(step),
            StepKind::Edit | StepKind::Look => TargetKind::Pictures,
            StepKind::Send | StepKind::Info(_) if step.counts_photos && step.selection.is_some() => {
                TargetKind::Pictures
            }
            StepKind::Info(Some(_)) => TargetKind::Pictures,
            StepKind::Read if step.reads_pictures() && self.has_tool("read_image_text") => {
                TargetKind::Anything
            }
            StepKind::Read => TargetKind::Text,
            StepKind::Send | StepKind::Info(None) | StepKind::Tell(_) => TargetKind::Anything,
        };
        if let Some(last) = &self.last_outputs {
            let means_last = match step.selection {
                None => true,
                Some(Selection::Them) => last.len() > 1,
                _ => false,
            };
            if means_last {
                return Ok(last.clone().into());
            }
        }
        let points_at_files = step.selection.is_some() || !focus.sent.is_empty() || !focus.replied.is_empty();
        let edits = matches!(step.kind, StepKind::Edit | StepKind::Look);
        if edits && !points_at_files {
            let shown = self.shown_by_undo();
            if !shown.is_empty() {
                return Ok(shown.into());
            }
        }
        let ChosenTargets { ids, skipped } = choose(focus, step.selection.as_ref(), wanted)?;
        let remark = messages::skipped_files(skipped);
        if skipped > 0 && edits && !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
        Ok(ids.iter().map(|id| self.current_version(*id)).collect::<Vec<_>>().into())
    }

    fn repeat_targets(&self, step: &PlannedStep) -> Result<StepTargets, TargetError> {
        let last = self.last_outputs.as_ref().and_then(|last| last.first());
        let made = last.map(|last| (self.version_at_start(*last), *last));
        let repeat = find_repeat_targets(&self.prompt.focus, step.selection.as_ref(), made)?;
        let not_edited = |id: &AttachmentId| !self.current.contains_key(id);
        let ids: Vec<AttachmentId> = repeat.images.into_iter().filter(not_edited).collect();
        if ids.is_empty() {
            return Err(TargetError::NoOthers);
        }
        Ok(StepTargets { ids, repeat_from: Some(repeat.edited) })
    }

    /// The outputs of the step before, if they are enough, else the pictures of the message.
    fn combine_targets(
        &self,
        step: &PlannedStep,
        required: RequiredPictures,
    ) -> Result<Vec<AttachmentId>, TargetError> {
        let whole = matches!(step.selection, None | Some(Selection::All | Selection::Them));
        let last = self.last_outputs.as_ref().filter(|_| whole);
        match (last.map(Vec::as_slice), required) {
            (Some(made), RequiredPictures::TwoOrMore) if made.len() > 1 => return Ok(made.to_vec()),
            (Some(made), RequiredPictures::ExactlyTwo) if made.len() == 2 => return Ok(made.to_vec()),
            (Some([made]), RequiredPictures::ExactlyTwo) if self.version_at_start(*made) != *made => {
                return Ok(vec![self.version_at_start(*made), *made]);
            }
            _ => {}
        }
        let pictures = find_combine_targets(&self.prompt.focus, step.selection.as_ref(), required)?;
        Ok(pictures.into_iter().map(|id| self.current_version(id)).collect())
    }

    /// The pictures an undo or redo returned, if no file came after it. The newest file is the one it undid, so
    /// "newest" would mean the wrong picture.
    fn shown_by_undo(&self) -> Vec<AttachmentId> {
        let is_undo = |name: &str| matches!(name, "undo_edit" | "redo_edit" | "revert_to_original");
        let shown = self.earlier.iter().rev().find_map(|message| match message {
            PromptMessage::Tool { name, text, .. } if is_undo(name) => Some(marked_ids(text)),
            PromptMessage::Tool { text, .. } | PromptMessage::User { text, .. } => {
                (!marked_ids(text).is_empty()).then(Vec::new)
            }
            PromptMessage::Assistant { .. } => None,
        });
        shown.unwrap_or_default()
    }
}
