//! Describes the target of a reply: the message, its turn and the exact attachment.

use super::focus::ReplyTarget;
use crate::{
    attachments::markers::{self, marker},
    domain::{Message, Role, UserId},
    providers::{
        Focus,
        fence::{fenced, fenced_inline},
    },
};

/// Enough to recognise the message; the thread has the full text.
const MAX_EXCERPT_CHARS: usize = 400;

pub fn describe(target: &ReplyTarget, asker: Option<&UserId>, focus: &Focus) -> String {
    let mut lines = Vec::new();
    match &target.message {
        Some(message) => {
            let turn = message.turn_id.map(|id| format!(" (turn {id})")).unwrap_or_default();
            let when = message.timestamp.format("%Y-%m-%d %H:%M UTC");
            lines.push(format!(
                "In reply to {} of {when}{turn}{}:",
                describe_author(message, asker),
                position_in_album(focus)
            ));
            let said = excerpt(&markers::visible_text(message));
            if !said.trim().is_empty() && target.reply.quote.is_none() {
                lines.push(fenced(&said));
            }
        }
        None => lines.push("In reply to a message that is not in this history.".into()),
    }
    if let Some(quote) = &target.reply.quote {
        lines.push(format!("Of it, they quote: {}", fenced_inline(&excerpt(quote))));
    }
    lines.extend(focus.replied.iter().map(|a| marker(a.attachment_id)));
    lines.join("\n")
}

fn describe_author(message: &Message, asker: Option<&UserId>) -> &'static str {
    match message.role {
        Role::Assistant | Role::Tool => "your message",
        Role::User if message.user_id.as_ref() == asker => "their own message",
        Role::User => "another person's message",
    }
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(MAX_EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// ", file 2 of 3" for one file of several.
fn position_in_album(focus: &Focus) -> String {
    match focus.replied.as_slice() {
        [one] if focus.album.len() > 1 => {
            let at = focus.album.iter().position(|a| a.attachment_id == one.attachment_id);
            at.map(|at| format!(", file {} of {}", at + 1, focus.album.len())).unwrap_or_default()
        }
        _ => String::new(),
    }
}
