//! Exports a session: JSON that can be imported again, Markdown to read, or a zip of both with all files.

mod archive;
mod filenames;
mod markdown;
#[cfg(test)]
mod tests;

pub use archive::ExportError;

use super::json::{self, AttachmentJson, HistoryEntry, SessionJson};
use crate::{
    attachments::markers,
    domain::{self, AttachmentId, Message, ReferenceTarget, Role, Session},
    rendering::Renderer,
    store::{Detail, Store, StoreError},
};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::Stream;
use serde::{Deserialize, Serialize};
use std::{collections::HashSet, str::FromStr};
use utoipa::ToSchema;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Format)]
pub enum ExportFormat {
    #[default]
    Json,
    Markdown,
    Zip,
}

impl ExportFormat {
    fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Markdown => "md",
            Self::Zip => "zip",
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Markdown => "text/markdown; charset=utf-8",
            Self::Zip => "application/zip",
        }
    }
}

impl FromStr for ExportFormat {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "json" => Ok(Self::Json),
            "markdown" | "md" => Ok(Self::Markdown),
            "zip" => Ok(Self::Zip),
            _ => Err("the formats are json, markdown and zip".into()),
        }
    }
}

/// A session with its messages and files, as read at one moment.
pub struct Export {
    session: Session,
    messages: Vec<Message>,
    files: Vec<ExportFile>,
    exported_at: DateTime<Utc>,
}

/// A file and its path in an archive.
pub struct ExportFile {
    pub attachment: domain::Attachment,
    pub path: String,
}

/// The exported JSON: the question, the answer, and everything in between.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Exported)]
pub struct ExportJson {
    /// The first message of a user.
    question: String,
    /// The last answer.
    answer: String,
    session: SessionJson,
    history: Vec<HistoryEntry>,
    attachments: Vec<ExportedFileJson>,
    exported_at: DateTime<Utc>,
    version: u32,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ExportedFile)]
pub struct ExportedFileJson {
    #[serde(flatten)]
    attachment: AttachmentJson,
    /// Its path in the archive, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

/// Whether the archive holds the files, too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FilePaths {
    Omitted,
    Included,
}

impl Export {
    pub async fn load(store: &Store, session: Session) -> Result<Self, StoreError> {
        let mut messages =
            store.messages_of_session(session.session_id, None, None, Detail::WithTools).await?;
        let mut seen = HashSet::new();
        let ids: Vec<AttachmentId> =
            messages.iter().flat_map(files_named_by).filter(|id| seen.insert(*id)).collect();
        let files = store.attachments(&session.conversation, &ids).await?;
        for reply in messages.iter_mut().filter_map(|message| message.body.reply.as_mut()) {
            // The file of a reply may be deleted; an import would refuse the unknown id.
            reply.attachment =
                reply.attachment.filter(|id| files.iter().any(|file| file.attachment_id == *id));
        }
        let files = files.into_iter().enumerate().map(|(index, attachment)| {
            let path = filenames::archive_path(index + 1, &attachment.filename);
            ExportFile { attachment, path }
        });
        Ok(Self { files: files.collect(), session, messages, exported_at: Utc::now() })
    }

    /// The name to save it under.
    pub fn filename(&self, format: ExportFormat) -> String {
        let title = filenames::title_prefix(self.session.title.as_deref().unwrap_or_default());
        let id: String = self.session.session_id.to_string().chars().take(8).collect();
        format!("photothread-{title}{id}.{}", format.extension())
    }

    pub fn json(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec_pretty(&self.to_json(FilePaths::Omitted))
    }

    pub fn markdown(&self) -> String {
        markdown::render(self)
    }

    /// Streams a zip with the JSON, the Markdown and each file once. Holds one file in memory at a time.
    pub fn archive(
        self,
        renderer: Renderer,
    ) -> Result<impl Stream<Item = Result<Bytes, ExportError>> + Send, ExportError> {
        archive::stream(self, renderer)
    }

    fn to_json(&self, paths: FilePaths) -> ExportJson {
        let said = |message: Option<&Message>| message.map(markers::visible_text).unwrap_or_default();
        let known: Vec<domain::Attachment> = self.files.iter().map(|file| file.attachment.clone()).collect();
        let entries = |message: &Message| json::entries_of(message, &known, Detail::WithTools);
        let exported = |file: &ExportFile| ExportedFileJson {
            attachment: (&file.attachment).into(),
            file: (paths == FilePaths::Included).then(|| file.path.clone()),
        };
        ExportJson {
            question: said(self.messages.iter().find(|message| message.role == Role::User)),
            answer: said(
                self.messages
                    .iter()
                    .rfind(|message| message.role == Role::Assistant && message.is_chat_message()),
            ),
            session: self.session.clone().into(),
            history: self.messages.iter().flat_map(entries).collect(),
            attachments: self.files.iter().map(exported).collect(),
            exported_at: self.exported_at,
            version: 1,
        }
    }

    fn file(&self, id: AttachmentId) -> Option<&ExportFile> {
        self.files.iter().find(|file| file.attachment.attachment_id == id)
    }
}

/// The files that a message carries, refers to and replies to.
fn files_named_by(message: &Message) -> Vec<AttachmentId> {
    let referred = message.refs.iter().filter_map(|reference| match reference.target() {
        ReferenceTarget::Attachment(id) => Some(id),
        _ => None,
    });
    let replied = message.reply.as_ref().and_then(|reply| reply.attachment);
    message.attachments.iter().copied().chain(referred).chain(replied).collect()
}
