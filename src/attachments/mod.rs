//! Attachments: blobs in the object store, under keys made from their content, and checks of type, size and quota.
//! The blob is written before its row, so that a row never points to a missing blob.

mod audit;
mod deletion;
mod display;
pub mod markers;
pub mod mime;
mod objects;
mod reading;
mod retention;
mod upload;
mod upload_budget;

pub use audit::Audit;
pub use display::{format_age, format_size};
pub use objects::{ObjectError, Objects};
pub use upload::{FinishedUpload, ReceivedBytes, StagedFile, Upload};
pub use upload_budget::UploadBudget;

use crate::{
    access::Scope,
    domain::{Attachment, AttachmentId, AttachmentSource, Content, Conversation, Recipe, UserId},
    store::{OverQuota, Quota, Store, StoreError, StoredBytes},
};
use bytes::Bytes;
use chrono::Utc;
use deletion::PendingBlobs;
use sha2::{Digest, Sha256};
use std::{ops::Range, sync::Arc};
use tokio::sync::Mutex;
use tracing::{error, warn};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimits {
    pub max_file_bytes: u64,
    /// The store checks it again in the transaction that adds a file.
    pub quota: Quota,
    /// New files are refused while the disk has less free space than this.
    pub min_free_bytes: u64,
}

/// Why a file is not stored or not found, by what the person can do about it.
#[derive(Debug, thiserror::Error)]
pub enum AttachmentError {
    #[error("no attachment {0} in this conversation")]
    Unknown(AttachmentId),
    #[error("{filename} is {}; files up to {} are kept here. Send it smaller, or compressed.", format_size(*.bytes), format_size(*.limit))]
    TooLarge { filename: String, bytes: u64, limit: u64 },
    #[error(
        "this conversation already keeps {} of files, and {} is the limit. Delete some, or start a new chat.",
        format_size(*.kept),
        format_size(*.limit)
    )]
    ConversationFull { kept: u64, limit: u64 },
    #[error(
        "you already keep {} of files in all your conversations, and {} is the limit. Delete a conversation that you no \
         longer need, then send it again.",
        format_size(*.kept),
        format_size(*.limit)
    )]
    PersonFull { kept: u64, limit: u64 },
    #[error(
        "the disk here is nearly full, so no new files can be kept. Please tell the person who runs this bot."
    )]
    DiskFull,
    #[error("{filename} is empty")]
    Empty { filename: String },
    #[error("Many files are arriving right now. Please try again in a minute.")]
    TooManyUploads,
    #[error(transparent)]
    Objects(ObjectError),
    #[error(transparent)]
    Store(StoreError),
}

impl From<OverQuota> for AttachmentError {
    fn from(over: OverQuota) -> Self {
        match over {
            OverQuota::Conversation { kept, limit } => Self::ConversationFull { kept, limit },
            OverQuota::Person { kept, limit } => Self::PersonFull { kept, limit },
        }
    }
}

impl From<StoreError> for AttachmentError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::OverQuota(over) => over.into(),
            other => Self::Store(other),
        }
    }
}

impl From<ObjectError> for AttachmentError {
    fn from(error: ObjectError) -> Self {
        match error {
            ObjectError::DiskFull(_) => {
                error!(%error, op = "store_file", "the file is refused");
                Self::DiskFull
            }
            other => Self::Objects(other),
        }
    }
}

impl AttachmentError {
    /// True for an outage that a retry may survive; false if the file itself is refused or unknown.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Objects(_) | Self::Store(_) | Self::TooManyUploads)
    }

    /// The error for the log, which holds no file names.
    pub fn log_text(&self) -> String {
        match self {
            Self::TooLarge { bytes, limit, .. } => format!("a file of {bytes} bytes; the limit is {limit}"),
            Self::Empty { .. } => "an empty file".to_owned(),
            other => other.to_string(),
        }
    }
}

/// A file to be stored.
#[derive(Debug, Clone)]
pub struct NewFile {
    pub bytes: Bytes,
    /// As the person named it. The type never comes from the name.
    pub filename: Option<String>,
    pub description: Option<String>,
    pub source: AttachmentSource,
    pub parents: Vec<AttachmentId>,
    pub recipe: Option<Recipe>,
}

/// A picture that is not rendered yet.
#[derive(Debug, Clone)]
pub struct NewPicture {
    pub filename: String,
    pub mime_type: &'static str,
    pub width: u32,
    pub height: u32,
    pub description: String,
    pub parent: AttachmentId,
    pub recipe: Recipe,
}

/// Room for files in a conversation and of a person, read once. The store checks the quota again when it adds the rows.
pub struct Room {
    quota: Quota,
    kept: StoredBytes,
    taken: u64,
}

impl Room {
    /// Takes the room of one more file.
    pub fn take(&mut self, bytes: u64) -> Result<(), OverQuota> {
        let taken = self.taken.saturating_add(bytes);
        self.quota.check(self.kept, StoredBytes::both(taken))?;
        self.taken = taken;
        Ok(())
    }
}

/// A blob and what was found out about it.
#[derive(Clone)]
struct Blob {
    object_key: String,
    sha256: String,
    mime_type: &'static str,
    size: i64,
    width: Option<i64>,
    height: Option<i64>,
}

impl NewFile {
    pub fn from_person(bytes: Bytes, filename: Option<String>) -> Self {
        let source = AttachmentSource::User;
        Self { bytes, filename, description: None, source, parents: Vec::new(), recipe: None }
    }
}

/// Access to the files of all conversations. Cheap to clone.
#[derive(Clone)]
pub struct Attachments {
    store: Store,
    objects: Objects,
    limits: FileLimits,
    pending_blobs: Arc<PendingBlobs>,
    upload_budget: UploadBudget,
    /// Held while the header of a large picture is read.
    probing: Arc<Mutex<()>>,
}

/// The budget of uploads unless it is set.
const DEFAULT_UPLOAD_BYTES: u64 = 1 << 30;

impl Attachments {
    pub fn new(store: Store, objects: Objects, limits: FileLimits) -> Self {
        Self {
            store,
            objects,
            limits,
            pending_blobs: Arc::default(),
            upload_budget: UploadBudget::new(DEFAULT_UPLOAD_BYTES),
            probing: Arc::default(),
        }
    }

    /// The same with this budget for files that are arriving.
    pub fn with_upload_budget(self, upload_budget: UploadBudget) -> Self {
        Self { upload_budget, ..self }
    }

    /// The budget for files that are arriving.
    pub fn upload_budget(&self) -> &UploadBudget {
        &self.upload_budget
    }

    pub fn limits(&self) -> FileLimits {
        self.limits
    }

    /// Stores the bytes and returns the attachment. The caller adds its row, in the transaction that adds its message.
    pub async fn store_file(&self, scope: &Scope, file: NewFile) -> Result<Attachment, AttachmentError> {
        let (attachment_id, conversation) = (AttachmentId::new(), scope.conversation().clone());
        let filename = file.filename.as_deref().map(clean_name).filter(|name| !name.is_empty());
        let owner = (&conversation, scope.user());
        let blob = self.put_blob(attachment_id, owner, filename.as_deref(), file.bytes).await?;
        Ok(Attachment {
            attachment_id,
            conversation,
            user_id: scope.user().clone(),
            source: file.source,
            filename: filename.unwrap_or_else(|| default_name(blob.mime_type)),
            mime_type: blob.mime_type.to_owned(),
            description: file.description,
            size: blob.size,
            width: blob.width,
            height: blob.height,
            content: Content::Stored {
                object_key: blob.object_key,
                sha256: blob.sha256,
                recipe: file.recipe,
            },
            created_at: Utc::now(),
            parents: file.parents,
        })
    }

    /// A picture that is only a recipe so far. Adds nothing to the object store.
    pub fn new_unrendered(&self, scope: &Scope, picture: NewPicture) -> Attachment {
        Attachment {
            attachment_id: AttachmentId::new(),
            conversation: scope.conversation().clone(),
            user_id: scope.user().clone(),
            source: AttachmentSource::Tool,
            filename: clean_name(&picture.filename),
            mime_type: picture.mime_type.to_owned(),
            description: Some(picture.description),
            size: 0,
            width: Some(picture.width.into()),
            height: Some(picture.height.into()),
            content: Content::Recipe(picture.recipe),
            created_at: Utc::now(),
            parents: vec![picture.parent],
        }
    }

    /// Stores the rendered bytes of a picture that was only a recipe. The caller updates its row.
    pub async fn store_rendered(
        &self,
        picture: &Attachment,
        bytes: Bytes,
    ) -> Result<Attachment, AttachmentError> {
        let owner = (&picture.conversation, &picture.user_id);
        let blob = self.put_blob(picture.attachment_id, owner, Some(&picture.filename), bytes).await?;
        let recipe = picture.recipe().cloned();
        Ok(Attachment {
            mime_type: blob.mime_type.to_owned(),
            size: blob.size,
            width: blob.width,
            height: blob.height,
            content: Content::Stored { object_key: blob.object_key, sha256: blob.sha256, recipe },
            ..picture.clone()
        })
    }

    async fn put_blob(
        &self,
        id: AttachmentId,
        owner: (&Conversation, &UserId),
        filename: Option<&str>,
        bytes: Bytes,
    ) -> Result<Blob, AttachmentError> {
        let size = bytes.len() as u64;
        let name_in_errors = filename.unwrap_or("the file");
        if size == 0 {
            return Err(AttachmentError::Empty { filename: name_in_errors.to_owned() });
        }
        self.check_limits_of(owner, name_in_errors, size, 0).await?;
        let sha256: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let mime_type = mime::sniff_mime(&bytes, filename);
        let shape = imaging::probe(&bytes).ok();
        let object_key = object_key(&sha256);
        self.pending_blobs.record(&object_key, id, self.objects.put(&object_key, bytes)).await?;
        Ok(Blob {
            object_key,
            sha256,
            mime_type,
            size: size as i64,
            width: shape.as_ref().map(|probe| i64::from(probe.width)),
            height: shape.as_ref().map(|probe| i64::from(probe.height)),
        })
    }

    /// What may still be added to this conversation, for files whose rows are added together.
    pub async fn read_room(&self, scope: &Scope) -> Result<Room, AttachmentError> {
        let kept = self.store.stored_bytes(scope.conversation(), scope.user()).await?;
        Ok(Room { quota: self.limits.quota, kept, taken: 0 })
    }

    /// Copies files of other conversations into this one: the same blobs under new ids. The caller adds the rows, as with
    /// `store_file`.
    pub async fn copy_into(
        &self,
        scope: &Scope,
        files: Vec<Attachment>,
    ) -> Result<Vec<Attachment>, AttachmentError> {
        self.read_room(scope).await?.take(files.iter().map(|file| file.size.unsigned_abs()).sum())?;
        let mut copies = Vec::new();
        for file in files {
            let copy = Attachment {
                attachment_id: AttachmentId::new(),
                conversation: scope.conversation().clone(),
                user_id: scope.user().clone(),
                ..file
            };
            if let Some(object_key) = copy.object_key() {
                let exists = self.objects.check_exists(object_key);
                self.pending_blobs.record(object_key, copy.attachment_id, exists).await?;
            }
            copies.push(copy);
        }
        Ok(copies)
    }

    /// Checks the limits for a file of this size, of this person in this conversation, after `ahead` bytes of files that
    /// have no row yet. Call it before a download, too. The store checks the quota again when it adds the row: other
    /// files may arrive at the same time.
    pub async fn check_limits(
        &self,
        scope: &Scope,
        name: &str,
        bytes: u64,
        ahead: u64,
    ) -> Result<(), AttachmentError> {
        self.check_limits_of((scope.conversation(), scope.user()), name, bytes, ahead).await
    }

    async fn check_limits_of(
        &self,
        (conversation, user): (&Conversation, &UserId),
        name: &str,
        bytes: u64,
        ahead: u64,
    ) -> Result<(), AttachmentError> {
        if bytes > self.limits.max_file_bytes {
            let limit = self.limits.max_file_bytes;
            return Err(AttachmentError::TooLarge { filename: name.to_owned(), bytes, limit });
        }
        self.check_free_space(bytes)?;
        let kept = self.store.stored_bytes(conversation, user).await?;
        Ok(self.limits.quota.check(kept, StoredBytes::both(bytes.saturating_add(ahead)))?)
    }

    fn check_free_space(&self, bytes: u64) -> Result<(), AttachmentError> {
        let (free_bytes, min_free_bytes) = (self.objects.free_bytes(), self.limits.min_free_bytes);
        if free_bytes.is_some_and(|free| free.saturating_sub(bytes) < min_free_bytes) {
            warn!(
                op = "check_free_space",
                free_bytes, min_free_bytes, "the disk is nearly full; the file is refused"
            );
            return Err(AttachmentError::DiskFull);
        }
        Ok(())
    }

    /// An attachment of this conversation. Ids of other conversations are unknown.
    pub async fn find(&self, scope: &Scope, id: AttachmentId) -> Result<Attachment, AttachmentError> {
        self.store.attachment(scope.conversation(), id).await?.ok_or(AttachmentError::Unknown(id))
    }

    /// The full bytes of a stored file.
    pub async fn bytes(&self, attachment: &Attachment) -> Result<Bytes, AttachmentError> {
        self.stored_bytes(attachment.object_key().ok_or(ObjectError::Missing)?).await
    }

    /// A byte range of a stored file.
    pub async fn byte_range(
        &self,
        attachment: &Attachment,
        range: Range<u64>,
    ) -> Result<Bytes, AttachmentError> {
        let object_key = attachment.object_key().ok_or(ObjectError::Missing)?;
        Ok(self.objects.get_part(object_key, range).await?)
    }

    /// The stored thumbnail of a picture, if there is one.
    pub async fn load_view(&self, file: &Attachment, size: u32) -> Result<Option<Bytes>, AttachmentError> {
        let Some(sha256) = file.sha256() else { return Ok(None) };
        match self.objects.get(&view_key(sha256, size)).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ObjectError::Missing) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Stores a thumbnail. It is deleted with its file.
    pub async fn store_view(
        &self,
        file: &Attachment,
        size: u32,
        bytes: Bytes,
    ) -> Result<(), AttachmentError> {
        let Content::Stored { object_key, sha256, .. } = &file.content else { return Ok(()) };
        let _guard = self.pending_blobs.block_deletion().await;
        if self.store.object_in_use(object_key).await? {
            self.objects.put(&view_key(sha256, size), bytes).await?;
        }
        Ok(())
    }

    /// The blob under this key.
    pub async fn stored_bytes(&self, object_key: &str) -> Result<Bytes, AttachmentError> {
        Ok(self.objects.get(object_key).await?)
    }
}

/// The sizes of stored views: the longest side in pixels.
pub const VIEW_SIZES: [u32; 5] = [96, 320, 640, 1280, 2048];

/// The key of the blob with this content.
fn object_key(sha256: &str) -> String {
    format!("sha256/{}/{sha256}", sha256.get(..2).unwrap_or_default())
}

fn view_key(sha256: &str, size: u32) -> String {
    format!("views/{}/{sha256}-{size}", sha256.get(..2).unwrap_or_default())
}

/// A name for a file without one, by its type.
fn default_name(mime_type: &str) -> String {
    let (kind, rest) = mime_type.split_once('/').unwrap_or(("file", "bin"));
    let stem = if kind == "application" || kind == "text" { "file" } else { kind };
    let extension = match rest {
        "jpeg" => "jpg",
        "plain" => "txt",
        "octet-stream" => "bin",
        "mpeg" => "mp3",
        other => other.trim_start_matches("x-"),
    };
    format!("{stem}.{extension}")
}

/// Makes a name safe to show and to send: no path, one line, limited length. In a prompt it must not look like a fence
/// or a marker.
fn clean_name(name: &str) -> String {
    let base = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown = base.chars().filter(|c| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}'));
    let harmless = shown.map(|c| match c {
        '<' => '‹',
        '>' => '›',
        c => c,
    });
    let name: String = harmless.take(120).collect();
    name.replace("[Attachment", "(Attachment").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_and_neither_a_fence_nor_a_marker() {
        assert_eq!(clean_name("a\n>>>\u{2028}b.jpg"), "a›››b.jpg");
        assert_eq!(clean_name("[Attachment ID: 1].jpg"), "(Attachment ID: 1].jpg");
        assert_eq!(clean_name("C:\\photos\\cat [1].jpg"), "cat [1].jpg");
    }
}
