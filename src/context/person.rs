//! What the person just said: their words fenced, their files as markers, and what they point at.

use super::{focus::Scene, reply};
use crate::{
    attachments::markers,
    domain::{Attachment, Message},
    providers::{
        Focus, PromptMessage, ShownFile,
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
fn shown(scene: &Scene) -> Vec<ShownFile> {
    let Focus { sent, replied, album, .. } = &scene.focus;
    let near = sent.iter().chain(replied).chain(album.iter().filter(|file| file.is_image()));
    let mut shown: Vec<ShownFile> = Vec::new();
    for file in near.chain(earlier(scene)) {
        if shown.iter().all(|known| known.attachment.attachment_id != file.attachment_id) {
            shown.push(ShownFile::whole(file.clone()));
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
    let mut earlier: Vec<_> = files.clone().filter(|file| file.is_image() && file.is_stored()).collect();
    if sent.is_empty() && replied.is_empty() {
        // A question after an answer about a PDF is still about it.
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

    fn scene(focus: Focus, thread_files: Vec<Attachment>) -> Scene {
        Scene { focus, pointed: None, late_for_album: None, in_thread: true, thread_files }
    }

    fn seen(scene: &Scene) -> Vec<u128> {
        shown(scene).iter().map(|shown| shown.attachment.attachment_id.0.as_u128()).collect()
    }

    #[test]
    fn what_came_with_the_words_is_first_then_what_they_point_at_its_album_and_the_thread() {
        let focus = Focus {
            sent: pictures(&[9]),
            replied: pictures(&[5]),
            album: pictures(&[4, 5, 6]),
            ..Focus::default()
        };
        assert_eq!(seen(&scene(focus, pictures(&[8, 7, 6, 5, 4, 3]))), [9, 5, 4, 6, 8, 7, 3]);
    }

    #[test]
    fn a_message_that_begins_something_new_is_about_its_own_files() {
        let new = |sent: &[u128]| Scene {
            in_thread: false,
            ..scene(Focus { sent: pictures(sent), ..Focus::default() }, pictures(&[2, 1]))
        };
        assert_eq!(seen(&new(&[3])), [3]);
        assert_eq!(seen(&new(&[])), [2, 1], "words alone are about what came just before");
    }

    #[test]
    fn pdfs_are_given_when_they_are_sent_or_pointed_at_but_not_again_and_again() {
        let thread = || vec![file(8, PDF), file(7, PICTURE), file(6, PDF)];
        let focus = |sent, replied: Vec<Attachment>| Focus {
            sent,
            album: replied.clone(),
            replied,
            ..Focus::default()
        };
        assert_eq!(seen(&scene(focus(vec![file(9, PDF)], Vec::new()), thread())), [9, 7]);
        assert_eq!(seen(&scene(focus(Vec::new(), vec![file(6, PDF)]), thread())), [6, 7]);
        assert_eq!(seen(&scene(focus(Vec::new(), pictures(&[5])), thread())), [5, 7]);
        assert_eq!(seen(&scene(Focus::default(), thread())), [7, 8], "a question after an answer about it");
        let siblings = Focus {
            replied: vec![file(1, PDF)],
            album: vec![file(1, PDF), file(2, PDF), file(3, PICTURE)],
            ..Focus::default()
        };
        assert_eq!(seen(&scene(siblings, Vec::new())), [1, 3]);
    }

    #[test]
    fn a_step_on_the_way_to_another_picture_is_not_made_again_to_be_seen() {
        let recipe = Recipe { tool: "crop_image".into(), arguments: serde_json::Value::Null };
        let step = Attachment { content: Content::Recipe(recipe), ..file(2, PICTURE) };
        let thread = vec![file(3, PICTURE), step.clone(), file(1, PICTURE)];
        assert_eq!(seen(&scene(Focus::default(), thread.clone())), [3, 1]);
        let pointed = Focus { replied: vec![step], ..Focus::default() };
        assert_eq!(seen(&scene(pointed, thread)), [2, 3, 1], "unless it is what they mean");
    }
}
