//! Messages of the offline agent about a whole turn: greetings, errors, missing targets. Short, warm, safe as Markdown.

use super::text::{bullet_list, clip, count_files, count_photos, escape_markdown, join_and, quote};
use crate::domain::Attachment;
use crate::providers::Focus;
use crate::providers::offline::parse::grammar::Grammar;
use crate::providers::offline::targets::selection::TargetError;

const MAX_REASON_CHARS: usize = 400;
/// How many parts that were not understood a reply quotes.
const MAX_LISTED_PARTS: usize = 3;

pub const CANNOT_SEE: &str = "I run offline, so I can't recognise what's in it.";
pub const DONE: &str = "Done.";
pub const NOTHING_CHANGED: &str = "All right, nothing changed.";
/// The offline agent continues a turn that a model started.
pub const TOOK_OVER: &str =
    "The model went away before it had finished. This is how far it got; reply to go on from here.";
pub const NO_TOOLS: &str = "I can't use my tools just now. Please ask me again.";

fn with_examples(line: &str, grammar: &Grammar) -> String {
    format!("{line} For example:\n{}", bullet_list(&grammar.examples))
}

pub fn not_understood(grammar: &Grammar, not_understood: &[String]) -> String {
    let line = match not_understood.first() {
        Some(words) => format!("I didn't understand {}.", quote(words)),
        None => "I didn't understand that.".into(),
    };
    with_examples(&line, grammar)
}

pub fn small_talk(grammar: &Grammar, index: usize) -> String {
    match grammar.small_talk.get(index) {
        Some(talk) if talk.examples => with_examples(&talk.answer, grammar),
        Some(talk) => talk.answer.clone(),
        None => not_understood(grammar, &[]),
    }
}

/// Files arrived without a request.
pub fn received(grammar: &Grammar, files: &[Attachment], not_understood: &[String]) -> String {
    let pictures = files.iter().filter(|file| file.is_image()).count();
    let got = match (pictures, files.len() - pictures) {
        (0, 1) => "Got your file; reply to it and I'll send it back whenever you need it.".to_owned(),
        (0, n) => format!("Got {n} files; reply to one and I'll send it back whenever you need it."),
        (1, 0) => "Got your photo.".to_owned(),
        (n, 0) => format!("Got {n} photos."),
        (n, _) => {
            format!("Got {} and {} of other kinds.", count_photos(n), count_files(files.len() - pictures))
        }
    };
    let missed = not_understood.first().map(|words| format!(" I didn't understand {}.", quote(words)));
    let missed = missed.unwrap_or_default();
    if pictures == 0 {
        return got + &missed;
    }
    let it = if pictures == 1 { "Reply to it" } else { "Reply to one, or say “all of them”," };
    format!("{got}{missed} {it} with what you'd like, for example:\n{}", bullet_list(&grammar.suggestions))
}

pub fn skipped_files(count: usize) -> String {
    format!("I left out {}: only pictures can be edited.", count_files(count))
}

pub fn target_error(grammar: &Grammar, focus: &Focus, error: &TargetError, reads_text: bool) -> String {
    match error {
        TargetError::Nothing if reads_text => "Which file? Send me one, or reply to one.".into(),
        TargetError::Nothing => "Which picture? Send me one, or reply to one with what you'd like.".into(),
        TargetError::NoOthers => {
            "There are no other photos here. Reply to one photo of an album to mean the rest.".into()
        }
        TargetError::WrongKind(files) if reads_text && files.iter().all(Attachment::is_image) => {
            format!("That is a picture, not a text file. {CANNOT_SEE}")
        }
        TargetError::WrongKind(files) => {
            let kind = files.first().and_then(|file| grammar.file_kind(&file.mime_type));
            let line = match kind {
                Some(kind) if files.len() == 1 => format!("That file is {kind}"),
                _ if files.len() == 1 => "That file is not a picture".into(),
                _ => "Those files are not pictures".into(),
            };
            let them = if files.len() == 1 { "it" } else { "them" };
            format!("{line}; I can keep {them} and send {them} back, but only pictures can be edited.")
        }
        TargetError::TooFew => {
            "That takes at least two pictures. Send them as an album, or reply to one.".into()
        }
        TargetError::TooMany { have } => format!(
            "That takes two pictures, and there are {have}. Which two do you mean? Say “photo 1 and photo 2”."
        ),
        TargetError::NeverEdited => {
            "Nothing was edited here yet. Edit one photo first, then I can do the same to the others.".into()
        }
        TargetError::RepeatOnWhich => {
            "To which photos? Reply to one with “do the same”, or say “to the others”.".into()
        }
        TargetError::OutOfRange { have, .. } => {
            let place = if !focus.sent.is_empty() { "in your message" } else { "here" };
            let are = if *have == 1 { "is" } else { "are" };
            format!("There {are} only {} {place}. Which one do you mean?", count_photos(*have))
        }
    }
}

pub fn tool_unavailable(tool: &str) -> String {
    format!("I can't do that part: `{tool}` is not available here.")
}

pub fn step_failed(reason: &str, any_step_done: bool) -> String {
    let reason = if reason.is_empty() { "the tool made nothing" } else { reason };
    let reason = escape_markdown(&clip(reason, MAX_REASON_CHARS));
    let end = if reason.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    let rest = if any_step_done {
        " The steps before it are done."
    } else if reason.contains("try again") {
        ""
    } else {
        " Try it another way, or with another picture."
    };
    format!("That didn't work: {reason}{end}{rest}")
}

pub fn step_partly_failed(reasons: &[String]) -> String {
    let reasons: Vec<String> =
        reasons.iter().map(|reason| escape_markdown(&clip(reason, MAX_REASON_CHARS))).collect();
    let text = reasons.join("; ");
    let end = if text.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    format!("Not all of them worked: {text}{end}")
}

pub fn stopped_before(did: &[String]) -> String {
    let describe = |did: &String| did.replace("{it}", "it").replace("{n}", "them");
    let named: Vec<String> = did.iter().filter(|did| !did.is_empty()).map(describe).collect();
    if named.is_empty() {
        "I had to stop there.".into()
    } else {
        format!("I had to stop before the rest ({}).", join_and(&named))
    }
}

pub fn parts_not_understood(parts: &[String]) -> String {
    let parts: Vec<String> = parts.iter().take(MAX_LISTED_PARTS).map(|words| quote(words)).collect();
    format!("I didn't understand {}.", join_and(&parts))
}

pub fn files_sent(count: usize) -> String {
    if count == 1 { "Here it is.".into() } else { "Here they are.".into() }
}
