//! Multipart forms with messages and files, for the API and the page. Files go to the object store one by one as they
//! arrive, and no other field is read beyond its limit. A field that is present but empty counts as not sent: browsers
//! send all fields of a form.

use super::{
    Site, messages,
    problem::Problem,
    submit::{MAX_FILES_PER_MESSAGE, MAX_TEXT_CHARS, PostedMessage, too_many_files},
};
use crate::{
    access::Viewer,
    attachments::Upload,
    domain::{AttachmentId, MessageId},
};
use axum::{
    extract::{Multipart, multipart::Field},
    http::StatusCode,
};
use std::time::Duration;
use tracing::warn;

/// The longest text of a message, in the longest characters.
const MAX_CONTENT_BYTES: usize = MAX_TEXT_CHARS * 4;
/// A number or an id.
const MAX_VALUE_BYTES: usize = 200;

/// What arrives holds room in the upload budget. Two people who send one byte now and then must not hold all of it.
const MAX_RECEIVE_TIME: Duration = Duration::from_secs(600);

/// Receives a body. One that takes too long is given up, and its room with it.
pub async fn receive_in_time<T>(receive: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    receive_within(MAX_RECEIVE_TIME, receive).await
}

async fn receive_within<T>(
    max_time: Duration,
    receive: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    let too_slow = |_| Err(Problem::new(StatusCode::REQUEST_TIMEOUT, messages::UPLOAD_TOO_SLOW));
    tokio::time::timeout(max_time, receive).await.unwrap_or_else(too_slow)
}

pub async fn read_message(site: &Site, viewer: &Viewer, form: Multipart) -> Result<PostedMessage, Problem> {
    receive_in_time(read_fields(site, viewer, form)).await
}

async fn read_fields(site: &Site, viewer: &Viewer, mut form: Multipart) -> Result<PostedMessage, Problem> {
    let mut message = PostedMessage::default();
    while let Some(field) = form.next_field().await? {
        let name = field.name().unwrap_or_default().to_owned();
        match name.as_str() {
            "content" => message.text = read_text(field, MAX_CONTENT_BYTES).await?,
            "reply_to" => message.reply_to = read_number(field).await?.map(MessageId),
            "reply_attachment" => message.reply_attachment = read_id(&name, field).await?,
            "attachment_ids" => message.known_files.extend(read_id(&name, field).await?),
            "files" => {
                if message.count_files() >= MAX_FILES_PER_MESSAGE {
                    return Err(too_many_files());
                }
                read_message_file(site, viewer, field, &mut message).await?;
            }
            other => return Err(Problem::invalid(format!("There is no field {other:?} here."))),
        }
    }
    Ok(message)
}

/// Stores a file of a message. A file that is refused becomes a note; the message and its other files are stored anyway.
async fn read_message_file(
    site: &Site,
    viewer: &Viewer,
    field: Field<'_>,
    message: &mut PostedMessage,
) -> Result<(), Problem> {
    let max_bytes = site.attachments.limits().max_file_bytes;
    let Some((upload, filename)) = receive_file(site, viewer, field, max_bytes).await? else { return Ok(()) };
    match site.attachments.stage(upload, filename.as_deref()).await {
        Ok(staged) => message.new_files.push(staged),
        Err(error) if error.is_transient() => return Err(error.into()),
        Err(reason) => {
            warn!(op = "store_upload", "upload refused");
            message.refused_files.push(reason.to_string());
        }
    }
    Ok(())
}

/// Receives the file of a field, as fast as it can be written. None without a file: browsers send an empty one without
/// a name if none was chosen.
pub async fn receive_file(
    site: &Site,
    viewer: &Viewer,
    mut field: Field<'_>,
    max_bytes: u64,
) -> Result<Option<(Upload, Option<String>)>, Problem> {
    let filename = field.file_name().map(str::to_owned);
    let mut upload = site.attachments.start_upload(&viewer.user, max_bytes);
    while let Some(chunk) = field.chunk().await? {
        upload.write(chunk).await?;
    }
    let no_file = upload.is_empty() && filename.as_deref().unwrap_or_default().is_empty();
    Ok((!no_file).then_some((upload, filename)))
}

/// The text of a field. A longer one is refused before it is read to its end.
pub async fn read_text(mut field: Field<'_>, max_bytes: usize) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    while let Some(chunk) = field.chunk().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > max_bytes {
            let name = field.name().unwrap_or("A field").to_owned();
            return Err(Problem::invalid(format!("{name} must have at most {max_bytes} bytes.")));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn read_number(field: Field<'_>) -> Result<Option<i64>, Problem> {
    match read_text(field, MAX_VALUE_BYTES).await?.trim() {
        "" => Ok(None),
        text => Ok(Some(text.parse().map_err(|_| Problem::invalid("reply_to must be a whole number."))?)),
    }
}

async fn read_id(name: &str, field: Field<'_>) -> Result<Option<AttachmentId>, Problem> {
    match read_text(field, MAX_VALUE_BYTES).await?.trim() {
        "" => Ok(None),
        text => Ok(Some(text.parse().map_err(|_| Problem::invalid(format!("{name} must be a UUID.")))?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_that_takes_too_long_is_given_up() {
        let trickle = std::future::pending::<Result<(), Problem>>();
        let problem = receive_within(Duration::from_millis(1), trickle).await.unwrap_err();
        assert_eq!(problem.status(), StatusCode::REQUEST_TIMEOUT);
        assert_eq!(receive_in_time(async { Ok(1) }).await, Ok(1));
    }
}
