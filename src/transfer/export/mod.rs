//! Exports a session: JSON that can be imported again, Markdown to read, or a zip of both with all files. An export is
//! written as its reader takes it, page by page; `transfer::pages` says what happens if the session changes meanwhile.

mod archive;
mod documents;
mod filenames;
mod markdown;
#[cfg(test)]
mod tests;

use super::{
    json::{AttachmentJson, HistoryEntry, SessionJson},
    pages::{HistoryPages, ReadError},
};
use crate::{
    domain::{self, Session},
    rendering::{RenderError, Renderer},
    store::{Detail, HistorySpan, Store, StoreError},
};
use archive::Archive;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use documents::{JsonDocument, MarkdownDocument, NumberedFiles};
use futures::{Stream, stream};
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use utoipa::ToSchema;
use zip::result::ZipError;

/// Why an export was not finished.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Storage is unavailable: try again.
    #[error("the files cannot be reached: {0}")]
    Files(RenderError),
    #[error("the archive cannot be written: {0}")]
    Zip(#[from] ZipError),
    #[error("the archive cannot be written: {0}")]
    Io(#[from] std::io::Error),
    #[error("the history cannot be written: {0}")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ExportError {
    /// The error for the log, which holds no file names.
    pub fn log_text(&self) -> String {
        match self {
            Self::Files(error) => format!("the files cannot be reached: {}", error.log_text()),
            Self::Zip(_) => "the archive cannot be written".to_owned(),
            Self::Io(error) => format!("the archive cannot be written: {}", error.kind()),
            Self::Json(_) => "the history cannot be written".to_owned(),
            other @ (Self::Read(_) | Self::Store(_)) => other.to_string(),
        }
    }
}

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

/// A session to be exported: what it had when the export began.
pub struct Export {
    store: Store,
    session: Session,
    /// None for an empty history.
    span: Option<HistorySpan>,
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
    pub async fn open(store: &Store, session: Session) -> Result<Self, StoreError> {
        let span = store.history_span(session.session_id, None, None, Detail::WithTools).await?;
        Ok(Self { store: store.clone(), session, span, exported_at: Utc::now() })
    }

    /// The name to save it under.
    pub fn filename(&self, format: ExportFormat) -> String {
        let title = filenames::title_prefix(self.session.title.as_deref().unwrap_or_default());
        let id: String = self.session.session_id.to_string().chars().take(8).collect();
        format!("photothread-{title}{id}.{}", format.extension())
    }

    /// The exported bytes. Holds one page of the history, or one part of a file.
    pub async fn stream(
        self,
        format: ExportFormat,
        renderer: Renderer,
    ) -> Result<impl Stream<Item = Result<Bytes, ExportError>> + Send, ExportError> {
        let document = match format {
            ExportFormat::Json => {
                Document::Json(Box::new(JsonDocument::new(&self, FilePaths::Omitted).await?))
            }
            ExportFormat::Markdown => {
                Document::Markdown(Box::new(MarkdownDocument::new(&self, NumberedFiles::default())))
            }
            ExportFormat::Zip => Document::Zip(Box::new(Archive::new(&self, renderer).await?)),
        };
        Ok(stream::try_unfold((self, document), async |(export, mut document)| {
            Ok(document.next(&export).await?.map(|chunk| (chunk, (export, document))))
        }))
    }

    fn pages(&self) -> HistoryPages {
        HistoryPages::new(&self.store, &self.session, self.span.as_ref(), Detail::WithTools)
    }
}

enum Document {
    Json(Box<JsonDocument>),
    Markdown(Box<MarkdownDocument>),
    Zip(Box<Archive>),
}

impl Document {
    /// The next chunk, never empty; none after the last.
    async fn next(&mut self, export: &Export) -> Result<Option<Bytes>, ExportError> {
        loop {
            let chunk = match self {
                Self::Json(document) => document.next(export).await?,
                Self::Markdown(document) => document.next().await?,
                Self::Zip(archive) => archive.next(export).await?,
            };
            // An empty chunk would end a chunked response.
            if chunk.as_ref().is_none_or(|chunk| !chunk.is_empty()) {
                return Ok(chunk);
            }
        }
    }
}
