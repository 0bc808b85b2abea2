//! Executes a plan over the requests of one turn. The offline agent keeps no state: every request replays the results
//! in the prompt against the plan and returns the next tool calls, or the final reply.

mod calls;
mod looks;
mod results;
mod step_targets;
mod turn_state;

use super::parse::clauses::ParsedMessage;
use super::parse::grammar::Grammar;
use super::plan::FIND_TOOL;
use super::plan::planner::{MessagePlan, PlannedStep, StepKind};
use super::reply::{actions, messages};
use crate::domain::ToolCall;
use crate::providers::Prompt;
use calls::PlannedCall;
use turn_state::{TurnState, call_id};

#[derive(Debug, Clone, PartialEq)]
pub enum NextAction {
    Call(Vec<ToolCall>),
    Reply(String),
}

pub fn next_action(
    grammar: &Grammar,
    prompt: &Prompt,
    message: &ParsedMessage,
    plan: &MessagePlan,
) -> NextAction {
    if plan.steps.is_empty() {
        return NextAction::Reply(reply_without_steps(grammar, prompt, message, plan));
    }
    let mut state = TurnState::new(prompt);
    if state.was_started_by_model() {
        return NextAction::Reply(messages::TOOK_OVER.into());
    }
    for (at, step) in plan.steps.iter().enumerate() {
        match state.replay_step(grammar, at + 1, step) {
            StepOutcome::Done => {}
            StepOutcome::Call(calls) => return NextAction::Call(calls),
            StepOutcome::Stop => break,
            StepOutcome::NoTools => {
                let rest: Vec<String> = plan.steps[at..].iter().map(|step| step.did.clone()).collect();
                let nothing_done = state.did.is_empty() && state.sections.is_empty();
                state.remarks.push(if nothing_done {
                    messages::NO_TOOLS.into()
                } else {
                    messages::stopped_before(&rest)
                });
                break;
            }
        }
    }
    NextAction::Reply(state.final_reply(message, plan))
}

fn reply_without_steps(
    grammar: &Grammar,
    prompt: &Prompt,
    message: &ParsedMessage,
    plan: &MessagePlan,
) -> String {
    let files = &prompt.focus.sent;
    match message.small_talk {
        _ if !plan.questions.is_empty() => plan.questions.join(" "),
        _ if !files.is_empty() => messages::received(grammar, files, &message.not_understood),
        Some(talk) if message.not_understood.is_empty() => messages::small_talk(grammar, talk),
        None if message.negated && message.not_understood.is_empty() => messages::NOTHING_CHANGED.into(),
        _ => messages::not_understood(grammar, &message.not_understood),
    }
}

enum StepOutcome {
    Done,
    /// Not called yet in this turn.
    Call(Vec<ToolCall>),
    /// The steps after it make no sense.
    Stop,
    /// The prompt has no tools: answer now.
    NoTools,
}

impl TurnState<'_> {
    /// Takes in the results of a step, or returns its calls if it has not run yet.
    fn replay_step(&mut self, grammar: &Grammar, number: usize, step: &PlannedStep) -> StepOutcome {
        // The results of edits are sent without a call.
        if step.kind == StepKind::Send && step.selection.is_none() && self.last_outputs.is_some() {
            return StepOutcome::Done;
        }
        let targets = match self.find_targets(step) {
            Ok(targets) => targets,
            Err(error) => {
                let reads_text = step.kind == StepKind::Read;
                self.remarks.push(messages::target_error(grammar, &self.prompt.focus, &error, reads_text));
                return StepOutcome::Stop;
            }
        };
        let calls = self.plan_calls(step, targets);
        if calls.is_empty() && step.take.is_some() {
            return StepOutcome::Stop;
        }
        let ids: Vec<String> = (0..calls.len()).map(|nth| call_id(number, nth)).collect();
        let known = |id: &String| self.results.contains_key(id.as_str()) || self.issued.contains(id.as_str());
        if !ids.iter().any(known) {
            if self.prompt.tools.is_empty() {
                return StepOutcome::NoTools;
            }
            if let Some(missing) = calls.iter().find(|call| !self.has_tool(call.tool)) {
                self.remarks.push(messages::tool_unavailable(missing.tool));
                return StepOutcome::Done;
            }
            let calls = ids.into_iter().zip(calls).map(|(id, call)| ToolCall {
                id,
                name: call.tool.to_owned(),
                arguments: call.arguments.to_string(),
            });
            return StepOutcome::Call(calls.collect());
        }
        // An edit of what was found has a call per picture, and all their outputs go on.
        let mut made = Vec::new();
        let call_per_picture = step.take.is_some();
        if call_per_picture {
            self.last_outputs = None;
        }
        let mut any_worked = false;
        for (id, PlannedCall { inputs, .. }) in ids.iter().zip(calls) {
            let text = self.results.get(id.as_str()).copied().unwrap_or("Error: it was interrupted.");
            any_worked |= self.record_result(step, &inputs, text);
            if call_per_picture {
                made.extend(self.last_outputs.take().unwrap_or_default());
            }
        }
        if call_per_picture {
            self.last_outputs = Some(made);
        }
        if any_worked { StepOutcome::Done } else { StepOutcome::Stop }
    }

    fn final_reply(mut self, message: &ParsedMessage, plan: &MessagePlan) -> String {
        let mut lines = Vec::new();
        let done = actions::done(&self.did, self.results_to_send.len());
        if !message.not_understood.is_empty() {
            self.remarks.push(messages::parts_not_understood(&message.not_understood));
        }
        self.remarks.extend(plan.questions.iter().cloned());
        if self.asked_about_picture && !self.has_tool(FIND_TOOL) {
            self.remarks.push(messages::CANNOT_SEE.into());
        }
        lines.extend((!done.is_empty()).then_some(done));
        lines.extend(self.sections);
        let remarks = self.remarks.join(" ");
        match lines.last_mut() {
            Some(line) if !line.contains('\n') && !remarks.is_empty() => *line = format!("{line} {remarks}"),
            _ if !remarks.is_empty() => lines.push(remarks),
            _ => {}
        }
        if lines.is_empty() { messages::DONE.into() } else { lines.join("\n\n") }
    }
}
