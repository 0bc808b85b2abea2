//! Messages of people as the model sees them: fenced text, markers of the files, and the replied-to message.

use super::{focus::TurnFacts, reply};
use crate::{
    attachments::markers,
    domain::{Attachment, Message},
    providers::{
        Focus, PromptMessage, ShownFile,
        fence::{fenced, fenced_inline},
    },
};

/// Separates our description of a message from the message.
const THEIRS: &str = "Their message:";

/// The messages of the current turn as one: an album or a burst is one request.
pub fn current(inputs: &[Message], facts: &TurnFacts) -> PromptMessage {
    let mut parts = Vec::new();
    if let Some(target) = &facts.reply_target {
        let asker = inputs.first().and_then(|m| m.user_id.as_ref());
        parts.push(reply::describe(target, asker, &facts.focus));
    }
    if let Some(text) = &facts.late_for_album {
        parts.push(describe_late_photo(text, facts));
    }
    let texts: Vec<String> = inputs.iter().map(text_and_markers).filter(|text| !text.is_empty()).collect();
    if !parts.is_empty() {
        parts.push(THEIRS.to_owned());
    }
    parts.push(if texts.is_empty() { "(an empty message)".to_owned() } else { texts.join("\n") });
    PromptMessage::User { text: parts.join("\n"), shown: shown_files(facts) }
}

/// A photo that missed its album is edited like the album.
fn describe_late_photo(text: &str, facts: &TurnFacts) -> String {
    let ids: Vec<_> = facts.focus.album.iter().map(|a| a.attachment_id).collect();
    let asked =
        if text.is_empty() { String::new() } else { format!(" The album came with:\n{}", fenced(text)) };
    let others = markers::with_markers("Its other files, already dealt with:", &ids);
    format!("A late photo of an album that you have already answered.{asked}\n{others}")
}

/// One earlier message of a person.
pub fn past(message: &Message) -> String {
    match message.reply.as_ref().and_then(|reply| reply.attachment) {
        Some(id) => format!("In reply to:\n{}\n{THEIRS}\n{}", markers::marker(id), text_and_markers(message)),
        None => text_and_markers(message),
    }
}

/// The text and the files of the message itself.
fn text_and_markers(message: &Message) -> String {
    let said = markers::visible_text(message);
    let mut text = if said.trim().is_empty() { String::new() } else { fenced(&said) };
    if let Some(note) = &message.error {
        let note = format!("A file of theirs could not be kept. They are told: {}", fenced_inline(note));
        text = format!("{text}\n{note}").trim_start().to_owned();
    }
    markers::with_markers(&text, &message.attachments)
}

/// The files that the model should see, most important first: those of the message, the replied-to ones and their album,
/// then earlier pictures, newest first. Other files, such as PDFs, are costly: only those of the message and of the
/// replied-to message are shown.
fn shown_files(facts: &TurnFacts) -> Vec<ShownFile> {
    let Focus { sent, replied, album, .. } = &facts.focus;
    let near = sent.iter().chain(replied).chain(album.iter().filter(|file| file.is_image()));
    let mut shown: Vec<ShownFile> = Vec::new();
    for file in near.chain(earlier_files(facts)) {
        if shown.iter().all(|known| known.attachment.attachment_id != file.attachment_id) {
            shown.push(ShownFile::whole(file.clone()));
        }
    }
    shown
}

/// Files of earlier messages. A new thread with its own files needs none. An intermediate picture that is not stored is
/// not rendered again for this.
fn earlier_files(facts: &TurnFacts) -> Vec<&Attachment> {
    let Focus { sent, replied, .. } = &facts.focus;
    if !facts.in_thread && !sent.is_empty() {
        return Vec::new();
    }
    let files = facts.thread_files.iter();
    let mut earlier: Vec<_> = files.clone().filter(|file| file.is_image() && file.is_stored()).collect();
    if sent.is_empty() && replied.is_empty() {
        // A follow-up question without files may be about the last document.
        earlier.extend(files.filter(|file| !file.is_image()).take(1));
    }
    earlier
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttachmentId, AttachmentSource, Content, Conversation, Recipe};
    use uuid::Uuid;

    const PICTURE: &str = "image/jpeg";
    const PDF: &str = "application/pdf";

    fn file(number: u128, mime: &str) -> Attachment {
        Attachment {
            attachment_id: AttachmentId(Uuid::from_u128(number)),
            conversation: Conversation::telegram(1),
            user_id: crate::domain::UserId("100".into()),
            source: AttachmentSource::User,
            mime_type: mime.into(),
            filename: "a".into(),
            description: None,
            size: 1,
            width: None,
            height: None,
            content: Content::stored("sha256/a", "none"),
            created_at: chrono::DateTime::UNIX_EPOCH,
            parents: Vec::new(),
        }
    }

    fn pictures(numbers: &[u128]) -> Vec<Attachment> {
        numbers.iter().map(|number| file(*number, PICTURE)).collect()
    }

    fn facts(focus: Focus, thread_files: Vec<Attachment>) -> TurnFacts {
        TurnFacts { focus, reply_target: None, late_for_album: None, in_thread: true, thread_files }
    }

    fn seen(facts: &TurnFacts) -> Vec<u128> {
        shown_files(facts).iter().map(|shown| shown.attachment.attachment_id.0.as_u128()).collect()
    }

    #[test]
    fn sent_files_come_first_then_replied_ones_their_album_and_the_thread() {
        let focus = Focus {
            sent: pictures(&[9]),
            replied: pictures(&[5]),
            album: pictures(&[4, 5, 6]),
            ..Focus::default()
        };
        assert_eq!(seen(&facts(focus, pictures(&[8, 7, 6, 5, 4, 3]))), [9, 5, 4, 6, 8, 7, 3]);
    }

    #[test]
    fn a_new_thread_shows_its_own_files_only() {
        let new = |sent: &[u128]| TurnFacts {
            in_thread: false,
            ..facts(Focus { sent: pictures(sent), ..Focus::default() }, pictures(&[2, 1]))
        };
        assert_eq!(seen(&new(&[3])), [3]);
        assert_eq!(seen(&new(&[])), [2, 1], "words alone are about what came just before");
    }

    #[test]
    fn pdfs_are_shown_when_sent_or_replied_to_but_not_repeatedly() {
        let thread = || vec![file(8, PDF), file(7, PICTURE), file(6, PDF)];
        let focus = |sent, replied: Vec<Attachment>| Focus {
            sent,
            album: replied.clone(),
            replied,
            ..Focus::default()
        };
        assert_eq!(seen(&facts(focus(vec![file(9, PDF)], Vec::new()), thread())), [9, 7]);
        assert_eq!(seen(&facts(focus(Vec::new(), vec![file(6, PDF)]), thread())), [6, 7]);
        assert_eq!(seen(&facts(focus(Vec::new(), pictures(&[5])), thread())), [5, 7]);
        assert_eq!(seen(&facts(Focus::default(), thread())), [7, 8], "a question after an answer about it");
        let siblings = Focus {
            replied: vec![file(1, PDF)],
            album: vec![file(1, PDF), file(2, PDF), file(3, PICTURE)],
            ..Focus::default()
        };
        assert_eq!(seen(&facts(siblings, Vec::new())), [1, 3]);
    }

    #[test]
    fn an_intermediate_picture_is_not_rendered_to_be_shown() {
        let recipe = Recipe { tool: "crop_image".into(), arguments: serde_json::Value::Null };
        let step = Attachment { content: Content::Recipe(recipe), ..file(2, PICTURE) };
        let thread = vec![file(3, PICTURE), step.clone(), file(1, PICTURE)];
        assert_eq!(seen(&facts(Focus::default(), thread.clone())), [3, 1]);
        let pointed = Focus { replied: vec![step], ..Focus::default() };
        assert_eq!(seen(&facts(pointed, thread)), [2, 3, 1], "unless it is what they mean");
    }
}
