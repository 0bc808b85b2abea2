//! The plan against what has happened: replays this turn's results and says what comes next.

mod aim;

use super::facts;
use super::grammar::Grammar;
use super::say;
use super::steps::{Request, Step, Work, request};
use crate::domain::{Attachment, AttachmentId, ToolCall};
use crate::providers::{Prompt, PromptMessage};
use aim::Planned;
use std::collections::{BTreeSet, HashMap, HashSet};

/// How we know our own calls.
const CALL_PREFIX: &str = "offline-";

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
    if run.is_anothers_work() {
        return Next::Say(say::TOOK_OVER.into());
    }
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

struct Run<'a> {
    prompt: &'a Prompt,
    /// The messages before this turn.
    earlier: &'a [PromptMessage],
    results: HashMap<&'a str, &'a str>,
    issued: HashSet<&'a str>,
    /// What became of each file in this turn.
    current: HashMap<AttachmentId, AttachmentId>,
    /// What the last edit made.
    last: Option<Vec<AttachmentId>>,
    edited: BTreeSet<AttachmentId>,
    /// What was done, and to how many.
    did: Vec<(String, usize)>,
    sections: Vec<String>,
    remarks: Vec<String>,
    looked_at_picture: bool,
}

impl<'a> Run<'a> {
    fn new(prompt: &'a Prompt) -> Self {
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
            last: None,
            edited: BTreeSet::new(),
            did: Vec::new(),
            sections: Vec::new(),
            remarks: Vec::new(),
            looked_at_picture: false,
        }
    }

    /// Has a model begun this turn, and we go on in its place? What it did is in no plan of ours: doing ours as well
    /// would do everything twice.
    fn is_anothers_work(&self) -> bool {
        self.issued.iter().any(|id| !id.starts_with(CALL_PREFIX))
    }

    fn take(&mut self, grammar: &Grammar, number: usize, step: &Step) -> Progress {
        // What an edit made is sent anyway.
        if step.work == Work::Send && step.pick.is_none() && self.last.is_some() {
            return Progress::Done;
        }
        let targets = match self.targets(step) {
            Ok(targets) => targets,
            Err(reason) => {
                let reads = step.work == Work::Read;
                self.remarks.push(say::no_target(grammar, &self.prompt.focus, &reason, reads));
                return Progress::Stop;
            }
        };
        let planned = self.planned(step, targets);
        let ids: Vec<String> = (0..planned.len()).map(|nth| call_id(number, nth)).collect();
        let known = |id: &String| self.results.contains_key(id.as_str()) || self.issued.contains(id.as_str());
        if !ids.iter().any(known) {
            if self.prompt.tools.is_empty() {
                return Progress::NoTools;
            }
            if let Some(missing) = planned.iter().find(|planned| !self.has_tool(planned.tool)) {
                self.remarks.push(say::unavailable(missing.tool));
                return Progress::Done;
            }
            let calls = ids.into_iter().zip(planned).map(|(id, planned)| ToolCall {
                id,
                name: planned.tool.to_owned(),
                arguments: planned.arguments.to_string(),
            });
            return Progress::Call(calls.collect());
        }
        let mut went_on = false;
        for (id, Planned { inputs, .. }) in ids.iter().zip(planned) {
            let text = self.results.get(id.as_str()).copied().unwrap_or("Error: it was interrupted.");
            went_on |= self.heard(step, &inputs, text);
        }
        if went_on { Progress::Done } else { Progress::Stop }
    }

    fn has_tool(&self, name: &str) -> bool {
        self.prompt.tools.iter().any(|tool| tool.name == name)
    }

    /// What became of it in this turn.
    fn now(&self, id: AttachmentId) -> AttachmentId {
        self.current.get(&id).copied().unwrap_or(id)
    }

    /// What it was when this turn began.
    fn before(&self, id: AttachmentId) -> AttachmentId {
        self.current.iter().find(|(_, now)| **now == id).map_or(id, |(first, _)| *first)
    }

    /// Takes in one result; whether the steps after it still make sense.
    fn heard(&mut self, step: &Step, inputs: &[AttachmentId], text: &str) -> bool {
        let errors: Vec<String> = text.lines().filter_map(error).collect();
        let outputs = markers(text);
        let makes = matches!(step.work, Work::Edit | Work::Repeat | Work::Combine(_));
        let failed = text.trim_start().starts_with("Error") && (outputs.is_empty() || !makes);
        if failed || (makes && outputs.is_empty()) {
            let reason = text.trim().trim_start_matches("Error:").trim();
            let reason = if reason.is_empty() { "the tool made nothing" } else { reason };
            self.remarks.push(say::failed(reason, !self.did.is_empty()));
            return false;
        }
        match step.work {
            Work::Edit | Work::Repeat | Work::Combine(_) => {
                if !errors.is_empty() {
                    self.remarks.push(say::partly_failed(&errors));
                }
                self.remarks.extend(say::left_out(text));
                if matches!(step.work, Work::Combine(_)) {
                    self.combined(inputs, outputs);
                } else {
                    self.made(inputs, outputs, text);
                }
                if step.tool == "compare_images" {
                    self.sections.push(say::compared(text));
                }
                let did = step.did.replace("{n}", &say::photos(inputs.len()));
                if !did.is_empty() && self.did.iter().all(|(done, _)| *done != did) {
                    self.did.push((did, inputs.len()));
                }
            }
            Work::Send => self.sections.push(say::sent(inputs.len())),
            Work::List => self.sections.push(say::listing(text)),
            Work::Info(Some(fact)) => self.sections.push(facts::fact(fact, text)),
            Work::Info(None) => {
                self.looked_at_picture |= !inputs.iter().any(|id| self.is_other_file(id));
                self.sections.push(facts::facts(text));
            }
            Work::Read => self.sections.push(say::file_text(text)),
        }
        true
    }

    fn file(&self, id: AttachmentId) -> Option<&Attachment> {
        let focus = &self.prompt.focus;
        let mut files = [&focus.sent, &focus.replied, &focus.album, &focus.recent].into_iter().flatten();
        files.find(|file| file.attachment_id == id)
    }

    fn is_other_file(&self, id: &AttachmentId) -> bool {
        self.file(*id).is_some_and(|file| !file.is_image())
    }

    /// One out of several: none of them became it, but they are not the result any more.
    fn combined(&mut self, inputs: &[AttachmentId], outputs: Vec<AttachmentId>) {
        self.edited.retain(|id| !inputs.contains(id));
        self.edited.extend(&outputs);
        self.last = Some(outputs);
    }

    fn made(&mut self, inputs: &[AttachmentId], outputs: Vec<AttachmentId>, text: &str) {
        let failed = |(at, id): &(usize, &AttachmentId)| {
            let (nth, id) = (format!("Image {} ", at + 1), id.to_string());
            text.lines()
                .filter(|line| error(line).is_some())
                .any(|line| line.starts_with(&nth) || line.contains(&id))
        };
        let worked = inputs.iter().enumerate().filter(|input| !failed(input)).map(|(_, id)| id);
        let worked: Vec<&AttachmentId> = worked.collect();
        if worked.len() == outputs.len() {
            for (input, output) in worked.into_iter().zip(&outputs) {
                self.edited.remove(input);
                self.current.insert(self.before(*input), *output);
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
    match nth {
        0 => format!("{CALL_PREFIX}{step}"),
        _ => format!("{CALL_PREFIX}{step}-{}", nth + 1),
    }
}

fn markers(text: &str) -> Vec<AttachmentId> {
    let marked = |line: &str| line.trim().strip_prefix("[Attachment ID: ")?.strip_suffix(']')?.parse().ok();
    text.lines().filter_map(marked).collect()
}

fn error(line: &str) -> Option<String> {
    let line = line.trim();
    let failed =
        line.strip_prefix("Image ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if failed && line.contains(" failed: ") {
        return Some(line.to_owned());
    }
    Some(line.strip_prefix("Error")?.trim_start_matches(':').trim().to_owned())
}
