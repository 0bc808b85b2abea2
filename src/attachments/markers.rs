//! `[Attachment ID: <uuid>]`, one per line: how history, people's messages and tool results name files.

use crate::domain::{AttachmentId, Message};

const OPEN: &str = "[Attachment ID: ";

pub fn marker(id: AttachmentId) -> String {
    format!("{OPEN}{id}]")
}

/// Text followed by one marker line per attachment.
pub fn with_markers(text: &str, ids: &[AttachmentId]) -> String {
    let mut out = text.trim_end().to_owned();
    for id in ids {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&marker(*id));
    }
    out
}

/// The ids of all marker lines, in order.
pub fn ids(text: &str) -> Vec<AttachmentId> {
    text.lines().filter_map(marker_line).collect()
}

fn marker_line(line: &str) -> Option<AttachmentId> {
    line.trim().strip_prefix(OPEN)?.strip_suffix(']')?.parse().ok()
}

/// What a message says without the markers of what it carries. A marker that someone merely typed stays.
pub fn said(message: &Message) -> String {
    without(&message.content, &message.attachments)
}

/// The text without the marker lines of these attachments.
pub fn without(text: &str, own: &[AttachmentId]) -> String {
    let kept = text.lines().filter(|line| !marker_line(line).is_some_and(|id| own.contains(&id)));
    kept.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_go_one_per_line_after_the_text_and_come_back_as_ids() {
        let (a, b) = (AttachmentId::new(), AttachmentId::new());
        let text = with_markers("look\n", &[a, b]);
        assert_eq!(text, format!("look\n[Attachment ID: {a}]\n[Attachment ID: {b}]"));
        assert_eq!(ids(&text), [a, b]);
        assert_eq!(without(&text, &[a, b]), "look");
    }

    #[test]
    fn a_marker_that_a_person_typed_stays_in_their_words() {
        let own = AttachmentId::new();
        let typed = with_markers("mine", &[AttachmentId::new()]);
        assert_eq!(without(&with_markers(&typed, &[own]), &[own]), typed);
    }
}
