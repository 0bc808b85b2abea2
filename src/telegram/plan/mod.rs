//! Plans the sends of an answer: which files go as an album, a photo or a document, and where the text goes. Pure: the
//! outbox stores the plan and `send` executes it.

mod formatted;
mod markdown;
mod send_request;
mod split;

pub use formatted::{Formatted, units};
pub use markdown::render;
pub use send_request::{SendFile, SendRequest};
pub use split::{MAX_TEXT_UNITS, split};

use super::messages;
use crate::domain::{Answer, Attachment, Conversation, PlannedSend, Recipe, UserId};
use serde_json::Value;
use split::MAX_CAPTION_UNITS;

/// Items in one album.
const MAX_GROUP_ITEMS: usize = 10;
/// Telegram's 10 MB for a photo, in the smaller of its two readings.
const MAX_PHOTO_BYTES: i64 = 10_000_000;
/// Width plus height in pixels.
const MAX_PHOTO_SIDES: i64 = 10_000;
const MAX_PHOTO_RATIO: i64 = 20;
const PHOTO_TYPES: [&str; 3] = ["image/jpeg", "image/png", "image/webp"];

/// The sends of an answer of the agent, in order.
pub fn plan_answer(answer: &Answer) -> Vec<PlannedSend> {
    planned(plan(&render(&answer.text), &answer.attachments))
}

/// The sends of one of the bot's own messages.
pub fn plan_message(markdown: &str) -> Vec<PlannedSend> {
    planned(plan(&render(markdown), &[]))
}

/// The same for one person: in a group only that person sees it, where Telegram has that.
pub fn plan_for_one(conversation: &Conversation, receiver: &UserId, markdown: &str) -> Vec<PlannedSend> {
    if !conversation.is_shared() {
        return plan_message(markdown);
    }
    let texts = split(&render(markdown), MAX_TEXT_UNITS).into_iter();
    planned(texts.map(|body| SendRequest::EphemeralText { body, receiver: receiver.clone() }).collect())
}

/// The sends that show a message in the chat that a person wrote on the web. Its words are sent as they were written.
pub fn plan_echo(message: &Answer) -> Vec<PlannedSend> {
    planned(plan(&Formatted::plain(messages::from_the_web(&message.text)), &message.attachments))
}

fn planned(requests: Vec<SendRequest>) -> Vec<PlannedSend> {
    requests.into_iter().map(SendRequest::into_planned).collect()
}

/// A short text becomes the caption of the first file. A longer one is sent before the files.
fn plan(text: &Formatted, attachments: &[Attachment]) -> Vec<SendRequest> {
    let mut sends = plan_files(attachments);
    if let Some(first) = sends.first_mut() {
        match <[Formatted; 1]>::try_from(split(text, MAX_CAPTION_UNITS)) {
            Ok([caption]) => {
                first.set_caption(caption);
                return sends;
            }
            Err(pieces) if pieces.is_empty() => return sends,
            Err(_) => {}
        }
    }
    let texts = split(text, MAX_TEXT_UNITS).into_iter().map(|body| SendRequest::Text { body });
    texts.chain(sends).collect()
}

fn plan_files(attachments: &[Attachment]) -> Vec<SendRequest> {
    let mut sends = Vec::new();
    for run in attachments.chunk_by(|one, next| is_photo(one) && is_photo(next)) {
        if !run.first().is_some_and(is_photo) {
            sends.extend(run.iter().map(|file| SendRequest::Document { file: file.into(), caption: None }));
            continue;
        }
        let mut rest = run;
        for size in group_sizes(run.len()) {
            let (group, later) = rest.split_at(size);
            rest = later;
            sends.push(match group {
                [file] => SendRequest::Photo { file: file.into(), caption: None },
                files => SendRequest::MediaGroup {
                    files: files.iter().map(SendFile::from).collect(),
                    caption: None,
                },
            });
        }
    }
    sends
}

/// As few groups as possible, all about the same size, so that no photo is left alone.
fn group_sizes(count: usize) -> Vec<usize> {
    let groups = count.div_ceil(MAX_GROUP_ITEMS);
    (0..groups).map(|group| count / groups + usize::from(group < count % groups)).collect()
}

/// Whether Telegram accepts the file as a photo and shows all of it.
fn is_photo(file: &Attachment) -> bool {
    let (Some(width), Some(height)) = (file.width, file.height) else {
        return false;
    };
    let (short, long) = (width.min(height), width.max(height));
    PHOTO_TYPES.contains(&file.mime_type.as_str())
        && !wanted_as_file(file)
        && file.size <= MAX_PHOTO_BYTES
        && short > 0
        && width.saturating_add(height) <= MAX_PHOTO_SIDES
        && long <= short.saturating_mul(MAX_PHOTO_RATIO)
}

/// A person who asked for a format or a size in bytes wants exactly that file, and Telegram re-encodes photos as JPEG.
/// A WebP that a tool made is such a file or an animation, which would lose its frames. A photo has no transparency.
fn wanted_as_file(file: &Attachment) -> bool {
    file.recipe().is_some_and(|recipe| {
        recipe.tool == "convert_image"
            || file.mime_type == "image/webp"
            || is_transparent_cut_out(file, recipe)
    })
}

fn is_transparent_cut_out(file: &Attachment, recipe: &Recipe) -> bool {
    let cuts = |recipe: &Value| recipe["tool"] == "cut_out_image";
    let edits = recipe.arguments["edits"].as_array();
    let cut = recipe.tool == "cut_out_image" || edits.is_some_and(|edits| edits.iter().any(cuts));
    cut && file.mime_type == "image/png"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttachmentId, AttachmentSource, Content, SendKind};
    use proptest::prelude::*;
    use serde_json::json;

    fn image() -> Attachment {
        Attachment {
            attachment_id: AttachmentId::new(),
            conversation: Conversation::telegram(1),
            user_id: crate::domain::UserId("100".into()),
            source: AttachmentSource::Tool,
            mime_type: "image/jpeg".into(),
            filename: "a.jpg".into(),
            description: None,
            size: 1000,
            width: Some(640),
            height: Some(480),
            content: Content::stored("ab/ab", "ab"),
            created_at: chrono::DateTime::UNIX_EPOCH,
            parents: vec![],
        }
    }

    fn document() -> Attachment {
        Attachment { mime_type: "application/pdf".into(), width: None, height: None, ..image() }
    }

    fn sends_of(text: &str, attachments: Vec<Attachment>) -> Vec<SendRequest> {
        plan(&render(text), &attachments)
    }

    /// `group3 photo document text`, an asterisk where there is a caption.
    fn shape(sends: &[SendRequest]) -> String {
        let name = |send: &SendRequest| match send {
            SendRequest::Text { .. }
            | SendRequest::EphemeralText { .. }
            | SendRequest::LoginLink {}
            | SendRequest::OpenTopic { .. } => "text".to_owned(),
            SendRequest::Photo { caption, .. } => {
                format!("photo{}", if caption.is_some() { "*" } else { "" })
            }
            SendRequest::Document { caption, .. } => {
                format!("document{}", if caption.is_some() { "*" } else { "" })
            }
            SendRequest::MediaGroup { files, caption } | SendRequest::DocumentGroup { files, caption } => {
                format!("group{}{}", files.len(), if caption.is_some() { "*" } else { "" })
            }
        };
        sends.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    fn images(count: usize) -> Vec<Attachment> {
        (0..count).map(|_| image()).collect()
    }

    #[test]
    fn a_refused_send_falls_back_to_documents_and_then_to_text() {
        let mut send = sends_of("*hi*", images(2)).remove(0);
        let mut kinds = Vec::new();
        loop {
            kinds.push(match &send {
                SendRequest::MediaGroup { .. } => "photos",
                SendRequest::DocumentGroup { .. } => "documents",
                SendRequest::Text { .. } => "words",
                other => panic!("{other:?}"),
            });
            match send.fallback() {
                Some(other) => send = other,
                None => break,
            }
        }
        assert_eq!(kinds, ["photos", "documents", "words"]);
    }

    #[test]
    fn images_go_in_few_even_groups_and_no_image_is_left_alone() {
        for (count, expected) in [
            (1, "photo"),
            (2, "group2"),
            (10, "group10"),
            (11, "group6 group5"),
            (20, "group10 group10"),
            (21, "group7 group7 group7"),
        ] {
            assert_eq!(shape(&sends_of("", images(count))), expected);
        }
    }

    #[test]
    fn documents_break_a_run_and_order_is_kept() {
        let files = vec![image(), image(), document(), image(), document(), document()];
        assert_eq!(shape(&sends_of("", files)), "group2 document photo document document");
    }

    #[test]
    fn a_file_that_telegram_refuses_as_a_photo_goes_as_a_document() {
        let refused = [
            Attachment { size: 10 * 1024 * 1024, ..image() },
            Attachment { width: Some(9000), height: Some(1001), ..image() },
            Attachment { width: Some(2001), height: Some(100), ..image() },
            Attachment { width: None, ..image() },
            Attachment { height: Some(0), ..image() },
            Attachment { mime_type: "image/gif".into(), ..image() },
            Attachment { mime_type: "image/svg+xml".into(), ..image() },
            Attachment { mime_type: "image/heic".into(), ..image() },
        ];
        for file in refused {
            assert_eq!(shape(&sends_of("", vec![image(), file, image()])), "photo document photo");
        }
        let accepted = [
            Attachment { size: 9_999_999, ..image() },
            Attachment { width: Some(9000), height: Some(1000), ..image() },
            Attachment { width: Some(100), height: Some(2000), ..image() },
            Attachment { mime_type: "image/webp".into(), ..image() },
            Attachment { mime_type: "image/png".into(), ..image() },
        ];
        for file in accepted {
            assert_eq!(shape(&sends_of("", vec![file])), "photo");
        }
    }

    #[test]
    fn a_short_text_is_the_caption_of_the_first_send() {
        assert_eq!(shape(&sends_of("Hi", images(1))), "photo*");
        assert_eq!(shape(&sends_of("Hi", images(11))), "group6* group5");
        assert_eq!(shape(&sends_of("Hi", vec![document(), image()])), "document* photo");
        assert_eq!(shape(&sends_of(&"x".repeat(MAX_CAPTION_UNITS), images(2))), "group2*");
    }

    #[test]
    fn a_caption_is_measured_without_its_markup() {
        let markup = format!("**{}**", "x".repeat(MAX_CAPTION_UNITS));
        assert_eq!(shape(&sends_of(&markup, images(1))), "photo*");
        assert_eq!(shape(&sends_of(&"😀".repeat(MAX_CAPTION_UNITS / 2 + 1), images(1))), "text photo");
    }

    #[test]
    fn a_converted_or_animated_file_goes_as_a_document() {
        let made_with = |tool: &str, mime: &str| Attachment {
            mime_type: mime.into(),
            content: Content::Recipe(Recipe { tool: tool.into(), arguments: json!({}) }),
            ..image()
        };
        let converted = made_with("convert_image", "image/jpeg");
        let animation = made_with("animate_images", "image/webp");
        assert!(is_photo(&made_with("crop_image", "image/jpeg")));
        for file in [converted, animation] {
            let sends = sends_of("", vec![file]);
            assert!(matches!(sends[..], [SendRequest::Document { .. }]), "{sends:?}");
        }
    }

    #[test]
    fn a_long_text_goes_before_the_files() {
        assert_eq!(shape(&sends_of(&"x".repeat(MAX_CAPTION_UNITS + 1), images(2))), "text group2");
        assert_eq!(shape(&sends_of(&"x ".repeat(MAX_TEXT_UNITS), vec![document()])), "text text document");
    }

    #[test]
    fn text_alone_and_files_alone_need_no_caption() {
        assert_eq!(shape(&sends_of("Hi", vec![])), "text");
        assert_eq!(shape(&sends_of(" \n", images(2))), "group2");
        assert_eq!(shape(&sends_of(" \n", vec![])), "");
    }

    #[test]
    fn a_planned_send_has_items_attachments_and_a_payload_that_parses() {
        let files = images(3);
        let ids: Vec<_> = files.iter().map(|file| file.attachment_id).collect();
        let send = sends_of("**Done** [here](https://example.com)", files).remove(0);
        let planned_send = send.clone().into_planned();
        assert_eq!((planned_send.kind, planned_send.items), (SendKind::MediaGroup, 3));
        assert_eq!(planned_send.attachments, ids);
        assert_eq!(serde_json::from_value::<SendRequest>(planned_send.payload).unwrap(), send);

        let text = sends_of("Hi", vec![]).remove(0).into_planned();
        assert_eq!((text.kind, text.items, text.attachments.len()), (SendKind::Text, 1, 0));
    }

    proptest! {
        #[test]
        fn every_file_goes_once_in_order_and_groups_are_legal(
            kinds in proptest::collection::vec(prop::bool::weighted(0.9), 0..60),
            text in "[a-z ]{0,20}",
        ) {
            let files: Vec<_> = kinds.iter().map(|is_image| if *is_image { image() } else { document() }).collect();
            let ids: Vec<_> = files.iter().map(|file| file.attachment_id).collect();
            let sends = sends_of(&text, files);
            let sent: Vec<_> = sends.iter().flat_map(|s| s.files()).map(|file| file.attachment_id).collect();
            prop_assert_eq!(sent, ids);
            for send in &sends {
                if let SendRequest::MediaGroup { files, .. } = send {
                    prop_assert!((2..=MAX_GROUP_ITEMS).contains(&files.len()));
                }
            }
            let runs = kinds.split(|is_image| !is_image).map(<[bool]>::len);
            let lone = sends.iter().filter(|send| matches!(send, SendRequest::Photo { .. })).count();
            prop_assert_eq!(lone, runs.filter(|run| *run == 1).count());
            prop_assert_eq!(shape(&sends).matches('*').count() + shape(&sends).matches("text").count(),
                usize::from(!text.trim().is_empty()));
        }
    }
}
