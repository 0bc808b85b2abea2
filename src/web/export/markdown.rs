//! A conversation to read: who said what, the pictures in their place, and the tools between.

use super::{Export, File};
use crate::{
    attachments::markers,
    domain::{Message, Reference, Role, Target, ToolCall},
};
use chrono::{DateTime, Utc};
use std::fmt::Write as _;

/// Enough of a tool's arguments or result to understand what it did.
const GIST_CHARS: usize = 200;

pub fn of(export: &Export) -> String {
    let session = &export.session;
    let title = if session.title.trim().is_empty() { "Conversation" } else { session.title.trim() };
    let mut out = format!(
        "# {}\n\n{} messages, begun {}, exported {}\n",
        escaped(&one_line(title)),
        session.message_count,
        time(session.created_at),
        time(export.at)
    );
    for message in &export.messages {
        out.push('\n');
        match message.role {
            Role::Tool => tool(&mut out, message),
            Role::Assistant if !message.tool_calls.is_empty() => calls(&mut out, message),
            Role::User | Role::Assistant => said(&mut out, export, message),
        }
    }
    out
}

fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

fn said(out: &mut String, export: &Export, message: &Message) {
    let who = if message.role == Role::User { "You" } else { "Photothread" };
    let _ = writeln!(out, "## {who}, {}\n", time(message.timestamp));
    let words = markers::said(message);
    // The agent writes Markdown; people write words.
    let words = if message.role == Role::User { escaped(&words) } else { words };
    if !words.trim().is_empty() {
        let _ = writeln!(out, "{}\n", words.trim());
    }
    for file in message.attachments.iter().filter_map(|id| export.path_of(*id)) {
        let _ = writeln!(out, "{}\n", shown(file));
    }
    if !message.refs.is_empty() {
        out.push_str("Sources:\n\n");
        for reference in &message.refs {
            let _ = writeln!(out, "- {}", source(export, reference));
        }
        out.push('\n');
    }
    if !message.tags.is_empty() {
        let tags: Vec<String> = message.tags.iter().map(|tag| escaped(tag)).collect();
        let _ = writeln!(out, "Tags: {}\n", tags.join(", "));
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
}

fn shown(file: &File) -> String {
    let mark = if file.attachment.is_image() { "!" } else { "" };
    format!("{mark}[{}]({})", escaped(&one_line(&file.attachment.filename)), file.path)
}

fn source(export: &Export, reference: &Reference) -> String {
    let address = match reference.target() {
        Target::Attachment(id) => export.path_of(id).map(|file| file.path.clone()),
        Target::Turn(_) => None,
        Target::Web => Some(reference.url.clone()),
    };
    let title = reference.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(&reference.url);
    let title = escaped(&one_line(title));
    let link = match address {
        Some(address) => format!("[{title}](<{}>)", address.replace('<', "%3C").replace('>', "%3E")),
        None => title,
    };
    match &reference.kind {
        Some(kind) => format!("{link} ({})", escaped(&one_line(kind))),
        None => link,
    }
}

fn calls(out: &mut String, message: &Message) {
    if !message.content.trim().is_empty() {
        let _ = writeln!(out, "{}\n", message.content.trim());
    }
    for ToolCall { name, arguments, .. } in &message.tool_calls {
        let _ = writeln!(out, "- **{}** {}", escaped(&one_line(name)), code(&gist(arguments)));
    }
}

fn tool(out: &mut String, message: &Message) {
    let mark = if message.error.is_some() { "✗" } else { "→" };
    let _ = writeln!(out, "  {mark} {}", code(&gist(&message.content)));
}

fn gist(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(GIST_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Between as many backticks as it takes for those inside to be only backticks.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Words as they were written, whatever they would mean as Markdown.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let (space, rest) = line.split_at(indent);
        // Four spaces would be code.
        out.push_str(&space[..indent.min(3)]);
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        for (at, c) in rest.char_indices() {
            let special = matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '~' | '|' | '!');
            let begins = at == 0 && matches!(c, '#' | '+' | '-' | '=');
            let numbers = at == digits && digits > 0 && matches!(c, '.' | ')');
            if special || begins || numbers {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out
}
