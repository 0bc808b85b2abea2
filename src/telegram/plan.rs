//! An answer → the sends that carry it: what goes as an album, a photo, a document or text, and who bears the
//! caption. Pure; the outbox keeps the plan and the sender executes it.

use super::{
    render::{Formatted, markdown},
    split::{CAPTION_UNITS, TEXT_UNITS, split},
};
use crate::domain::{Answer, Attachment, AttachmentId, PlannedSend, SendKind};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Items in one album.
pub const MAX_GROUP: usize = 10;
/// Telegram's 10 MB for a photo, whichever way it counts them.
const MAX_PHOTO_BYTES: i64 = 10_000_000;
const MAX_PHOTO_SIDES: i64 = 10_000;
const MAX_PHOTO_RATIO: i64 = 20;
const PHOTO_TYPES: [&str; 3] = ["image/jpeg", "image/png", "image/webp"];

/// One request to Telegram, as the outbox stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Send {
    Text {
        body: Formatted,
    },
    /// A link that logs in whoever this private chat is with. It is made when it is sent: the outbox must not hold it.
    LoginLink {},
    Photo {
        file: SendFile,
        caption: Option<Formatted>,
    },
    /// Two to ten photos; the caption sits on the first.
    MediaGroup {
        files: Vec<SendFile>,
        caption: Option<Formatted>,
    },
    Document {
        file: SendFile,
        caption: Option<Formatted>,
    },
    /// A group of photos that Telegram would not take as photos.
    DocumentGroup {
        files: Vec<SendFile>,
        caption: Option<Formatted>,
    },
}

/// What the sender needs to upload a stored file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendFile {
    pub attachment_id: AttachmentId,
    pub object_key: String,
    pub filename: String,
    pub mime_type: String,
}

/// The sends of an answer, in order. A short text is the caption of the first file; a longer one goes ahead of them.
pub fn plan(answer: &Answer) -> Vec<Send> {
    planned(&markdown(&answer.text), &answer.attachments)
}

/// The same with words that are a person's own: they are shown as they were written.
pub fn plan_verbatim(message: &Answer) -> Vec<Send> {
    planned(&Formatted::plain(message.text.clone()), &message.attachments)
}

fn planned(text: &Formatted, attachments: &[Attachment]) -> Vec<Send> {
    let mut sends = files(attachments);
    if let Some(first) = sends.first_mut() {
        match <[Formatted; 1]>::try_from(split(text, CAPTION_UNITS)) {
            Ok([caption]) => {
                first.set_caption(caption);
                return sends;
            }
            Err(pieces) if pieces.is_empty() => return sends,
            Err(_) => {}
        }
    }
    let texts = split(text, TEXT_UNITS).into_iter().map(|body| Send::Text { body });
    texts.chain(sends).collect()
}

impl Send {
    pub fn kind(&self) -> SendKind {
        match self {
            Self::Text { .. } | Self::LoginLink {} => SendKind::Text,
            Self::Photo { .. } => SendKind::Photo,
            Self::MediaGroup { .. } | Self::DocumentGroup { .. } => SendKind::MediaGroup,
            Self::Document { .. } => SendKind::Document,
        }
    }

    pub fn files(&self) -> &[SendFile] {
        match self {
            Self::Text { .. } | Self::LoginLink {} => &[],
            Self::Photo { file, .. } | Self::Document { file, .. } => std::slice::from_ref(file),
            Self::MediaGroup { files, .. } | Self::DocumentGroup { files, .. } => files,
        }
    }

    pub fn into_planned(self) -> PlannedSend {
        let attachments: Vec<_> = self.files().iter().map(|file| file.attachment_id).collect();
        PlannedSend {
            kind: self.kind(),
            payload: json!(self),
            items: attachments.len().max(1) as i64,
            attachments,
        }
    }

    /// The same content in a shape that Telegram may take when it has refused this one; none if there is no other.
    pub fn gentler(self) -> Option<Self> {
        match self {
            Self::LoginLink {} => None,
            Self::Text { body } if body.entities.is_empty() => None,
            Self::Text { body } => Some(Self::Text { body: Formatted::plain(body.text) }),
            Self::Photo { file, caption } => Some(Self::Document { file, caption }),
            Self::MediaGroup { files, caption } => Some(Self::DocumentGroup { files, caption }),
            Self::Document { .. } | Self::DocumentGroup { .. } => {
                let names: Vec<&str> = self.files().iter().map(|file| file.filename.as_str()).collect();
                let text = super::says::telegram_refused(&names);
                Some(Self::Text { body: Formatted::plain(text) })
            }
        }
    }

    fn set_caption(&mut self, text: Formatted) {
        match self {
            Self::LoginLink {} => {}
            Self::Text { body } => *body = text,
            Self::Photo { caption, .. }
            | Self::MediaGroup { caption, .. }
            | Self::Document { caption, .. }
            | Self::DocumentGroup { caption, .. } => {
                *caption = Some(text);
            }
        }
    }
}

impl From<&Attachment> for SendFile {
    fn from(attachment: &Attachment) -> Self {
        Self {
            attachment_id: attachment.attachment_id,
            // Every file of an answer is stored before its sends are planned.
            object_key: attachment.object_key().unwrap_or_default().to_owned(),
            filename: attachment.filename.clone(),
            mime_type: attachment.mime_type.clone(),
        }
    }
}

fn files(attachments: &[Attachment]) -> Vec<Send> {
    let mut sends = Vec::new();
    for run in attachments.chunk_by(|one, next| is_photo(one) && is_photo(next)) {
        if !run.first().is_some_and(is_photo) {
            sends.extend(run.iter().map(|file| Send::Document { file: file.into(), caption: None }));
            continue;
        }
        let mut rest = run;
        for size in group_sizes(run.len()) {
            let (group, later) = rest.split_at(size);
            rest = later;
            sends.push(match group {
                [file] => Send::Photo { file: file.into(), caption: None },
                files => {
                    Send::MediaGroup { files: files.iter().map(SendFile::from).collect(), caption: None }
                }
            });
        }
    }
    sends
}

/// As few groups as possible, all about the same size, so that none is left with a single photo.
fn group_sizes(count: usize) -> Vec<usize> {
    let groups = count.div_ceil(MAX_GROUP);
    (0..groups).map(|group| count / groups + usize::from(group < count % groups)).collect()
}

/// Whether Telegram takes it as a photo; it refuses the others, or would show only their first frame.
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

/// Whoever asked for a format or a size in bytes wants that very file; of a photo Telegram makes a JPEG of its own.
/// A WebP that we made is either that or an animation, which would lose its frames.
fn wanted_as_file(file: &Attachment) -> bool {
    file.recipe().is_some_and(|recipe| recipe.tool == "convert_image" || file.mime_type == "image/webp")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttachmentSource, Content, Conversation, Recipe};
    use proptest::prelude::*;

    fn image() -> Attachment {
        Attachment {
            attachment_id: AttachmentId::new(),
            conversation: Conversation::telegram(1),
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

    fn planned(text: &str, attachments: Vec<Attachment>) -> Vec<Send> {
        plan(&Answer { text: text.into(), attachments })
    }

    /// `group3 photo document text`, an asterisk where there is a caption.
    fn shape(sends: &[Send]) -> String {
        let name = |send: &Send| match send {
            Send::Text { .. } | Send::LoginLink {} => "text".to_owned(),
            Send::Photo { caption, .. } => format!("photo{}", if caption.is_some() { "*" } else { "" }),
            Send::Document { caption, .. } => format!("document{}", if caption.is_some() { "*" } else { "" }),
            Send::MediaGroup { files, caption } | Send::DocumentGroup { files, caption } => {
                format!("group{}{}", files.len(), if caption.is_some() { "*" } else { "" })
            }
        };
        sends.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    fn images(count: usize) -> Vec<Attachment> {
        (0..count).map(|_| image()).collect()
    }

    #[test]
    fn a_refused_send_is_tried_in_gentler_shapes_until_only_words_are_left() {
        let mut send = planned("*hi*", images(2)).remove(0);
        let mut kinds = Vec::new();
        loop {
            kinds.push(match &send {
                Send::MediaGroup { .. } => "photos",
                Send::DocumentGroup { .. } => "documents",
                Send::Text { .. } => "words",
                other => panic!("{other:?}"),
            });
            match send.gentler() {
                Some(other) => send = other,
                None => break,
            }
        }
        assert_eq!(kinds, ["photos", "documents", "words"]);
    }

    #[test]
    fn images_go_in_few_even_groups_and_none_is_left_alone() {
        for (count, expected) in [
            (1, "photo"),
            (2, "group2"),
            (10, "group10"),
            (11, "group6 group5"),
            (20, "group10 group10"),
            (21, "group7 group7 group7"),
        ] {
            assert_eq!(shape(&planned("", images(count))), expected);
        }
    }

    #[test]
    fn documents_break_a_run_and_order_is_kept() {
        let files = vec![image(), image(), document(), image(), document(), document()];
        assert_eq!(shape(&planned("", files)), "group2 document photo document document");
    }

    #[test]
    fn what_telegram_refuses_as_a_photo_goes_as_a_document() {
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
            assert_eq!(shape(&planned("", vec![image(), file, image()])), "photo document photo");
        }
        let accepted = [
            Attachment { size: 9_999_999, ..image() },
            Attachment { width: Some(9000), height: Some(1000), ..image() },
            Attachment { width: Some(100), height: Some(2000), ..image() },
            Attachment { mime_type: "image/webp".into(), ..image() },
            Attachment { mime_type: "image/png".into(), ..image() },
        ];
        for file in accepted {
            assert_eq!(shape(&planned("", vec![file])), "photo");
        }
    }

    #[test]
    fn a_short_text_is_the_caption_of_the_first_send() {
        assert_eq!(shape(&planned("Hi", images(1))), "photo*");
        assert_eq!(shape(&planned("Hi", images(11))), "group6* group5");
        assert_eq!(shape(&planned("Hi", vec![document(), image()])), "document* photo");
        assert_eq!(shape(&planned(&"x".repeat(CAPTION_UNITS), images(2))), "group2*");
    }

    #[test]
    fn a_caption_is_measured_as_it_is_shown() {
        let markup = format!("**{}**", "x".repeat(CAPTION_UNITS));
        assert_eq!(shape(&planned(&markup, images(1))), "photo*");
        assert_eq!(shape(&planned(&"😀".repeat(CAPTION_UNITS / 2 + 1), images(1))), "text photo");
    }

    #[test]
    fn whoever_asks_for_a_format_gets_that_file_and_not_a_photo_of_it() {
        let made_with = |tool: &str, mime: &str| Attachment {
            mime_type: mime.into(),
            content: Content::Recipe(Recipe { tool: tool.into(), arguments: json!({}) }),
            ..image()
        };
        let converted = made_with("convert_image", "image/jpeg");
        let animation = made_with("animate_images", "image/webp");
        assert!(is_photo(&made_with("crop_image", "image/jpeg")));
        for file in [converted, animation] {
            let sends = plan(&Answer { text: String::new(), attachments: vec![file] });
            assert!(matches!(sends[..], [Send::Document { .. }]), "{sends:?}");
        }
    }

    #[test]
    fn a_long_text_goes_first_and_whole() {
        assert_eq!(shape(&planned(&"x".repeat(CAPTION_UNITS + 1), images(2))), "text group2");
        assert_eq!(shape(&planned(&"x ".repeat(TEXT_UNITS), vec![document()])), "text text document");
    }

    #[test]
    fn text_alone_files_alone_and_nothing_at_all() {
        assert_eq!(shape(&planned("Hi", vec![])), "text");
        assert_eq!(shape(&planned(" \n", images(2))), "group2");
        assert_eq!(shape(&planned(" \n", vec![])), "");
    }

    #[test]
    fn the_outbox_gets_items_attachments_and_a_payload_that_reads_back() {
        let files = images(3);
        let ids: Vec<_> = files.iter().map(|file| file.attachment_id).collect();
        let send = planned("**Done** [here](https://example.com)", files).remove(0);
        let planned_send = send.clone().into_planned();
        assert_eq!((planned_send.kind, planned_send.items), (SendKind::MediaGroup, 3));
        assert_eq!(planned_send.attachments, ids);
        assert_eq!(serde_json::from_value::<Send>(planned_send.payload).unwrap(), send);

        let text = planned("Hi", vec![]).remove(0).into_planned();
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
            let sends = planned(&text, files);
            let sent: Vec<_> = sends.iter().flat_map(|s| s.files()).map(|file| file.attachment_id).collect();
            prop_assert_eq!(sent, ids);
            for send in &sends {
                if let Send::MediaGroup { files, .. } = send {
                    prop_assert!((2..=MAX_GROUP).contains(&files.len()));
                }
            }
            let runs = kinds.split(|is_image| !is_image).map(<[bool]>::len);
            let lone = sends.iter().filter(|send| matches!(send, Send::Photo { .. })).count();
            prop_assert_eq!(lone, runs.filter(|run| *run == 1).count());
            prop_assert_eq!(shape(&sends).matches('*').count() + shape(&sends).matches("text").count(),
                usize::from(!text.trim().is_empty()));
        }
    }
}
