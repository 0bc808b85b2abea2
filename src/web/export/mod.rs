//! A session as a person takes it away: JSON that can be imported again, Markdown to read, or both with all files.
//! Nothing here is about HTTP; the command line exports by the same code.

mod archive;
mod markdown;
mod names;
#[cfg(test)]
mod tests;

pub use archive::ExportError;

use super::api::shapes::{self, Attachment, Entry};
use crate::{
    attachments::markers,
    domain::{self, AttachmentId, Message, Role, Session, Target},
    store::{Detail, Store, StoreError},
    tools::Prints,
};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::Stream;
use serde::{Deserialize, Serialize};
use std::{collections::HashSet, str::FromStr};
use utoipa::ToSchema;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    #[default]
    Json,
    Markdown,
    Zip,
}

impl Format {
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

impl FromStr for Format {
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

/// A session with all that belongs to it, as it was at one moment.
pub struct Export {
    session: Session,
    messages: Vec<Message>,
    files: Vec<File>,
    at: DateTime<Utc>,
}

/// A file, and what it is called in an archive.
pub struct File {
    pub attachment: domain::Attachment,
    pub path: String,
}

/// What goes out as JSON: the question, the answer, and everything in between.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Exported {
    /// What was asked first.
    question: String,
    /// What was answered last.
    answer: String,
    session: shapes::Session,
    history: Vec<Entry>,
    attachments: Vec<ExportedFile>,
    exported_at: DateTime<Utc>,
    version: u32,
}

#[derive(Serialize, ToSchema)]
pub struct ExportedFile {
    #[serde(flatten)]
    attachment: Attachment,
    /// Its place in the archive, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

/// Whether the files come with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Files {
    Apart,
    Beside,
}

impl Export {
    pub async fn of(store: &Store, session: Session) -> Result<Self, StoreError> {
        let mut messages =
            store.messages_of_session(session.session_id, None, None, Detail::WithTools).await?;
        let mut seen = HashSet::new();
        let ids: Vec<AttachmentId> =
            messages.iter().flat_map(named_by).filter(|id| seen.insert(*id)).collect();
        let files = store.attachments(&session.conversation, &ids).await?;
        for reply in messages.iter_mut().filter_map(|message| message.body.reply.as_mut()) {
            // A reply may outlive the file it points at; whoever imports it could not tell what is meant.
            reply.attachment =
                reply.attachment.filter(|id| files.iter().any(|file| file.attachment_id == *id));
        }
        let files = files.into_iter().enumerate().map(|(at, attachment)| {
            let path = names::file(at + 1, &attachment.filename);
            File { attachment, path }
        });
        Ok(Self { files: files.collect(), session, messages, at: Utc::now() })
    }

    /// A name to save it under.
    pub fn filename(&self, format: Format) -> String {
        let title = names::title(&self.session.title);
        let id: String = self.session.session_id.to_string().chars().take(8).collect();
        format!("photothread-{title}{id}.{}", format.extension())
    }

    pub fn json(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec_pretty(&self.exported(Files::Apart))
    }

    pub fn markdown(&self) -> String {
        markdown::of(self)
    }

    /// A zip with the JSON, the Markdown and every file once, made as it is read: one file at a time is in memory.
    pub fn archive(
        self,
        prints: Prints,
    ) -> Result<impl Stream<Item = Result<Bytes, ExportError>> + Send, ExportError> {
        archive::of(self, prints)
    }

    fn exported(&self, files: Files) -> Exported {
        let said = |message: Option<&Message>| message.map(markers::said).unwrap_or_default();
        let known: Vec<domain::Attachment> = self.files.iter().map(|file| file.attachment.clone()).collect();
        let entries = |message: &Message| shapes::entries(message, &known, Detail::WithTools);
        let exported = |file: &File| ExportedFile {
            attachment: (&file.attachment).into(),
            file: (files == Files::Beside).then(|| file.path.clone()),
        };
        Exported {
            question: said(self.messages.iter().find(|message| message.role == Role::User)),
            answer: said(
                self.messages.iter().rfind(|message| message.role == Role::Assistant && message.is_said()),
            ),
            session: self.session.clone().into(),
            history: self.messages.iter().flat_map(entries).collect(),
            attachments: self.files.iter().map(exported).collect(),
            exported_at: self.at,
            version: 1,
        }
    }

    fn path_of(&self, id: AttachmentId) -> Option<&File> {
        self.files.iter().find(|file| file.attachment.attachment_id == id)
    }
}

/// The files a message carries, those it refers to, and the one it replies to.
fn named_by(message: &Message) -> Vec<AttachmentId> {
    let referred = message.refs.iter().filter_map(|reference| match reference.target() {
        Target::Attachment(id) => Some(id),
        _ => None,
    });
    let replied = message.reply.as_ref().and_then(|reply| reply.attachment);
    message.attachments.iter().copied().chain(referred).chain(replied).collect()
}
