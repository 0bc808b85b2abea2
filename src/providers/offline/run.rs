//! The plan against what has happened: replays this turn's results and says what comes next.

use super::facts;
use super::files;
use super::grammar::Grammar;
use super::same::same;
use super::say;
use super::steps::{Request, Step, Work, request};
use super::targets::{Chosen, NoTarget, Pick, Wants, choose};
use super::together::{Needs, several};
use crate::domain::{Attachment, AttachmentId, ToolCall};
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
struct Planned {
    tool: &'static str,
    inputs: Vec<AttachmentId>,
    arguments: Value,
}

/// What a step is done to.
struct Targets {
    ids: Vec<AttachmentId>,
    /// The picture whose edits are repeated.
    from: Option<AttachmentId>,
}

impl From<Vec<AttachmentId>> for Targets {
    fn from(ids: Vec<AttachmentId>) -> Self {
        Self { ids, from: None }
    }
}

struct Run<'a> {
    prompt: &'a Prompt,
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

    fn targets(&mut self, step: &Step) -> Result<Targets, NoTarget> {
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
        if step.tool == "redo_edit"
            && step.pick.is_none()
            && focus.sent.is_empty()
            && focus.replied.is_empty()
        {
            let undone = self.last_undone();
            if !undone.is_empty() {
                return Ok(undone.into());
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

    /// What an undo went back to, newest first: the newest file is what it went back from.
    fn last_undone(&self) -> Vec<AttachmentId> {
        let undone = self.prompt.messages.iter().rev().find_map(|message| match message {
            PromptMessage::Tool { name, text, .. } if name == "undo_edit" || name == "revert_to_original" => {
                Some(markers(text))
            }
            PromptMessage::Tool { text, .. } if !markers(text).is_empty() => Some(Vec::new()),
            _ => None,
        });
        undone.unwrap_or_default()
    }

    fn planned(&self, step: &Step, targets: Targets) -> Vec<Planned> {
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
    if nth == 0 { format!("offline-{step}") } else { format!("offline-{step}-{}", nth + 1) }
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
