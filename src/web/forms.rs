//! Multipart forms with messages and files, for the API and the page. A field that is present but empty counts as not
//! sent: browsers send all fields of a form.

use super::{problem::Problem, submit::PostedMessage};
use crate::{
    attachments::NewFile,
    domain::{AttachmentId, MessageId},
};
use axum::extract::{Multipart, multipart::Field};

pub async fn read_message(mut form: Multipart) -> Result<PostedMessage, Problem> {
    let mut message = PostedMessage::default();
    while let Some(field) = form.next_field().await? {
        let name = field.name().unwrap_or_default().to_owned();
        match name.as_str() {
            "content" => message.text = field.text().await?,
            "reply_to" => message.reply_to = read_number(field).await?.map(MessageId),
            "reply_attachment" => message.reply_attachment = read_id(&name, field).await?,
            "attachment_ids" => message.known_files.extend(read_id(&name, field).await?),
            "files" => message.new_files.extend(read_file(field).await?),
            other => return Err(Problem::invalid(format!("There is no field {other:?} here."))),
        }
    }
    Ok(message)
}

async fn read_number(field: Field<'_>) -> Result<Option<i64>, Problem> {
    match field.text().await?.trim() {
        "" => Ok(None),
        text => Ok(Some(text.parse().map_err(|_| Problem::invalid("reply_to must be a whole number."))?)),
    }
}

async fn read_id(name: &str, field: Field<'_>) -> Result<Option<AttachmentId>, Problem> {
    match field.text().await?.trim() {
        "" => Ok(None),
        text => Ok(Some(text.parse().map_err(|_| Problem::invalid(format!("{name} must be a UUID.")))?)),
    }
}

/// Reads a file field. Browsers send an empty file without a name if no file was chosen.
pub async fn read_file(field: Field<'_>) -> Result<Option<NewFile>, Problem> {
    let filename = field.file_name().map(str::to_owned);
    let bytes = field.bytes().await?;
    let no_file = bytes.is_empty() && filename.as_deref().unwrap_or_default().is_empty();
    Ok((!no_file).then(|| NewFile::from_person(bytes, filename)))
}
