//! Builds and makes the Bot API request of a send.

use super::ephemeral::send_ephemeral;
use crate::telegram::{
    Telegram,
    place::Place,
    plan::{Formatted, SendRequest},
};
use teloxide::{
    RequestError,
    payloads::{SendDocumentSetters as _, SendMessageSetters as _},
    requests::Requester as _,
    types::{
        ChatAction, InputFile, InputMedia, InputMediaDocument, InputMediaPhoto, LinkPreviewOptions, Message,
        MessageEntity, MessageId, ReplyParameters,
    },
};
use tracing::debug;

/// The parts of a request that the outbox does not hold.
#[derive(Default)]
pub struct PreparedSend {
    pub files: Vec<InputFile>,
    /// The text with the login link.
    pub text: String,
}

/// Replies to this message, or to none if it is gone.
pub fn reply_parameters(message_id: Option<&str>) -> Option<ReplyParameters> {
    let id = message_id?.parse().ok()?;
    Some(ReplyParameters::new(MessageId(id)).allow_sending_without_reply())
}

pub async fn send(
    telegram: &Telegram,
    place: Place,
    request: &SendRequest,
    PreparedSend { files, text }: PreparedSend,
    reply: Option<ReplyParameters>,
) -> Result<Vec<Message>, RequestError> {
    let (bot, chat) = (&telegram.bot, place.chat);
    if !files.is_empty() {
        show_upload(telegram, place, request);
    }
    let mut files = files.into_iter();
    let first = files.next();
    Ok(match (request, first) {
        (SendRequest::Text { body }, _) => {
            let mut request = bot.send_message(chat, &body.text).entities(body.entities.clone());
            request.message_thread_id = place.topic;
            request.reply_parameters = reply;
            vec![request.await?]
        }
        (SendRequest::EphemeralText { body, receiver }, _) => {
            send_ephemeral(telegram, place, body, receiver).await?;
            Vec::new()
        }
        (SendRequest::LoginLink {}, _) => {
            // A preview would send the link to Telegram's servers, which fetch it.
            let no_preview = LinkPreviewOptions {
                is_disabled: true,
                url: None,
                prefer_small_media: false,
                prefer_large_media: false,
                show_above_text: false,
            };
            let mut request = bot.send_message(chat, text).link_preview_options(no_preview);
            request.message_thread_id = place.topic;
            vec![request.await?]
        }
        (SendRequest::Photo { caption, .. }, Some(file)) => {
            let mut request = bot.send_photo(chat, file);
            (request.caption, request.caption_entities) = caption_fields(caption.as_ref());
            request.message_thread_id = place.topic;
            request.reply_parameters = reply;
            vec![request.await?]
        }
        (SendRequest::Document { file: stored, caption }, Some(file)) => {
            // Telegram plays a GIF that it recognises. Every other file must stay as it is.
            let plays = stored.mime_type == "image/gif";
            let mut request = bot.send_document(chat, file).disable_content_type_detection(!plays);
            (request.caption, request.caption_entities) = caption_fields(caption.as_ref());
            request.message_thread_id = place.topic;
            request.reply_parameters = reply;
            vec![request.await?]
        }
        (SendRequest::MediaGroup { caption, .. } | SendRequest::DocumentGroup { caption, .. }, first) => {
            let as_photos = matches!(request, SendRequest::MediaGroup { .. });
            let media = first.into_iter().chain(files).enumerate().map(|(index, file)| {
                let caption = caption.as_ref().filter(|_| index == 0);
                if as_photos { photo(file, caption) } else { document(file, caption) }
            });
            let mut request = bot.send_media_group(chat, media.collect::<Vec<_>>());
            request.message_thread_id = place.topic;
            request.reply_parameters = reply;
            request.await?
        }
        (SendRequest::OpenTopic { .. } | SendRequest::Photo { .. } | SendRequest::Document { .. }, _) => {
            Vec::new()
        }
    })
}

/// Shows "sending a photo…" in the chat. Best effort: it does not delay the upload, and a failure is ignored.
fn show_upload(telegram: &Telegram, place: Place, request: &SendRequest) {
    let action = match request {
        SendRequest::Photo { .. } | SendRequest::MediaGroup { .. } => ChatAction::UploadPhoto,
        _ => ChatAction::UploadDocument,
    };
    let mut request = telegram.bot.send_chat_action(place.chat, action);
    request.message_thread_id = place.topic;
    let chat = place.chat;
    tokio::spawn(async move {
        request.await.map_err(|_| debug!(op = "send_chat_action", chat_id = chat.0, "chat action lost"))
    });
}

fn photo(file: InputFile, caption: Option<&Formatted>) -> InputMedia {
    let mut photo = InputMediaPhoto::new(file);
    (photo.caption, photo.caption_entities) = caption_fields(caption);
    InputMedia::Photo(photo)
}

fn document(file: InputFile, caption: Option<&Formatted>) -> InputMedia {
    let mut document = InputMediaDocument::new(file);
    (document.caption, document.caption_entities) = caption_fields(caption);
    InputMedia::Document(document)
}

fn caption_fields(caption: Option<&Formatted>) -> (Option<String>, Option<Vec<MessageEntity>>) {
    caption.map(|formatted| (formatted.text.clone(), formatted.entities.clone())).unzip()
}
