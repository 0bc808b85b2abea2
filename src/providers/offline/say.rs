//! Everything the offline agent says: short, warm, and safe as Markdown.

use super::grammar::Grammar;
use super::targets::NoTarget;
use crate::domain::Attachment;
use crate::providers::Focus;

const LONGEST_QUOTE: usize = 60;
const LONGEST_REASON: usize = 400;
const LONGEST_FILE: usize = 3_000;

pub const CANNOT_SEE: &str = "I run offline, so I can't recognise what's in it.";
pub const NOTHING_CHANGED: &str = "All right, nothing changed.";
pub const TOOK_OVER: &str =
    "The model went away before it had finished. This is how far it got; reply to go on from here.";
pub const ANSWER_NOW: &str = "I can't use my tools just now. Please ask me again.";

/// "a, b and c"
pub fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

pub fn clipped(text: &str, longest: usize) -> String {
    let mut clipped: String = text.chars().take(longest).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

/// Foreign text in a sentence of ours: on one line, and never read as Markdown.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        if "\\`*_[]<>~|".contains(c) {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}

pub fn quoted(text: &str) -> String {
    format!("“{}”", plain(&clipped(text, LONGEST_QUOTE)))
}

pub fn photos(count: usize) -> String {
    if count == 1 { "1 photo".into() } else { format!("{count} photos") }
}

pub fn bullets(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n- {line}")).collect()
}

fn with_examples(line: &str, grammar: &Grammar) -> String {
    format!("{line} For example:\n{}", bullets(&grammar.examples))
}

pub fn not_understood(grammar: &Grammar, unread: &[String]) -> String {
    let line = match unread.first() {
        Some(words) => format!("I didn't understand {}.", quoted(words)),
        None => "I didn't understand that.".into(),
    };
    with_examples(&line, grammar)
}

pub fn small_talk(grammar: &Grammar, index: usize) -> String {
    match grammar.talk.get(index) {
        Some(talk) if talk.examples => with_examples(&talk.answer, grammar),
        Some(talk) => talk.answer.clone(),
        None => not_understood(grammar, &[]),
    }
}

/// Files came without a request in words.
pub fn received(grammar: &Grammar, files: &[Attachment], unread: &[String]) -> String {
    let pictures = files.iter().filter(|file| file.is_image()).count();
    let got = match (pictures, files.len() - pictures) {
        (0, 1) => "Got your file; reply to it and I'll send it back whenever you need it.".to_owned(),
        (0, n) => format!("Got {n} files; reply to one and I'll send it back whenever you need it."),
        (1, 0) => "Got your photo.".to_owned(),
        (n, 0) => format!("Got {n} photos."),
        (n, _) => format!("Got {} and {} of other kinds.", photos(n), count_files(files.len() - pictures)),
    };
    let missed = unread.first().map(|words| format!(" I didn't understand {}.", quoted(words)));
    let missed = missed.unwrap_or_default();
    if pictures == 0 {
        return got + &missed;
    }
    let it = if pictures == 1 { "Reply to it" } else { "Reply to one, or say “all of them”," };
    format!("{got}{missed} {it} with what you'd like, for example:\n{}", bullets(&grammar.suggestions))
}

fn count_files(count: usize) -> String {
    if count == 1 { "1 file".into() } else { format!("{count} files") }
}

pub fn skipped(count: usize) -> String {
    format!("I left out {}: only pictures can be edited.", count_files(count))
}

pub fn no_target(grammar: &Grammar, focus: &Focus, reason: &NoTarget, reads_text: bool) -> String {
    match reason {
        NoTarget::Nothing if reads_text => "Which file? Send me one, or reply to one.".into(),
        NoTarget::Nothing => "Which picture? Send me one, or reply to one with what you'd like.".into(),
        NoTarget::NoOthers => {
            "There are no other photos here. Reply to one photo of an album to mean the rest.".into()
        }
        NoTarget::WrongKind(files) if reads_text && files.iter().all(Attachment::is_image) => {
            format!("That is a picture, not a text file. {CANNOT_SEE}")
        }
        NoTarget::WrongKind(files) => {
            let kind = files.first().and_then(|file| grammar.kind(&file.mime_type));
            let line = match kind {
                Some(kind) if files.len() == 1 => format!("That file is {kind}"),
                _ if files.len() == 1 => "That file is not a picture".into(),
                _ => "Those files are not pictures".into(),
            };
            let them = if files.len() == 1 { "it" } else { "them" };
            format!("{line}; I can keep {them} and send {them} back, but only pictures can be edited.")
        }
        NoTarget::TooFew => {
            "That takes at least two pictures. Send them as an album, or reply to one.".into()
        }
        NoTarget::TooMany { have } => format!(
            "That takes two pictures, and there are {have}. Which two do you mean? Say “photo 1 and photo 2”."
        ),
        NoTarget::NeverEdited => {
            "Nothing was edited here yet. Edit one photo first, then I can do the same to the others.".into()
        }
        NoTarget::SameToWhich => {
            "To which photos? Reply to one with “do the same”, or say “to the others”.".into()
        }
        NoTarget::OutOfRange { have, .. } => {
            let place = if !focus.sent.is_empty() { "in your message" } else { "here" };
            let are = if *have == 1 { "is" } else { "are" };
            format!("There {are} only {} {place}. Which one do you mean?", photos(*have))
        }
    }
}

pub fn unavailable(tool: &str) -> String {
    format!("I can't do that part: `{tool}` is not available here.")
}

pub fn failed(reason: &str, did_before: bool) -> String {
    let reason = plain(&clipped(reason, LONGEST_REASON));
    let end = if reason.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    let rest = if did_before {
        " The steps before it are done."
    } else {
        " Try it another way, or with another picture."
    };
    format!("That didn't work: {reason}{end}{rest}")
}

pub fn partly_failed(reasons: &[String]) -> String {
    let reasons: Vec<String> = reasons.iter().map(|reason| plain(&clipped(reason, LONGEST_REASON))).collect();
    let text = reasons.join("; ");
    let end = if text.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    format!("Not all of them worked: {text}{end}")
}

pub fn stopped_before(did: &[String]) -> String {
    let said = |did: &String| did.replace("{it}", "it").replace("{n}", "them");
    let named: Vec<String> = did.iter().filter(|did| !did.is_empty()).map(said).collect();
    if named.is_empty() {
        "I had to stop there.".into()
    } else {
        format!("I had to stop before the rest ({}).", joined(&named))
    }
}

pub fn also_unread(unread: &[String]) -> String {
    let parts: Vec<String> = unread.iter().take(3).map(|words| quoted(words)).collect();
    format!("I didn't understand {}.", joined(&parts))
}

/// What was done, to all of a picture or to a part of it. `{it}` of a whole picture is left for `done`.
pub fn did_to(template: &str, part: Option<&str>) -> String {
    match part {
        None => template.replace("{part}", "").replace("{of}", ""),
        Some(part) => template
            .replace("{part}", &format!("{part} "))
            .replace("{of}", &format!(" of {part}"))
            .replace("{it}", part),
    }
}

/// "Here you go: cropped to a square and rotated left."
pub fn done(did: &[(String, usize)], pictures: usize) -> String {
    let it = |count: usize| match (count, pictures) {
        (0 | 1, 0 | 1) => "it",
        (0 | 1, _) => "one",
        _ => "them",
    };
    let did: Vec<String> = did.iter().map(|(did, count)| did.replace("{it}", it(*count))).collect();
    match (did.as_slice(), pictures) {
        ([], _) => String::new(),
        ([only], 1) if only == "back to the original" => "Here is the original.".into(),
        ([only], 1) if only == "one step back" => "Here is the version before.".into(),
        ([only], 1) if only == "one step forward" => "Here is the version after.".into(),
        (did, 0 | 1) => format!("Here you go: {}.", joined(did)),
        (did, n) => format!("Done with {n} photos: {}.", joined(did)),
    }
}

/// How alike two pictures are, as the tool measured it, without what is meant for tools.
pub fn compared(text: &str) -> String {
    let told: Vec<String> = readable_lines(text)
        .filter(|line| !line.starts_with("Made:"))
        .map(|line| line.replace(" (SSIM of brightness)", ""))
        .map(|line| match (line.find(", mainly in {"), line.rfind('}')) {
            (Some(from), Some(to)) if from < to => format!("{}{}", &line[..from], &line[to + 1..]),
            _ => line,
        })
        .collect();
    plain(&clipped(&told.join(" "), LONGEST_REASON))
}

/// Characters that no font has, if the tool named any.
pub fn left_out(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("These characters have no glyph"))?;
    let (_, after) = line.split_once("left out: ")?;
    let characters = after.split(". ").next().unwrap_or(after).trim_end_matches('.');
    Some(format!(
        "My fonts don't have these characters, so I left them out: {}",
        plain(&clipped(characters, 60))
    ))
}

pub fn sent(count: usize) -> String {
    if count == 1 { "Here it is.".into() } else { "Here they are.".into() }
}

pub fn listing(text: &str) -> String {
    let lines: Vec<String> = readable_lines(text)
        .map(|line| plain(&clipped(line.trim_start_matches(['-', '*', '•']), 200)))
        .take(60)
        .collect();
    match lines.as_slice() {
        [] => "There are no files yet. Send me one!".into(),
        [only] => only.clone(),
        [..] => format!("Here is what we have:\n{}", bullets(&lines)),
    }
}

/// Lines without ids: those are for tools, not for people.
pub fn readable_lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines()
        .map(|line| {
            let mut readable = line.to_owned();
            while let Some((from, to)) = id_in(&readable) {
                readable.replace_range(from..to, "");
            }
            readable.split_whitespace().collect::<Vec<_>>().join(" ")
        })
        .filter(|line| line.chars().any(char::is_alphanumeric) && !only_an_id_key(line))
}

/// "attachment_id:" with its id taken out.
fn only_an_id_key(line: &str) -> bool {
    let key = line.trim_start_matches(['-', ' ']).to_lowercase();
    key.ends_with(':') && key.contains("id")
}

/// A bracketed or bare id and where it stands.
fn id_in(line: &str) -> Option<(usize, usize)> {
    let is_id = |part: &str| part.len() == 36 && part.parse::<crate::domain::AttachmentId>().is_ok();
    let start = line.char_indices().map(|(at, _)| at).find(|at| line.get(*at..at + 36).is_some_and(is_id))?;
    let end = start + 36;
    let bracketed = line[end..].starts_with(']').then(|| line[..start].rfind('[')).flatten();
    Some(bracketed.map_or((start, end), |open| (open, end + 1)))
}

/// The text of a file in a fence that its own backticks cannot close.
pub fn file_text(text: &str) -> String {
    let text = clipped(text.trim_end(), LONGEST_FILE);
    if text.trim().is_empty() {
        return "There is no text in it.".into();
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}
