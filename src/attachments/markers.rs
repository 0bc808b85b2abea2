//! Markers: `[Attachment ID: <uuid>]`, one per line, name the files of a message in the history.

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
#[cfg(test)]
pub fn parse_ids(text: &str) -> Vec<AttachmentId> {
    text.lines().filter_map(marker_line).collect()
}

fn marker_line(line: &str) -> Option<AttachmentId> {
    line.trim().strip_prefix(OPEN)?.strip_suffix(']')?.parse().ok()
}

/// The text of a message without the markers of its files. A marker that a person typed stays.
pub fn visible_text(message: &Message) -> String {
    strip(&message.content, &message.attachments)
}

/// The text without the marker lines of these attachments.
pub fn strip(text: &str, own: &[AttachmentId]) -> String {
    let kept = text.lines().filter(|line| !marker_line(line).is_some_and(|id| own.contains(&id)));
    kept.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_added_one_per_line_and_parsed_back_to_ids() {
        let (a, b) = (AttachmentId::new(), AttachmentId::new());
        let text = with_markers("look\n", &[a, b]);
        assert_eq!(text, format!("look\n[Attachment ID: {a}]\n[Attachment ID: {b}]"));
        assert_eq!(parse_ids(&text), [a, b]);
        assert_eq!(strip(&text, &[a, b]), "look");
    }

    #[test]
    fn markers_that_a_person_typed_stay_in_the_text() {
        let own = AttachmentId::new();
        let typed = with_markers("mine", &[AttachmentId::new()]);
        assert_eq!(strip(&with_markers(&typed, &[own]), &[own]), typed);
    }
}
