//! The archive: a zip that is written while it is read. Pictures and films are compressed already, so nothing is
//! compressed twice.

use super::{Export, File, Files};
use crate::{
    attachments::{AttachmentError, ObjectError},
    domain,
    tools::{Prints, ToolError},
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

/// Why an archive was not finished.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The files or the database are away: try again.
    #[error("the files cannot be reached: {0}")]
    Files(ToolError),
    #[error("the archive cannot be written: {0}")]
    Zip(#[from] ZipError),
    #[error("the archive cannot be written: {0}")]
    Io(#[from] io::Error),
    #[error("the history cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// What was written and not yet taken.
#[derive(Clone, Default)]
struct Tray(Arc<Mutex<Vec<u8>>>);

impl Tray {
    fn take(&self) -> Bytes {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

impl Write for Tray {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Archive {
    zip: ZipWriter<StreamWriter<Tray>>,
    tray: Tray,
    prints: Prints,
    files: VecDeque<File>,
    /// What a reader of the archive is told of files that are not in it.
    missing: String,
}

pub fn of(
    export: Export,
    prints: Prints,
) -> Result<impl Stream<Item = Result<Bytes, ExportError>> + Send, ExportError> {
    let tray = Tray::default();
    let zip = ZipWriter::new_stream(tray.clone());
    let mut archive = Archive { zip, tray, prints, files: VecDeque::new(), missing: String::new() };
    let history = serde_json::to_vec_pretty(&export.exported(Files::Beside))?;
    archive.add("history.json", export.at, &history)?;
    archive.add("conversation.md", export.at, export.markdown().as_bytes())?;
    archive.files = export.files.into();
    Ok(stream::try_unfold(Some(archive), async |archive| match archive {
        Some(archive) => archive.next().await.map(Some),
        None => Ok(None),
    }))
}

impl Archive {
    /// What comes next, and the rest; none after the end.
    async fn next(mut self) -> Result<(Bytes, Option<Self>), ExportError> {
        // What is there already goes first, before the next file comes into memory.
        let ready = self.tray.take();
        if !ready.is_empty() {
            return Ok((ready, Some(self)));
        }
        while let Some(file) = self.files.pop_front() {
            match load(&self.prints, &file.attachment).await {
                Ok(bytes) => {
                    self.add(&file.path, file.attachment.created_at, &bytes)?;
                    return Ok((self.tray.take(), Some(self)));
                }
                Err(error) if is_lost(&error) => {
                    self.missing += &format!("{}: {}\n", file.path, error.told());
                }
                Err(error) => return Err(ExportError::Files(error)),
            }
        }
        if !self.missing.is_empty() {
            let missing = mem::take(&mut self.missing);
            self.add("files/MISSING.txt", Utc::now(), missing.as_bytes())?;
        }
        self.zip.finish()?;
        Ok((self.tray.take(), None))
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

async fn load(prints: &Prints, file: &domain::Attachment) -> Result<Bytes, ToolError> {
    prints.bytes(file).await
}

/// Gone for good, or never to be made again: waiting does not help, and the rest is still worth having.
fn is_lost(error: &ToolError) -> bool {
    matches!(error, ToolError::Attachment(AttachmentError::Objects(ObjectError::Missing)))
        || !error.may_pass()
}

/// Zip knows only the years from 1980 on, and only every other second.
fn dos_time(at: DateTime<Utc>) -> zip::DateTime {
    let small = |number: u32| u8::try_from(number).unwrap_or_default();
    let year = u16::try_from(at.year()).unwrap_or_default();
    zip::DateTime::from_date_and_time(
        year,
        small(at.month()),
        small(at.day()),
        small(at.hour()),
        small(at.minute()),
        small(at.second().min(59)),
    )
    .unwrap_or_default()
}
