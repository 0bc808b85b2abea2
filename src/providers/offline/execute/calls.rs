//! The tool calls of a step.

use super::step_targets::StepTargets;
use super::turn_state::TurnState;
use crate::domain::{Attachment, AttachmentId};
use crate::providers::offline::plan::files::default_format;
use crate::providers::offline::plan::planner::{PlannedStep, StepKind};
use serde_json::{Map, Value, json};

/// A tool call without its id.
pub struct PlannedCall {
    pub tool: &'static str,
    pub inputs: Vec<AttachmentId>,
    pub arguments: Value,
}

impl TurnState<'_> {
    pub fn plan_calls(&mut self, step: &PlannedStep, targets: StepTargets) -> Vec<PlannedCall> {
        let StepTargets { ids, repeat_from } = targets;
        let with = |key: &str, value: Value| {
            let mut arguments: Map<String, Value> = step.arguments.clone();
            arguments.insert(key.to_owned(), value);
            if let Some(from) = repeat_from {
                arguments.insert("from".to_owned(), json!(from));
            }
            if step.tool == "convert_image" && !arguments.contains_key("format") {
                let files = ids.iter().filter_map(|id| self.file(self.version_at_start(*id)));
                let types: Vec<&str> = files.map(|file| file.mime_type.as_str()).collect();
                arguments.insert("format".to_owned(), json!(default_format(&types, &step.arguments)));
            }
            Value::Object(arguments)
        };
        let one_call = |key: &str| {
            let arguments = with(key, json!(ids));
            vec![PlannedCall { tool: step.tool, inputs: ids.clone(), arguments }]
        };
        let call_for = |id: &AttachmentId| {
            let about_picture = matches!(step.kind, StepKind::Info(_)) && !self.is_other_file(id);
            let has_image_info = self.has_tool("image_info") || self.prompt.tools.is_empty();
            let reads_picture = step.reads_pictures()
                && self.file(self.version_at_start(*id)).is_some_and(Attachment::is_image);
            let (tool, arguments) = if reads_picture {
                ("read_image_text", json!({"image": id}))
            } else if about_picture && has_image_info {
                ("image_info", with("images", json!([id])))
            } else {
                (step.tool, with("attachment_id", json!(id)))
            };
            PlannedCall { tool, inputs: vec![*id], arguments }
        };
        if let (Some(thing), Some(take)) = (&step.thing, &step.take) {
            return self.edits_of_found(step, thing, take, &ids);
        }
        // A question about a file that is no picture is answered with its facts.
        let look_at = |id: &AttachmentId| {
            let (tool, arguments) = if self.is_other_file(id) {
                ("get_attachment_info", json!({"attachment_id": id}))
            } else {
                (step.tool, with("image", json!(id)))
            };
            PlannedCall { tool, inputs: vec![*id], arguments }
        };
        match step.kind {
            StepKind::Look | StepKind::Tell(_) => ids.iter().map(look_at).collect(),
            StepKind::Edit | StepKind::Repeat | StepKind::Combine(_) => one_call("images"),
            StepKind::Send => one_call("attachment_ids"),
            StepKind::List => {
                let arguments = Value::Object(step.arguments.clone());
                vec![PlannedCall { tool: step.tool, inputs: Vec::new(), arguments }]
            }
            StepKind::Info(_) | StepKind::Read => ids.iter().map(call_for).collect(),
        }
    }
}
