//! Receives files as they come. The bytes go to a spool file on disk, within the upload budget, and from there into the
//! object store in parts, so that an upload takes a small constant of memory. Only the header of a picture is read with
//! the whole file at hand, one picture at a time.
//!
//! A stored blob is staged until its row is committed: if the sender hangs up or the message fails, it is deleted again.

use super::{
    AttachmentError, Attachments, Blob, clean_name, default_name,
    mime::{self, TextCheck},
    objects::ObjectError,
    upload_budget::Reservation,
};
use crate::{
    access::Scope,
    domain::{Attachment, AttachmentId, AttachmentSource, Content, UserId},
};
use bytes::{Bytes, BytesMut};
use chrono::Utc;
use sha2::{Digest as _, Sha256};
use std::{
    fs::File,
    io::{self, Cursor, Read, Seek, SeekFrom, Write as _},
    path::PathBuf,
    sync::Arc,
};
use tokio::task::JoinError;
use tracing::error;

/// A smaller file stays in memory. The type of any file shows in this many bytes.
const MAX_MEMORY_BYTES: usize = 256 << 10;
/// Room is reserved in steps of this size.
const RESERVATION_STEP: u64 = 1 << 20;
/// A file is stored in parts of this size, the smallest that S3 takes.
const PART_BYTES: usize = 5 << 20;

/// A file that is arriving. Its spool file has no name: it is gone when this is dropped, or when the program dies.
pub struct Upload {
    /// The beginning of the file; all of a small one.
    head: BytesMut,
    spool: Option<File>,
    spool_folder: PathBuf,
    size: u64,
    max_bytes: u64,
    hash: Sha256,
    text: TextCheck,
    /// None for bytes that are counted elsewhere.
    reservation: Option<Reservation>,
    reserved: u64,
    /// To look how much space is left.
    attachments: Attachments,
}

/// A file that has arrived, to be read from its start.
pub enum ReceivedBytes {
    Memory(Cursor<Bytes>),
    Spool(File, Option<Reservation>),
}

impl From<File> for ReceivedBytes {
    fn from(file: File) -> Self {
        Self::Spool(file, None)
    }
}

impl From<Bytes> for ReceivedBytes {
    fn from(bytes: Bytes) -> Self {
        Self::Memory(Cursor::new(bytes))
    }
}

impl Read for ReceivedBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Memory(bytes) => bytes.read(buffer),
            Self::Spool(file, _) => file.read(buffer),
        }
    }
}

impl Seek for ReceivedBytes {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Memory(bytes) => bytes.seek(position),
            Self::Spool(file, _) => file.seek(position),
        }
    }
}

impl Upload {
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    pub fn is_too_large(&self) -> bool {
        self.size > self.max_bytes
    }

    /// The bytes that have arrived.
    pub fn len(&self) -> u64 {
        self.size
    }

    /// Adds the next bytes. What is over the limit is counted and thrown away, so that the rest of a form can be read.
    pub async fn write(&mut self, bytes: Bytes) -> Result<(), AttachmentError> {
        self.size += bytes.len() as u64;
        if self.size > self.max_bytes {
            (self.spool, self.head) = (None, BytesMut::new());
            return Ok(());
        }
        if self.size > self.reserved {
            let missing = self.size - self.reserved;
            let step = missing.max(RESERVATION_STEP.min(self.max_bytes - self.reserved));
            // All that is arriving shares the disk: it is looked at again with each step.
            self.attachments.check_free_space(step)?;
            if let Some(reservation) = &mut self.reservation {
                reservation.grow(step).await?;
            }
            self.reserved += step;
        }
        self.hash.update(&bytes);
        self.text.update(&bytes);
        let in_head = bytes.len().min(MAX_MEMORY_BYTES - self.head.len());
        self.head.extend_from_slice(&bytes[..in_head]);
        if self.spool.is_none() && in_head == bytes.len() {
            return Ok(());
        }
        let spool = self.spool.take();
        // A new spool file gets what came before, too.
        let before = match &spool {
            Some(_) => Bytes::new(),
            None => Bytes::copy_from_slice(&self.head[..self.head.len() - in_head]),
        };
        let folder = self.spool_folder.clone();
        let written = tokio::task::spawn_blocking(move || {
            let mut spool = spool.map_or_else(|| tempfile::tempfile_in(folder), Ok)?;
            spool.write_all(&before)?;
            spool.write_all(&bytes)?;
            Ok(spool)
        });
        self.spool = Some(flatten(written.await)?);
        Ok(())
    }

    /// Fails if the file was larger than its limit.
    fn check_size(&self, filename: &str) -> Result<(), AttachmentError> {
        if self.is_too_large() {
            let (bytes, limit) = (self.size, self.max_bytes);
            return Err(AttachmentError::TooLarge { filename: filename.to_owned(), bytes, limit });
        }
        Ok(())
    }

    /// The bytes of a file that is not stored itself, such as an import.
    pub fn into_bytes(self, filename: &str) -> Result<ReceivedBytes, AttachmentError> {
        self.check_size(filename)?;
        match self.spool {
            Some(mut spool) => {
                spool.rewind().map_err(ObjectError::spool)?;
                Ok(ReceivedBytes::Spool(spool, self.reservation))
            }
            None => Ok(self.head.freeze().into()),
        }
    }
}

/// A file that has arrived as a whole, and what was found out about it. Cheap to clone.
#[derive(Clone)]
pub struct FinishedUpload {
    /// The beginning of the file; all of it if there is no spool file.
    head: Bytes,
    spool: Option<Arc<File>>,
    blob: Blob,
    filename: Option<String>,
    reservation: Arc<Option<Reservation>>,
}

/// A stored blob whose row is not committed yet. It is deleted when dropped, unless it was kept. Until then its bytes
/// count as arriving: no quota counts them yet.
pub struct StagedFile {
    attachments: Attachments,
    id: AttachmentId,
    blob: Blob,
    filename: Option<String>,
    kept: bool,
    _reservation: Arc<Option<Reservation>>,
}

impl StagedFile {
    /// The attachment for this conversation. The caller adds its row, in the transaction that adds its message, and then
    /// calls `keep`.
    pub async fn attach(&self, scope: &Scope) -> Result<Attachment, AttachmentError> {
        let filename = self.filename.clone().unwrap_or_else(|| default_name(self.blob.mime_type));
        let size = self.blob.size.unsigned_abs();
        self.attachments.check_limits(scope, &filename, size, 0).await?;
        Ok(self.attachment(self.id, scope, filename))
    }

    /// Another attachment with the same content.
    pub fn copy(&self, scope: &Scope, filename: &str) -> Attachment {
        let filename = Some(clean_name(filename)).filter(|name| !name.is_empty());
        let filename = filename.unwrap_or_else(|| default_name(self.blob.mime_type));
        self.attachment(AttachmentId::new(), scope, filename)
    }

    fn attachment(&self, attachment_id: AttachmentId, scope: &Scope, filename: String) -> Attachment {
        Attachment {
            attachment_id,
            conversation: scope.conversation().clone(),
            user_id: scope.user().clone(),
            source: AttachmentSource::User,
            filename,
            mime_type: self.blob.mime_type.to_owned(),
            description: None,
            size: self.blob.size,
            width: self.blob.width,
            height: self.blob.height,
            content: Content::Stored {
                object_key: self.blob.object_key.clone(),
                sha256: self.blob.sha256.clone(),
                recipe: None,
            },
            created_at: Utc::now(),
            parents: Vec::new(),
        }
    }

    /// The row is added later, as with `store_file`: until then the blob is pending.
    pub fn leave_pending(mut self) {
        self.kept = true;
    }

    /// The row is committed: when it is deleted, its blob may go at once.
    pub fn keep(mut self) {
        self.kept = true;
        self.attachments.pending_blobs.settle(&self.blob.object_key, self.id);
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        self.attachments.pending_blobs.abandon(&self.blob.object_key, self.id);
        let attachments = self.attachments.clone();
        // Without a runtime the program is ending; what is abandoned is then found at the next start.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = attachments.delete_abandoned().await {
                    error!(%error, op = "delete_abandoned", "abandoned upload not deleted yet; retrying with the next upkeep");
                }
            });
        }
    }
}

impl Attachments {
    /// Starts to receive a file of at most `max_bytes`.
    pub fn start_upload(&self, user: &UserId, max_bytes: u64) -> Upload {
        self.new_upload(max_bytes, Some(self.upload_budget.start(user)))
    }

    /// Starts to unpack a file from an upload, which has its room in the budget already.
    pub fn start_unpacking(&self, max_bytes: u64) -> Upload {
        self.new_upload(max_bytes, None)
    }

    fn new_upload(&self, max_bytes: u64, reservation: Option<Reservation>) -> Upload {
        Upload {
            head: BytesMut::new(),
            spool: None,
            spool_folder: self.objects.spool_folder(),
            size: 0,
            max_bytes,
            hash: Sha256::new(),
            text: TextCheck::default(),
            reservation,
            reserved: 0,
            attachments: self.clone(),
        }
    }

    /// Stores a file that has arrived. Runs to its end even if the caller is dropped; the blob is then deleted again.
    pub async fn stage(&self, upload: Upload, filename: Option<&str>) -> Result<StagedFile, AttachmentError> {
        let upload = self.finish_upload(upload, filename).await?;
        self.stage_finished(&upload).await
    }

    /// Finds out what a file is that has arrived. It can be staged again if the object store fails.
    pub async fn finish_upload(
        &self,
        upload: Upload,
        filename: Option<&str>,
    ) -> Result<FinishedUpload, AttachmentError> {
        let filename = filename.map(clean_name).filter(|name| !name.is_empty());
        let name_in_errors = filename.as_deref().unwrap_or("the file");
        if upload.is_empty() {
            return Err(AttachmentError::Empty { filename: name_in_errors.to_owned() });
        }
        upload.check_size(name_in_errors)?;
        self.check_free_space(upload.size)?;
        let Upload { head, spool, size, hash, text, reservation, .. } = upload;
        let head = head.freeze();
        let sha256: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let mime_type = mime::sniff_mime_of(&head, text.is_text(), filename.as_deref());
        let spool = spool.map(Arc::new);
        let shape = match &spool {
            None => imaging::probe(&head).ok(),
            Some(spool) if imaging::Format::sniff(&head).is_some() => self.probe_spool(spool.clone()).await?,
            Some(_) => None,
        };
        let blob = Blob {
            object_key: super::object_key(&sha256),
            sha256,
            mime_type,
            size: i64::try_from(size).unwrap_or(i64::MAX),
            width: shape.as_ref().map(|probe| i64::from(probe.width)),
            height: shape.as_ref().map(|probe| i64::from(probe.height)),
        };
        Ok(FinishedUpload { head, spool, blob, filename, reservation: Arc::new(reservation) })
    }

    /// Stores a finished upload, as `stage` does.
    pub async fn stage_finished(&self, upload: &FinishedUpload) -> Result<StagedFile, AttachmentError> {
        let (attachments, upload) = (self.clone(), upload.clone());
        let stored = tokio::spawn(async move { attachments.store_upload(upload).await });
        stored.await.map_err(|error| ObjectError::Spool(io::Error::other(error)))?
    }

    async fn store_upload(self, upload: FinishedUpload) -> Result<StagedFile, AttachmentError> {
        let FinishedUpload { head, spool, blob, filename, reservation } = upload;
        let (id, size) = (AttachmentId::new(), blob.size.unsigned_abs());
        match spool {
            None => {
                let put = self.objects.put(&blob.object_key, head);
                self.pending_blobs.record(&blob.object_key, id, put).await?;
            }
            Some(spool) => {
                (&*spool).rewind().map_err(ObjectError::spool)?;
                let put = self.objects.put_parts(&blob.object_key, size, || next_part(spool.clone()));
                self.pending_blobs.record(&blob.object_key, id, put).await?;
            }
        }
        Ok(StagedFile { attachments: self, id, blob, filename, kept: false, _reservation: reservation })
    }

    /// Reads the header of a picture. Some formats keep what belongs to it at the end of the file.
    async fn probe_spool(&self, spool: Arc<File>) -> Result<Option<imaging::Probe>, ObjectError> {
        let _one_at_a_time = self.probing.lock().await;
        let probed = tokio::task::spawn_blocking(move || {
            let mut file = &*spool;
            let mut bytes = Vec::new();
            file.rewind()?;
            file.read_to_end(&mut bytes)?;
            file.rewind()?;
            Ok(imaging::probe(&bytes).ok())
        });
        flatten(probed.await)
    }
}

/// The next part of a spool file; empty at its end.
async fn next_part(spool: Arc<File>) -> Result<Bytes, ObjectError> {
    let read = tokio::task::spawn_blocking(move || {
        let mut part = Vec::with_capacity(PART_BYTES);
        (&*spool).take(PART_BYTES as u64).read_to_end(&mut part)?;
        Ok(part.into())
    });
    flatten(read.await)
}

fn flatten<T>(done: Result<io::Result<T>, JoinError>) -> Result<T, ObjectError> {
    done.map_err(io::Error::other).and_then(|result| result).map_err(ObjectError::spool)
}
