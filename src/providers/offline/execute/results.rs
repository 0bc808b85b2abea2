//! Takes the result of a tool call into the state of the turn.

use super::turn_state::{TurnState, marked_ids};
use crate::domain::AttachmentId;
use crate::providers::offline::plan::planner::{PlannedStep, StepKind};
use crate::providers::offline::reply::text::count_photos;
use crate::providers::offline::reply::{file_facts, messages, tool_results};

impl TurnState<'_> {
    /// Returns whether the steps after it still make sense.
    pub fn record_result(&mut self, step: &PlannedStep, inputs: &[AttachmentId], text: &str) -> bool {
        let errors: Vec<String> = text.lines().filter_map(error_in).collect();
        let outputs = marked_ids(text);
        let makes_pictures = matches!(step.kind, StepKind::Edit | StepKind::Repeat | StepKind::Combine(_));
        let failed = text.trim_start().starts_with("Error") && (outputs.is_empty() || !makes_pictures);
        if failed || (makes_pictures && outputs.is_empty()) {
            let reason = text.trim().trim_start_matches("Error:").trim();
            self.remarks.push(messages::step_failed(reason, !self.did.is_empty()));
            return false;
        }
        match step.kind {
            StepKind::Edit | StepKind::Repeat | StepKind::Combine(_) => {
                if !errors.is_empty() {
                    self.remarks.push(messages::step_partly_failed(&errors));
                }
                self.remarks.extend(tool_results::missing_glyphs(text));
                if matches!(step.kind, StepKind::Combine(_)) {
                    self.record_combination(inputs, outputs);
                } else {
                    self.record_edits(inputs, outputs, text);
                }
                if step.tool == "compare_images" {
                    self.sections.push(tool_results::comparison(text));
                }
                let did = step.did.replace("{n}", &count_photos(inputs.len()));
                let did = self.with_found(step, inputs, did);
                if !did.is_empty() && self.did.iter().all(|(done, _)| *done != did) {
                    self.did.push((did, inputs.len()));
                }
            }
            StepKind::Send => self.sections.push(messages::files_sent(inputs.len())),
            StepKind::List => self.sections.push(tool_results::file_list(text)),
            StepKind::Info(Some(fact)) => self.sections.push(file_facts::one_fact(fact, text)),
            StepKind::Info(None) => {
                self.asked_about_picture |= !inputs.iter().any(|id| self.is_other_file(id));
                self.sections.push(file_facts::all_facts(text));
            }
            StepKind::Look => self.record_look(inputs, text),
            StepKind::Tell(_) if inputs.iter().any(|id| self.is_other_file(id)) => {
                self.sections.push(file_facts::all_facts(text));
            }
            StepKind::Tell(question) => self.tell_found(step, question, inputs, text),
            StepKind::Read if tool_results::is_image_text(text) => {
                self.sections.push(tool_results::image_text(text));
            }
            StepKind::Read => self.sections.push(tool_results::file_text(text)),
        }
        true
    }

    /// The inputs stay as they are; the combination is the result instead of them.
    fn record_combination(&mut self, inputs: &[AttachmentId], outputs: Vec<AttachmentId>) {
        self.results_to_send.retain(|id| !inputs.contains(id));
        self.results_to_send.extend(&outputs);
        self.last_outputs = Some(outputs);
    }

    /// Each input without an error line has one output, in the same order.
    fn record_edits(&mut self, inputs: &[AttachmentId], outputs: Vec<AttachmentId>, text: &str) {
        let failed = |(at, id): &(usize, &AttachmentId)| {
            let (nth, id) = (format!("Image {} ", at + 1), id.to_string());
            text.lines()
                .filter(|line| error_in(line).is_some())
                .any(|line| line.starts_with(&nth) || line.contains(&id))
        };
        let worked = inputs.iter().enumerate().filter(|input| !failed(input)).map(|(_, id)| id);
        let worked: Vec<&AttachmentId> = worked.collect();
        if worked.len() == outputs.len() {
            for (input, output) in worked.into_iter().zip(&outputs) {
                self.results_to_send.remove(input);
                self.current.insert(self.version_at_start(*input), *output);
            }
        }
        self.results_to_send.extend(&outputs);
        self.last_outputs = Some(outputs);
    }
}

/// The error a line of a tool result reports, if any: "Error: …" or "Image 2 failed: …".
fn error_in(line: &str) -> Option<String> {
    let line = line.trim();
    let failed =
        line.strip_prefix("Image ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if failed && line.contains(" failed: ") {
        return Some(line.to_owned());
    }
    Some(line.strip_prefix("Error")?.trim_start_matches(':').trim().to_owned())
}
