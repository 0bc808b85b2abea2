//! What the person just said: their words fenced, their files as markers, and what they point at.

use super::{fence::fenced, focus::Scene, reply};
use crate::{
    attachments::markers,
    domain::{Attachment, Message},
    providers::PromptMessage,
};

/// The current turn's messages as one: an album or a burst is one request.
pub fn speaks(inputs: &[Message], scene: &Scene) -> PromptMessage {
    let mut parts = Vec::new();
    if let Some(pointed) = &scene.pointed {
        parts.push(reply::fragment(pointed, &scene.focus));
    }
    if let Some(words) = &scene.late_for_album {
        let ids: Vec<_> = scene.focus.album.iter().map(|a| a.attachment_id).collect();
        let asked = if words.is_empty() {
            String::new()
        } else {
            format!(" It was sent with:\n{}", fenced(words))
        };
        let others = markers::with_markers("", &ids);
        parts.push(format!(
            "(This arrived after the rest of its album was taken up.{asked}\nThe rest of it:\n{others})"
        ));
    }
    parts.extend(inputs.iter().map(message).filter(|text| !text.is_empty()));
    let images = scene
        .focus
        .sent
        .iter()
        .chain(&scene.focus.replied)
        .filter(|a| a.is_image());
    PromptMessage::User {
        text: parts.join("\n"),
        images: unique(images),
    }
}

/// One message of a person, current or past.
pub fn message(message: &Message) -> String {
    let said = markers::said(message);
    let mut text = if said.trim().is_empty() {
        String::new()
    } else {
        fenced(&said)
    };
    if let Some(note) = &message.error {
        text = format!("{text}\n({note} The person is told so.)")
            .trim_start()
            .to_owned();
    }
    markers::with_markers(&text, &message.attachments)
}

fn unique<'a>(attachments: impl Iterator<Item = &'a Attachment>) -> Vec<Attachment> {
    let mut out: Vec<Attachment> = Vec::new();
    for attachment in attachments {
        if out
            .iter()
            .all(|known| known.attachment_id != attachment.attachment_id)
        {
            out.push(attachment.clone());
        }
    }
    out
}
