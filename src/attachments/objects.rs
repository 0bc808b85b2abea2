//! The object store behind `attachments.url`: a folder by default; S3, Google Cloud or Azure; memory for tests.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::TryStreamExt as _;
use object_store::{
    ObjectStore, ObjectStoreExt as _, local::LocalFileSystem, memory::InMemory, path::Path,
    prefix::PrefixStore,
};
use std::{
    io::{self, ErrorKind},
    ops::Range,
    path::PathBuf,
    sync::Arc,
};
use url::Url;

#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    #[error("attachments.url {url:?} cannot be used: {why}")]
    Unusable { url: String, why: String },
    #[error("the file is gone from the attachment store")]
    Missing,
    #[error("the disk is full")]
    DiskFull(#[source] io::Error),
    #[error("the attachment store is not reachable")]
    Unavailable(#[source] object_store::Error),
    #[error("the folder of the attachment store does not exist")]
    FolderGone(#[source] io::Error),
    #[error("the file that was arriving cannot be kept on disk")]
    Spool(#[source] io::Error),
}

impl From<object_store::Error> for ObjectError {
    fn from(error: object_store::Error) -> Self {
        match error {
            object_store::Error::NotFound { .. } => Self::Missing,
            other if is_disk_full(&other) => Self::DiskFull(ErrorKind::StorageFull.into()),
            other => Self::Unavailable(other),
        }
    }
}

impl ObjectError {
    /// A spool file cannot be written or read.
    pub(super) fn spool(error: io::Error) -> Self {
        if is_disk_full(&error) { Self::DiskFull(error) } else { Self::Spool(error) }
    }
}

/// Looks for the operating system's error, which object_store wraps.
fn is_disk_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if matches!(kind, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// A blob as the object store lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedObject {
    pub key: String,
    pub last_modified: DateTime<Utc>,
}

/// Content-addressed blobs. Cheap to clone.
#[derive(Clone)]
pub struct Objects {
    inner: Arc<dyn ObjectStore>,
    /// For a `file://` URL, its folder.
    folder: Option<PathBuf>,
}

impl Objects {
    /// `file://`, `s3://`, `gs://`, `az://` or `memory://`. The cloud stores read their usual environment variables.
    pub fn open(url: &str) -> Result<Self, ObjectError> {
        let unusable = |why: String| ObjectError::Unusable { url: url.to_owned(), why };
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(unusable("it must start with file://, s3://, gs://, az:// or memory://".into()));
        };
        let inner: Arc<dyn ObjectStore> = match scheme {
            "file" => {
                std::fs::create_dir_all(rest)
                    .map_err(|e| unusable(format!("the folder cannot be created: {e}")))?;
                let local = LocalFileSystem::new_with_prefix(rest).map_err(|e| unusable(e.to_string()))?;
                Arc::new(local.with_fsync(true))
            }
            "memory" => Arc::new(InMemory::new()),
            "s3" | "gs" | "az" => {
                let parsed = Url::parse(url).map_err(|e| unusable(e.to_string()))?;
                let variables = std::env::vars_os()
                    .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
                let (store, prefix) =
                    object_store::parse_url_opts(&parsed, cloud_variables(scheme, variables))
                        .map_err(|e| unusable(e.to_string()))?;
                Arc::new(PrefixStore::new(store, prefix))
            }
            _ => {
                return Err(unusable("only file://, s3://, gs://, az:// and memory:// are supported".into()));
            }
        };
        let folder = (scheme == "file").then(|| PathBuf::from(rest));
        Ok(Self { inner, folder })
    }

    /// Writes a blob. An object of the same size under this key is the same content and is not written again.
    pub async fn put(&self, key: &str, bytes: Bytes) -> Result<(), ObjectError> {
        self.check_folder().await?;
        let path = Path::from(key);
        if self.is_stored(&path, bytes.len() as u64).await? {
            return Ok(());
        }
        self.inner.put(&path, bytes.into()).await?;
        Ok(())
    }

    /// Writes a blob of this size part by part, like `put`. `next_part` returns an empty part at the end.
    pub async fn put_parts<F>(
        &self,
        key: &str,
        size: u64,
        mut next_part: impl FnMut() -> F,
    ) -> Result<(), ObjectError>
    where
        F: Future<Output = Result<Bytes, ObjectError>>,
    {
        self.check_folder().await?;
        let path = Path::from(key);
        if self.is_stored(&path, size).await? {
            return Ok(());
        }
        let mut upload = self.inner.put_multipart(&path).await?;
        let written = async {
            loop {
                let part = next_part().await?;
                if part.is_empty() {
                    upload.complete().await?;
                    return Ok(());
                }
                upload.put_part(part.into()).await?;
            }
        };
        let written: Result<(), ObjectError> = written.await;
        if written.is_err() {
            // Best effort: the first error is the one to report.
            let _ = upload.abort().await;
        }
        written
    }

    /// True if an object of this size is under the key: the same content.
    async fn is_stored(&self, path: &Path, size: u64) -> Result<bool, ObjectError> {
        match self.inner.head(path).await {
            Ok(known) => Ok(known.size == size),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(other) => Err(other.into()),
        }
    }

    /// Where files wait that are arriving: beside the stored ones, or where the system keeps temporary files.
    pub fn spool_folder(&self) -> PathBuf {
        self.folder.clone().unwrap_or_else(std::env::temp_dir)
    }

    pub async fn get(&self, key: &str) -> Result<Bytes, ObjectError> {
        self.check_folder().await?;
        Ok(self.inner.get(&Path::from(key)).await?.bytes().await?)
    }

    /// Fails with `Missing` if there is no such blob.
    pub async fn check_exists(&self, key: &str) -> Result<(), ObjectError> {
        self.check_folder().await?;
        self.inner.head(&Path::from(key)).await?;
        Ok(())
    }

    pub async fn size(&self, key: &str) -> Result<u64, ObjectError> {
        self.check_folder().await?;
        Ok(self.inner.head(&Path::from(key)).await?.size)
    }

    pub async fn get_part(&self, key: &str, range: Range<u64>) -> Result<Bytes, ObjectError> {
        self.check_folder().await?;
        Ok(self.inner.get_range(&Path::from(key), range).await?)
    }

    /// Deletes a blob. A missing one is no error.
    pub async fn delete(&self, key: &str) -> Result<(), ObjectError> {
        self.check_folder().await?;
        match self.inner.delete(&Path::from(key)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(other) => Err(other.into()),
        }
    }

    /// All blobs in a folder.
    pub async fn list(&self, folder: &str) -> Result<Vec<ListedObject>, ObjectError> {
        self.check_folder().await?;
        let listed = self.inner.list(Some(&Path::from(folder)));
        let read = |found: object_store::ObjectMeta| ListedObject {
            key: found.location.to_string(),
            last_modified: found.last_modified,
        };
        Ok(listed.map_ok(read).try_collect().await?)
    }

    /// The files of interrupted writes in a folder of a `file://` store. object_store writes `<key>#<number>` first, and
    /// `list` leaves such names out. Other stores drop unfinished writes themselves.
    pub async fn list_unfinished(&self, folder: &str) -> Result<Vec<ListedObject>, ObjectError> {
        let Some(root) = &self.folder else { return Ok(Vec::new()) };
        let (path, folder) = (root.join(folder), folder.to_owned());
        let listed = tokio::task::spawn_blocking(move || read_unfinished(&path, &folder)).await;
        listed.map_err(io::Error::other).and_then(|listed| listed).map_err(ObjectError::spool)
    }

    /// Deletes the file of an interrupted write. A missing one is no error.
    pub async fn delete_unfinished(&self, key: &str) -> Result<(), ObjectError> {
        let Some(root) = &self.folder else { return Ok(()) };
        match tokio::fs::remove_file(root.join(key)).await {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(ObjectError::spool(error)),
            _ => Ok(()),
        }
    }

    /// Free space of the disk that holds the blobs; none if that is another machine's.
    pub fn free_bytes(&self) -> Option<u64> {
        #[cfg(unix)]
        {
            let disk = rustix::fs::statvfs(self.folder.as_ref()?).ok()?;
            Some(disk.f_bavail.saturating_mul(disk.f_frsize))
        }
        #[cfg(not(unix))]
        None
    }

    /// Without its folder (for example, a disk that is not mounted) no single blob is missing, and creating the folder
    /// would hide the problem.
    async fn check_folder(&self) -> Result<(), ObjectError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        match tokio::fs::metadata(folder).await {
            Ok(found) if found.is_dir() => Ok(()),
            Ok(_) => Err(ObjectError::FolderGone(io::ErrorKind::NotADirectory.into())),
            Err(error) => Err(ObjectError::FolderGone(error)),
        }
    }

    /// Writes, reads and deletes a small object, for `doctor`.
    pub async fn check(&self) -> Result<(), ObjectError> {
        let path = Path::from("doctor-check");
        self.inner.put(&path, Bytes::from_static(b"ok").into()).await?;
        self.inner.get(&path).await?.bytes().await?;
        self.inner.delete(&path).await?;
        Ok(())
    }
}

fn read_unfinished(path: &std::path::Path, folder: &str) -> io::Result<Vec<ListedObject>> {
    let entries = match std::fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let number = name.rsplit_once('#').map(|(_, number)| number);
        if number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())) {
            let last_modified = entry.metadata()?.modified()?.into();
            found.push(ListedObject { key: format!("{folder}/{name}"), last_modified });
        }
    }
    Ok(found)
}

/// The environment variables of one cloud. object_store would also read a bare `TOKEN` or `REGION`, which may belong to
/// another program.
fn cloud_variables(
    scheme: &str,
    variables: impl Iterator<Item = (String, String)>,
) -> impl Iterator<Item = (String, String)> {
    let cloud = match scheme {
        "s3" => "AWS_",
        "gs" => "GOOGLE_",
        _ => "AZURE_",
    };
    variables.filter(move |(name, _)| name.starts_with(cloud))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_recognised_behind_the_wrapping_error() {
        let wrapped = |kind: ErrorKind| object_store::Error::Generic {
            store: "LocalFileSystem",
            source: Box::new(io::Error::from(kind)),
        };
        assert!(matches!(wrapped(ErrorKind::StorageFull).into(), ObjectError::DiskFull(_)));
        assert!(matches!(wrapped(ErrorKind::QuotaExceeded).into(), ObjectError::DiskFull(_)));
        assert!(matches!(wrapped(ErrorKind::PermissionDenied).into(), ObjectError::Unavailable(_)));
    }

    #[test]
    fn each_cloud_reads_only_its_own_variables() {
        let variables =
            ["AWS_REGION", "REGION", "TOKEN", "GOOGLE_SERVICE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"];
        let read = |scheme| {
            let all = variables.iter().map(|name| ((*name).to_owned(), String::new()));
            cloud_variables(scheme, all).map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(read("s3"), ["AWS_REGION"]);
        assert_eq!(read("gs"), ["GOOGLE_SERVICE_ACCOUNT"]);
        assert_eq!(read("az"), ["AZURE_STORAGE_ACCOUNT_NAME"]);
    }
}
