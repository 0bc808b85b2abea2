//! Streams the zip of an export. Files are stored uncompressed: pictures and videos are compressed already.

use super::{Export, ExportFile, FilePaths};
use crate::{
    attachments::{AttachmentError, ObjectError},
    rendering::{RenderError, Renderer},
};
use bytes::Bytes;
use chrono::{DateTime, Datelike as _, Timelike as _, Utc};
use futures::{Stream, stream};
use std::{
    collections::VecDeque,
    io::{self, Write},
    mem,
    sync::{Arc, Mutex, PoisonError},
};
use zip::{CompressionMethod, ZipWriter, result::ZipError, write::SimpleFileOptions, write::StreamWriter};

/// Why an export was not finished.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Storage is unavailable: try again.
    #[error("the files cannot be reached: {0}")]
    Files(RenderError),
    #[error("the archive cannot be written: {0}")]
    Zip(#[from] ZipError),
    #[error("the archive cannot be written: {0}")]
    Io(#[from] io::Error),
    #[error("the history cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

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

struct ArchiveStream {
    zip: ZipWriter<StreamWriter<OutputBuffer>>,
    output: OutputBuffer,
    renderer: Renderer,
    files: VecDeque<ExportFile>,
    /// The text of `files/MISSING.txt`: files that are lost, and why.
    missing: String,
}

pub fn stream(
    export: Export,
    renderer: Renderer,
) -> Result<impl Stream<Item = Result<Bytes, ExportError>> + Send, ExportError> {
    let output = OutputBuffer::default();
    let zip = ZipWriter::new_stream(output.clone());
    let mut archive = ArchiveStream { zip, output, renderer, files: VecDeque::new(), missing: String::new() };
    let history = serde_json::to_vec_pretty(&export.to_json(FilePaths::Included))?;
    archive.add("history.json", export.exported_at, &history)?;
    archive.add("conversation.md", export.exported_at, export.markdown().as_bytes())?;
    archive.files = export.files.into();
    Ok(stream::try_unfold(Some(archive), async |archive| match archive {
        Some(archive) => archive.next().await.map(Some),
        None => Ok(None),
    }))
}

impl ArchiveStream {
    /// The next chunk and the rest of the stream; no rest after the last chunk.
    async fn next(mut self) -> Result<(Bytes, Option<Self>), ExportError> {
        // Send the buffer before the next file is read into memory.
        let ready = self.output.take();
        if !ready.is_empty() {
            return Ok((ready, Some(self)));
        }
        while let Some(file) = self.files.pop_front() {
            match self.renderer.bytes(&file.attachment).await {
                Ok(bytes) => {
                    self.add(&file.path, file.attachment.created_at, &bytes)?;
                    return Ok((self.output.take(), Some(self)));
                }
                Err(error) if is_lost(&error) => {
                    self.missing += &format!("{}: {}\n", file.path, error.describe());
                }
                Err(error) => return Err(ExportError::Files(error)),
            }
        }
        if !self.missing.is_empty() {
            let missing = mem::take(&mut self.missing);
            self.add("files/MISSING.txt", Utc::now(), missing.as_bytes())?;
        }
        self.zip.finish()?;
        Ok((self.output.take(), None))
    }

    fn add(&mut self, name: &str, at: DateTime<Utc>, bytes: &[u8]) -> Result<(), ExportError> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(dos_time(at));
        self.zip.start_file(name, options)?;
        self.zip.write_all(bytes)?;
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
