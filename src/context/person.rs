//! What the person just said: their words fenced, their files as markers, and what they point at.

use super::{focus::Scene, reply};
use crate::{
    attachments::markers,
    domain::{Attachment, Message},
    providers::{
        Focus, PromptMessage, Shown,
        fence::{fenced, fenced_inline},
    },
};

/// Parts what we tell of a message from the message itself.
const THEIRS: &str = "Their message:";

/// The current turn's messages as one: an album or a burst is one request.
pub fn speaks(inputs: &[Message], scene: &Scene) -> PromptMessage {
    let mut parts = Vec::new();
    if let Some(pointed) = &scene.pointed {
        let asker = inputs.first().and_then(|m| m.user_id.as_ref());
        parts.push(reply::fragment(pointed, asker, &scene.focus));
    }
    if let Some(words) = &scene.late_for_album {
        parts.push(late(words, scene));
    }
    let said: Vec<String> = inputs.iter().map(own).filter(|text| !text.is_empty()).collect();
    if !parts.is_empty() {
        parts.push(THEIRS.to_owned());
    }
    parts.push(if said.is_empty() { "(an empty message)".to_owned() } else { said.join("\n") });
    PromptMessage::User { text: parts.join("\n"), shown: shown(scene) }
}

/// A photo that missed its album is to be treated as the album was.
fn late(words: &str, scene: &Scene) -> String {
    let ids: Vec<_> = scene.focus.album.iter().map(|a| a.attachment_id).collect();
    let asked =
        if words.is_empty() { String::new() } else { format!(" The album came with:\n{}", fenced(words)) };
    let others = markers::with_markers("Its other files, already dealt with:", &ids);
    format!("A late photo of an album that you have already answered.{asked}\n{others}")
}

/// One message of a person from the past.
pub fn message(message: &Message) -> String {
    match message.reply.as_ref().and_then(|reply| reply.attachment) {
        Some(id) => format!("In reply to:\n{}\n{THEIRS}\n{}", markers::marker(id), own(message)),
        None => own(message),
    }
}

/// What they wrote and sent themselves.
fn own(message: &Message) -> String {
    let said = markers::said(message);
    let mut text = if said.trim().is_empty() { String::new() } else { fenced(&said) };
    if let Some(note) = &message.error {
        let note = format!("A file of theirs could not be kept. They are told: {}", fenced_inline(note));
        text = format!("{text}\n{note}").trim_start().to_owned();
    }
    markers::with_markers(&text, &message.attachments)
}

/// What the model should see, the most important first: what came with the words, what they point at and the album
/// around it, then the pictures of what was said before, from the newest on. Other files, such as PDFs, are costly:
/// only those of the message itself or the one it points at are given.
fn shown(scene: &Scene) -> Vec<Shown> {
    let Focus { sent, replied, album, .. } = &scene.focus;
    let near = sent.iter().chain(replied).chain(album.iter().filter(|file| file.is_image()));
    let mut shown: Vec<Shown> = Vec::new();
    for file in near.chain(earlier(scene)) {
        if shown.iter().all(|known| known.attachment.attachment_id != file.attachment_id) {
            shown.push(Shown::whole(file.clone()));
        }
    }
    shown
}

/// A new message with files of its own is about those. And what was only a step on the way to another picture is not
/// made again just to be seen.
fn earlier(scene: &Scene) -> Vec<&Attachment> {
    let Focus { sent, replied, .. } = &scene.focus;
    if !scene.in_thread && !sent.is_empty() {
        return Vec::new();
    }
    let files = scene.thread_files.iter();
    let mut earlier: Vec<_> = files.clone().filter(|file| file.is_image() && file.is_printed()).collect();
    if sent.is_empty() && replied.is_empty() {
        // A question after an answer about a PDF is still about it.
        earlier.extend(files.filter(|file| !file.is_image()).take(1));
    }
    earlier
}
