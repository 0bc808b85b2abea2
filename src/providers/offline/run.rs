//! The plan against what has happened: replays this turn's results and says what comes next.

use super::grammar::Grammar;
use super::say;
use super::steps::{Request, Step, Work, request};
use super::targets::{Chosen, NoTarget, Pick, Wants, choose};
use crate::domain::{AttachmentId, ToolCall};
use crate::providers::{Prompt, PromptMessage};
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap, HashSet};

/// What to do now.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    Call(Vec<ToolCall>),
    Say(String),
}

pub fn next(grammar: &Grammar, prompt: &Prompt) -> Next {
    let request = request(grammar, &prompt.focus.said);
    if request.steps.is_empty() {
        return Next::Say(without_steps(grammar, prompt, &request));
    }
    let mut run = Run::new(prompt);
    for (at, step) in request.steps.iter().enumerate() {
        match run.take(grammar, at + 1, step) {
            Progress::Done => {}
            Progress::Call(calls) => return Next::Call(calls),
            Progress::Stop => break,
            Progress::NoTools => {
                let rest: Vec<String> = request.steps[at..].iter().map(|step| step.did.clone()).collect();
                let nothing_yet = run.did.is_empty() && run.sections.is_empty();
                run.remarks.push(if nothing_yet {
                    say::ANSWER_NOW.into()
                } else {
                    say::stopped_before(&rest)
                });
                break;
            }
        }
    }
    Next::Say(run.last_word(&request))
}

fn without_steps(grammar: &Grammar, prompt: &Prompt, request: &Request) -> String {
    let files = &prompt.focus.sent;
    match request.talk {
        _ if !request.notes.is_empty() => request.notes.join(" "),
        _ if !files.is_empty() => say::received(grammar, files, &request.unread),
        Some(talk) if request.unread.is_empty() => say::small_talk(grammar, talk),
        None if request.refused && request.unread.is_empty() => say::NOTHING_CHANGED.into(),
        _ => say::not_understood(grammar, &request.unread),
    }
}

enum Progress {
    Done,
    Call(Vec<ToolCall>),
    Stop,
    NoTools,
}

/// One tool call about to be made, without its id.
type Planned = (Vec<AttachmentId>, Value);

struct Run<'a> {
    prompt: &'a Prompt,
    results: HashMap<&'a str, &'a str>,
    issued: HashSet<&'a str>,
    /// What became of each file in this turn.
    current: HashMap<AttachmentId, AttachmentId>,
    /// What the last edit made.
    last: Option<Vec<AttachmentId>>,
    edited: BTreeSet<AttachmentId>,
    did: Vec<String>,
    sections: Vec<String>,
    remarks: Vec<String>,
    looked_at_picture: bool,
}

impl<'a> Run<'a> {
    fn new(prompt: &'a Prompt) -> Self {
        let is_user = |message: &PromptMessage| matches!(message, PromptMessage::User { .. });
        let start = prompt.messages.iter().rposition(is_user).map_or(0, |at| at + 1);
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
            results,
            issued,
            current: HashMap::new(),
            last: None,
            edited: BTreeSet::new(),
            did: Vec::new(),
            sections: Vec::new(),
            remarks: Vec::new(),
            looked_at_picture: false,
        }
    }

    fn take(&mut self, grammar: &Grammar, number: usize, step: &Step) -> Progress {
        // What an edit made is sent anyway.
        if step.work == Work::Send && step.pick.is_none() && self.last.is_some() {
            return Progress::Done;
        }
        let targets = if step.work == Work::List { Ok(Vec::new()) } else { self.targets(step) };
        let targets = match targets {
            Ok(targets) => targets,
            Err(reason) => {
                let reads = step.work == Work::Read;
                self.remarks.push(say::no_target(grammar, &self.prompt.focus, &reason, reads));
                return Progress::Stop;
            }
        };
        let planned = planned(step, &targets);
        let ids: Vec<String> = (0..planned.len()).map(|nth| call_id(number, nth)).collect();
        let known = |id: &String| self.results.contains_key(id.as_str()) || self.issued.contains(id.as_str());
        if !ids.iter().any(known) {
            if self.prompt.tools.is_empty() {
                return Progress::NoTools;
            }
            if !self.prompt.tools.iter().any(|tool| tool.name == step.tool) {
                self.remarks.push(say::unavailable(step.tool));
                return Progress::Done;
            }
            let calls = ids.into_iter().zip(planned).map(|(id, (_, arguments))| ToolCall {
                id,
                name: step.tool.to_owned(),
                arguments: arguments.to_string(),
            });
            return Progress::Call(calls.collect());
        }
        let mut went_on = false;
        for (id, (inputs, _)) in ids.iter().zip(planned) {
            let text = self.results.get(id.as_str()).copied().unwrap_or("Error: it was interrupted.");
            went_on |= self.heard(step, &inputs, text);
        }
        if went_on { Progress::Done } else { Progress::Stop }
    }

    fn targets(&mut self, step: &Step) -> Result<Vec<AttachmentId>, NoTarget> {
        if let Some(last) = &self.last {
            let same = match step.pick {
                None => true,
                Some(Pick::Them) => last.len() > 1,
                _ => false,
            };
            if same {
                return Ok(last.clone());
            }
        }
        let wants = match step.work {
            Work::Edit => Wants::Pictures,
            Work::Send | Work::Info if step.photos && step.pick.is_some() => Wants::Pictures,
            Work::Read => Wants::Text,
            Work::Send | Work::Info | Work::List => Wants::Anything,
        };
        let Chosen { ids, skipped } = choose(&self.prompt.focus, step.pick.as_ref(), wants)?;
        let remark = say::skipped(skipped);
        if skipped > 0 && step.work == Work::Edit && !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
        Ok(ids.iter().map(|id| self.current.get(id).copied().unwrap_or(*id)).collect())
    }

    /// Takes in one result; whether the steps after it still make sense.
    fn heard(&mut self, step: &Step, inputs: &[AttachmentId], text: &str) -> bool {
        let errors: Vec<String> = text.lines().filter_map(error).collect();
        let outputs = markers(text);
        let failed =
            text.trim_start().starts_with("Error") && (outputs.is_empty() || step.work != Work::Edit);
        if failed || (step.work == Work::Edit && outputs.is_empty()) {
            let reason = text.trim().trim_start_matches("Error:").trim();
            let reason = if reason.is_empty() { "the tool made nothing" } else { reason };
            self.remarks.push(say::failed(reason, !self.did.is_empty()));
            return false;
        }
        match step.work {
            Work::Edit => {
                if !errors.is_empty() {
                    self.remarks.push(say::partly_failed(&errors));
                }
                self.made(inputs, outputs, text);
                if !self.did.contains(&step.did) {
                    self.did.push(step.did.clone());
                }
            }
            Work::Send => self.sections.push(say::sent(inputs.len())),
            Work::List => self.sections.push(say::listing(text)),
            Work::Info => {
                self.looked_at_picture |= !inputs.iter().any(|id| self.is_other_file(id));
                self.sections.push(say::facts(text));
            }
            Work::Read => self.sections.push(say::file_text(text)),
        }
        true
    }

    fn is_other_file(&self, id: &AttachmentId) -> bool {
        let focus = &self.prompt.focus;
        let files = [&focus.sent, &focus.replied, &focus.album, &focus.recent].into_iter().flatten();
        files.into_iter().any(|file| file.attachment_id == *id && !file.is_image())
    }

    fn made(&mut self, inputs: &[AttachmentId], outputs: Vec<AttachmentId>, text: &str) {
        let failed = |id: &AttachmentId| {
            let id = id.to_string();
            text.lines().any(|line| line.starts_with("Error") && line.contains(&id))
        };
        let worked: Vec<&AttachmentId> = inputs.iter().filter(|id| !failed(id)).collect();
        if worked.len() == outputs.len() {
            for (input, output) in worked.into_iter().zip(&outputs) {
                self.edited.remove(input);
                let first = self.current.iter().find(|(_, now)| *now == input).map(|(first, _)| *first);
                self.current.insert(first.unwrap_or(*input), *output);
            }
        }
        self.edited.extend(&outputs);
        self.last = Some(outputs);
    }

    fn last_word(mut self, request: &Request) -> String {
        let mut lines = Vec::new();
        let done = say::done(&self.did, self.edited.len());
        if !request.unread.is_empty() {
            self.remarks.push(say::also_unread(&request.unread));
        }
        self.remarks.extend(request.notes.iter().cloned());
        if self.looked_at_picture {
            self.remarks.push(say::CANNOT_SEE.into());
        }
        lines.extend((!done.is_empty()).then_some(done));
        lines.extend(self.sections);
        let remarks = self.remarks.join(" ");
        match lines.last_mut() {
            Some(line) if !line.contains('\n') && !remarks.is_empty() => *line = format!("{line} {remarks}"),
            _ if !remarks.is_empty() => lines.push(remarks),
            _ => {}
        }
        if lines.is_empty() { "Done.".into() } else { lines.join("\n\n") }
    }
}

/// By the step and not by a running count, so that a step that was passed over cannot claim the results of
/// the next one.
fn call_id(step: usize, nth: usize) -> String {
    if nth == 0 { format!("offline-{step}") } else { format!("offline-{step}-{}", nth + 1) }
}

fn planned(step: &Step, targets: &[AttachmentId]) -> Vec<Planned> {
    let with = |key: &str, value: Value| {
        let mut arguments: Map<String, Value> = step.arguments.clone();
        arguments.insert(key.to_owned(), value);
        Value::Object(arguments)
    };
    match step.work {
        Work::Edit => vec![(targets.to_vec(), with("images", json!(targets)))],
        Work::Send => vec![(targets.to_vec(), with("attachment_ids", json!(targets)))],
        Work::List => vec![(Vec::new(), Value::Object(step.arguments.clone()))],
        Work::Info | Work::Read => {
            targets.iter().map(|target| (vec![*target], with("attachment_id", json!(target)))).collect()
        }
    }
}

fn markers(text: &str) -> Vec<AttachmentId> {
    let marked = |line: &str| line.trim().strip_prefix("[Attachment ID: ")?.strip_suffix(']')?.parse().ok();
    text.lines().filter_map(marked).collect()
}

fn error(line: &str) -> Option<String> {
    let reason = line.trim().strip_prefix("Error")?;
    Some(reason.trim_start_matches(':').trim().to_owned())
}
