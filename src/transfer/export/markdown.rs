//! Renders a conversation as Markdown: messages in order, pictures in place, tool calls between them.

use super::ExportFile;
use crate::{
    attachments::markers,
    domain::{AttachmentId, Message, Reference, ReferenceTarget, Role, Session, ToolCall},
};
use chrono::{DateTime, Utc};
use std::fmt::Write as _;

/// Arguments and results of tools are cut after this many characters.
const MAX_TOOL_CHARS: usize = 200;

/// The text before the first message.
pub fn head(session: &Session, exported_at: DateTime<Utc>) -> String {
    let title = session.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    let title = title.unwrap_or("Conversation");
    format!(
        "# {}\n\n{} messages, begun {}, exported {}\n",
        escape(&one_line(title)),
        session.message_count,
        format_time(session.created_at),
        format_time(exported_at)
    )
}

/// Adds a message. `files` must hold the files that it names.
pub fn write_entry(out: &mut String, files: &[ExportFile], message: &Message) {
    out.push('\n');
    match message.role {
        Role::Tool => write_result(out, message),
        Role::Assistant if !message.tool_calls.is_empty() => write_calls(out, message),
        Role::User | Role::Assistant => write_message(out, files, message),
    }
}

fn find_file(files: &[ExportFile], id: AttachmentId) -> Option<&ExportFile> {
    files.iter().find(|file| file.attachment.attachment_id == id)
}

fn format_time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

fn write_message(out: &mut String, files: &[ExportFile], message: &Message) {
    let author = if message.role == Role::User { "You" } else { "Photothread" };
    let _ = writeln!(out, "## {author}, {}\n", format_time(message.timestamp));
    let words = markers::visible_text(message);
    // The agent writes Markdown, people write plain text.
    let words = if message.role == Role::User { escape(&words) } else { words };
    if !words.trim().is_empty() {
        let _ = writeln!(out, "{}\n", words.trim());
    }
    for file in message.attachments.iter().filter_map(|id| find_file(files, *id)) {
        let _ = writeln!(out, "{}\n", file_link(file));
    }
    if !message.refs.is_empty() {
        out.push_str("Sources:\n\n");
        for reference in &message.refs {
            let _ = writeln!(out, "- {}", source_link(files, reference));
        }
        out.push('\n');
    }
    if !message.tags.is_empty() {
        let tags: Vec<String> = message.tags.iter().map(|tag| escape(tag)).collect();
        let _ = writeln!(out, "Tags: {}\n", tags.join(", "));
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
}

fn file_link(file: &ExportFile) -> String {
    let mark = if file.attachment.is_image() { "!" } else { "" };
    format!("{mark}[{}]({})", escape(&one_line(&file.attachment.filename)), file.path)
}

fn source_link(files: &[ExportFile], reference: &Reference) -> String {
    let address = match reference.target() {
        ReferenceTarget::Attachment(id) => find_file(files, id).map(|file| file.path.clone()),
        ReferenceTarget::Turn(_) => None,
        ReferenceTarget::Web => Some(reference.url.clone()),
    };
    let title = reference.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(&reference.url);
    let title = escape(&one_line(title));
    let link = match address {
        Some(address) => format!("[{title}](<{}>)", address.replace('<', "%3C").replace('>', "%3E")),
        None => title,
    };
    match &reference.kind {
        Some(kind) => format!("{link} ({})", escape(&one_line(kind))),
        None => link,
    }
}

fn write_calls(out: &mut String, message: &Message) {
    if !message.content.trim().is_empty() {
        let _ = writeln!(out, "{}\n", message.content.trim());
    }
    for ToolCall { name, arguments, .. } in &message.tool_calls {
        let _ = writeln!(out, "- **{}** {}", escape(&one_line(name)), code_span(&shorten(arguments)));
    }
}

fn write_result(out: &mut String, message: &Message) {
    let mark = if message.error.is_some() { "✗" } else { "→" };
    let _ = writeln!(out, "  {mark} {}", code_span(&shorten(&message.content)));
}

fn shorten(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(MAX_TOOL_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A code span with a fence longer than any run of backticks inside.
fn code_span(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Escapes plain text, so that Markdown shows it as written.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let (space, rest) = line.split_at(indent);
        // Four spaces would start a code block.
        out.push_str(&space[..indent.min(3)]);
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        for (at, c) in rest.char_indices() {
            let special = matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '~' | '|' | '!');
            let starts_block = at == 0 && matches!(c, '#' | '+' | '-' | '=');
            let starts_list = at == digits && digits > 0 && matches!(c, '.' | ')');
            if special || starts_block || starts_list {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out
}
