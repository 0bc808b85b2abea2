//! Streams the zip of an export. Files are stored uncompressed: pictures and videos are compressed already. Nothing is
//! held but the page or part that is being written.

use super::{
    Export, ExportError, ExportFile, FilePaths,
    documents::{JsonDocument, MarkdownDocument, NumberedFiles},
};
use crate::{
    attachments::{AttachmentError, ObjectError},
    rendering::{RenderError, Renderer},
};
use bytes::Bytes;
use chrono::{DateTime, Datelike as _, Timelike as _, Utc};
use futures::{TryStreamExt as _, stream::BoxStream};
use std::{
    collections::VecDeque,
    io::{self, Write},
    mem,
    sync::{Arc, Mutex, PoisonError},
};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions, write::StreamWriter};

/// Bytes that the zip writer has written and the stream has not sent yet.
#[derive(Clone, Default)]
struct OutputBuffer(Arc<Mutex<Vec<u8>>>);

impl OutputBuffer {
    fn take(&self) -> Bytes {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

impl Write for OutputBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub struct Archive {
    zip: Option<ZipWriter<StreamWriter<OutputBuffer>>>,
    output: OutputBuffer,
    renderer: Renderer,
    stage: Stage,
    /// The text of `files/MISSING.txt`: files that are lost, and why.
    missing: String,
}

/// What is being written.
enum Stage {
    History(Box<JsonDocument>),
    Conversation(Box<MarkdownDocument>, NumberedFiles),
    Files(FileStage),
    Done,
}

struct FileStage {
    files: NumberedFiles,
    /// Files that were loaded from the database already.
    loaded: usize,
    loaded_files: VecDeque<ExportFile>,
    /// The rest of the file that is being written.
    parts: Option<BoxStream<'static, Result<Bytes, AttachmentError>>>,
}

impl Archive {
    pub async fn new(export: &Export, renderer: Renderer) -> Result<Self, ExportError> {
        let output = OutputBuffer::default();
        let history = JsonDocument::new(export, FilePaths::Included).await?;
        let mut archive = Self {
            zip: Some(ZipWriter::new_stream(output.clone())),
            output,
            renderer,
            stage: Stage::History(Box::new(history)),
            missing: String::new(),
        };
        archive.start_file("history.json", export.exported_at)?;
        Ok(archive)
    }

    /// The next chunk; none after the last. It may be empty.
    pub async fn next(&mut self, export: &Export) -> Result<Option<Bytes>, ExportError> {
        match &mut self.stage {
            Stage::History(document) => match document.next(export).await? {
                Some(text) => self.write(&text)?,
                None => {
                    let files = mem::take(&mut document.files);
                    let document = MarkdownDocument::new(export, files.clone());
                    self.stage = Stage::Conversation(Box::new(document), files);
                    self.start_file("conversation.md", export.exported_at)?;
                }
            },
            Stage::Conversation(document, files) => match document.next().await? {
                Some(text) => self.write(&text)?,
                None => {
                    let files = mem::take(files);
                    let loaded_files = VecDeque::new();
                    self.stage = Stage::Files(FileStage { files, loaded: 0, loaded_files, parts: None });
                }
            },
            Stage::Files(_) => self.write_files(export).await?,
            Stage::Done => return Ok(None),
        }
        Ok(Some(self.output.take()))
    }

    /// Writes the next part of the files.
    async fn write_files(&mut self, export: &Export) -> Result<(), ExportError> {
        let Stage::Files(stage) = &mut self.stage else { return Ok(()) };
        if let Some(parts) = &mut stage.parts {
            match parts.try_next().await.map_err(|error| ExportError::Files(error.into()))? {
                Some(part) => self.write(&part)?,
                None => stage.parts = None,
            }
            return Ok(());
        }
        if let Some(file) = stage.loaded_files.pop_front() {
            return self.begin_file(file).await;
        }
        if stage.loaded < stage.files.len() {
            let (loaded, files) = stage.files.load(export, stage.loaded).await?;
            (stage.loaded, stage.loaded_files) = (loaded, files.into());
            return Ok(());
        }
        self.finish()
    }

    /// Starts a file and writes its first part: a file that is lost is noticed before it has an entry.
    async fn begin_file(&mut self, file: ExportFile) -> Result<(), ExportError> {
        let opened = async {
            let stored = self.renderer.ensure_stored(&file.attachment).await?;
            let size = stored.size.unsigned_abs();
            let mut parts: BoxStream<'static, _> =
                Box::pin(self.renderer.attachments.byte_stream(&stored, 0..size)?);
            let first = parts.try_next().await?.unwrap_or_default();
            Ok::<_, RenderError>((first, parts))
        };
        match opened.await {
            Ok((first, parts)) => {
                self.start_file(&file.path, file.attachment.created_at)?;
                self.write(&first)?;
                if let Stage::Files(stage) = &mut self.stage {
                    stage.parts = Some(parts);
                }
                Ok(())
            }
            Err(error) if is_lost(&error) => {
                self.missing += &format!("{}: {}\n", file.path, error.describe());
                Ok(())
            }
            Err(error) => Err(ExportError::Files(error)),
        }
    }

    fn finish(&mut self) -> Result<(), ExportError> {
        if !self.missing.is_empty() {
            let missing = mem::take(&mut self.missing);
            self.start_file("files/MISSING.txt", Utc::now())?;
            self.write(missing.as_bytes())?;
        }
        if let Some(zip) = self.zip.take() {
            zip.finish()?;
        }
        self.stage = Stage::Done;
        Ok(())
    }

    fn start_file(&mut self, name: &str, at: DateTime<Utc>) -> Result<(), ExportError> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(dos_time(at));
        if let Some(zip) = &mut self.zip {
            zip.start_file(name, options)?;
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), ExportError> {
        if let Some(zip) = &mut self.zip {
            zip.write_all(bytes)?;
        }
        Ok(())
    }
}

/// The file is lost for good: a retry does not help, and the rest of the archive is still useful.
fn is_lost(error: &RenderError) -> bool {
    matches!(error, RenderError::Attachment(AttachmentError::Objects(ObjectError::Missing)))
        || !error.is_transient()
}

/// Zip timestamps start in 1980 and have a resolution of two seconds.
fn dos_time(at: DateTime<Utc>) -> zip::DateTime {
    let to_u8 = |number: u32| u8::try_from(number).unwrap_or_default();
    let year = u16::try_from(at.year()).unwrap_or_default();
    zip::DateTime::from_date_and_time(
        year,
        to_u8(at.month()),
        to_u8(at.day()),
        to_u8(at.hour()),
        to_u8(at.minute()),
        to_u8(at.second().min(59)),
    )
    .unwrap_or_default()
}
