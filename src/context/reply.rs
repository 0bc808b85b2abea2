//! What a reply points at, named: the message, its turn and exactly the attachment.

use super::{
    fence::{fenced, fenced_inline},
    focus::Pointed,
};
use crate::{
    attachments::markers::{self, marker},
    domain::Role,
    providers::Focus,
};

/// Enough of the replied-to text to recognise it; the thread has the rest.
const EXCERPT_CHARS: usize = 400;

pub fn fragment(pointed: &Pointed, focus: &Focus) -> String {
    let mut lines = Vec::new();
    match &pointed.message {
        Some(message) => {
            let whose = match message.role {
                Role::User => "a message of theirs or of someone in this chat",
                Role::Assistant | Role::Tool => "your message",
            };
            let turn = message
                .turn_id
                .map(|id| format!(", turn {id}"))
                .unwrap_or_default();
            let when = message.timestamp.format("%Y-%m-%d %H:%M UTC");
            lines.push(format!("(In reply to {whose} of {when}{turn}{}:", which(focus)));
            let said: String = markers::said(message).chars().take(EXCERPT_CHARS).collect();
            if !said.trim().is_empty() && pointed.reply.quote.is_none() {
                lines.push(fenced(&said));
            }
            lines.extend(focus.replied.iter().map(|a| marker(a.attachment_id)));
        }
        None => lines.push("(In reply to a message that is not in this history:".into()),
    }
    if let Some(quote) = &pointed.reply.quote {
        let quote: String = quote.chars().take(EXCERPT_CHARS).collect();
        lines.push(format!("they quote {}", fenced_inline(&quote)));
    }
    format!("{})", lines.join("\n"))
}

/// ", photo 2 of 3" when one of several is meant.
fn which(focus: &Focus) -> String {
    match focus.replied.as_slice() {
        [one] if focus.album.len() > 1 => {
            let at = focus
                .album
                .iter()
                .position(|a| a.attachment_id == one.attachment_id);
            at.map(|at| format!(", file {} of {}", at + 1, focus.album.len()))
                .unwrap_or_default()
        }
        _ => String::new(),
    }
}
