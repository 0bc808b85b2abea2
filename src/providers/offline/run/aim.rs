//! What a step is done to, given what this turn has done so far, and the calls that come of it.

use super::super::files;
use super::super::same::same;
use super::super::say;
use super::super::steps::{Step, Work};
use super::super::targets::{Chosen, NoTarget, Pick, Wants, choose};
use super::super::together::{Needs, several};
use super::{Run, markers};
use crate::domain::AttachmentId;
use crate::providers::PromptMessage;
use serde_json::{Map, Value, json};

/// One tool call about to be made, without its id.
pub struct Planned {
    pub tool: &'static str,
    pub inputs: Vec<AttachmentId>,
    pub arguments: Value,
}

/// What a step is done to.
pub struct Targets {
    ids: Vec<AttachmentId>,
    /// The picture whose edits are repeated.
    from: Option<AttachmentId>,
}

impl From<Vec<AttachmentId>> for Targets {
    fn from(ids: Vec<AttachmentId>) -> Self {
        Self { ids, from: None }
    }
}

impl Run<'_> {
    pub fn targets(&mut self, step: &Step) -> Result<Targets, NoTarget> {
        let focus = &self.prompt.focus;
        let wants = match step.work {
            Work::List => return Ok(Vec::new().into()),
            Work::Combine(needs) => return self.together(step, needs).map(Targets::from),
            Work::Repeat => {
                let last = self.last.as_ref().and_then(|last| last.first());
                let made = last.map(|last| (self.before(*last), *last));
                let same = same(focus, step.pick.as_ref(), made)?;
                let ids =
                    same.images.into_iter().filter(|id| !self.current.contains_key(id)).collect::<Vec<_>>();
                return if ids.is_empty() {
                    Err(NoTarget::NoOthers)
                } else {
                    Ok(Targets { ids, from: Some(same.from) })
                };
            }
            Work::Edit => Wants::Pictures,
            Work::Send | Work::Info(_) if step.photos && step.pick.is_some() => Wants::Pictures,
            Work::Info(Some(_)) => Wants::Pictures,
            Work::Read => Wants::Text,
            Work::Send | Work::Info(None) => Wants::Anything,
        };
        if let Some(last) = &self.last {
            let same = match step.pick {
                None => true,
                Some(Pick::Them) => last.len() > 1,
                _ => false,
            };
            if same {
                return Ok(last.clone().into());
            }
        }
        let pointed = step.pick.is_some() || !focus.sent.is_empty() || !focus.replied.is_empty();
        if step.work == Work::Edit && !pointed {
            let shown = self.shown_again();
            if !shown.is_empty() {
                return Ok(shown.into());
            }
        }
        let Chosen { ids, skipped } = choose(focus, step.pick.as_ref(), wants)?;
        let remark = say::skipped(skipped);
        if skipped > 0 && step.work == Work::Edit && !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
        Ok(ids.iter().map(|id| self.now(*id)).collect::<Vec<_>>().into())
    }

    /// The pictures to make one of: what this turn has made so far, if that is enough.
    fn together(&self, step: &Step, needs: Needs) -> Result<Vec<AttachmentId>, NoTarget> {
        let whole = matches!(step.pick, None | Some(Pick::All | Pick::Them));
        let last = self.last.as_ref().filter(|_| whole);
        match (last.map(Vec::as_slice), needs) {
            (Some(made), Needs::TwoOrMore) if made.len() > 1 => return Ok(made.to_vec()),
            (Some(made), Needs::Two) if made.len() == 2 => return Ok(made.to_vec()),
            (Some([made]), Needs::Two) if self.before(*made) != *made => {
                return Ok(vec![self.before(*made), *made]);
            }
            _ => {}
        }
        let pictures = several(&self.prompt.focus, step.pick.as_ref(), needs)?;
        Ok(pictures.into_iter().map(|id| self.now(id)).collect())
    }

    /// What an undo or redo showed last, if nothing was sent since: then that is what is meant, and not the newest
    /// file, which is what the undo went back from.
    fn shown_again(&self) -> Vec<AttachmentId> {
        let walks = |name: &str| matches!(name, "undo_edit" | "redo_edit" | "revert_to_original");
        let shown = self.earlier.iter().rev().find_map(|message| match message {
            PromptMessage::Tool { name, text, .. } if walks(name) => Some(markers(text)),
            PromptMessage::Tool { text, .. } | PromptMessage::User { text, .. } => {
                (!markers(text).is_empty()).then(Vec::new)
            }
            PromptMessage::Assistant { .. } => None,
        });
        shown.unwrap_or_default()
    }

    pub fn planned(&self, step: &Step, targets: Targets) -> Vec<Planned> {
        let Targets { ids, from } = targets;
        let with = |key: &str, value: Value| {
            let mut arguments: Map<String, Value> = step.arguments.clone();
            arguments.insert(key.to_owned(), value);
            if let Some(from) = from {
                arguments.insert("from".to_owned(), json!(from));
            }
            if step.tool == "convert_image" && !arguments.contains_key("format") {
                let files = ids.iter().filter_map(|id| self.file(self.before(*id)));
                let types: Vec<&str> = files.map(|file| file.mime_type.as_str()).collect();
                arguments.insert("format".to_owned(), json!(files::fitting(&types, &step.arguments)));
            }
            Value::Object(arguments)
        };
        let one = |key: &str| {
            let arguments = with(key, json!(ids));
            vec![Planned { tool: step.tool, inputs: ids.clone(), arguments }]
        };
        let each = |id: &AttachmentId| {
            let facts = matches!(step.work, Work::Info(_)) && !self.is_other_file(id);
            let (tool, arguments) = if facts && (self.has_tool("image_info") || self.prompt.tools.is_empty())
            {
                ("image_info", with("images", json!([id])))
            } else {
                (step.tool, with("attachment_id", json!(id)))
            };
            Planned { tool, inputs: vec![*id], arguments }
        };
        match step.work {
            Work::Edit | Work::Repeat | Work::Combine(_) => one("images"),
            Work::Send => one("attachment_ids"),
            Work::List => {
                let arguments = Value::Object(step.arguments.clone());
                vec![Planned { tool: step.tool, inputs: Vec::new(), arguments }]
            }
            Work::Info(_) | Work::Read => ids.iter().map(each).collect(),
        }
    }
}
