//! Compares the object store with the database: blobs without a row, and rows without a blob. A crash between blob and row
//! leaves the former; a lost disk or a restored backup the latter. A crash while a blob is written leaves its beginning.

use super::{AttachmentError, Attachments, deletion::ROW_GRACE_PERIOD, objects::ListedObject};
use crate::domain::AttachmentId;
use chrono::{TimeDelta, Utc};
use std::collections::HashSet;

/// What does not fit together.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Keys of blobs that no attachment uses, and of views of pictures that are gone.
    pub orphaned: Vec<String>,
    /// Keys of files that an interrupted write left behind.
    pub unfinished: Vec<String>,
    /// Attachments whose blob is missing.
    pub missing: Vec<AttachmentId>,
}

impl Audit {
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }

    /// How many files `delete_orphans` would delete at most.
    pub fn count_orphans(&self) -> usize {
        self.orphaned.len() + self.unfinished.len()
    }
}

impl Attachments {
    /// Reads one part of the store after the other: its keys begin with two digits of the hash.
    pub async fn audit(&self) -> Result<Audit, AttachmentError> {
        let mut audit = Audit::default();
        for part in 0..=u8::MAX {
            self.audit_part(&format!("{part:02x}"), &mut audit).await?;
        }
        Ok(audit)
    }

    async fn audit_part(&self, part: &str, audit: &mut Audit) -> Result<(), AttachmentError> {
        let folder = format!("sha256/{part}");
        // `0` is the character after `/`. Rows first: a blob is written before its row.
        let rows = self.store.stored_objects(&format!("{folder}/"), &format!("{folder}0")).await?;
        let blobs = self.objects.list(&folder).await?;
        let used: HashSet<&str> = rows.iter().map(|(_, key)| key.as_str()).collect();
        let found: HashSet<&str> = blobs.iter().map(|blob| blob.key.as_str()).collect();
        let missing = rows.iter().filter(|(_, key)| !found.contains(key.as_str()));
        audit.missing.extend(missing.map(|(id, _)| *id));
        // A young blob may get its row in a moment.
        let grace = TimeDelta::from_std(ROW_GRACE_PERIOD).unwrap_or_default();
        let is_old = |object: &&ListedObject| object.last_modified < Utc::now() - grace;
        let unused = blobs.iter().filter(is_old).filter(|blob| !used.contains(blob.key.as_str()));
        audit.orphaned.extend(unused.map(|blob| blob.key.clone()));
        for folder in [&folder, &format!("views/{part}")] {
            let unfinished = self.objects.list_unfinished(folder).await?;
            audit.unfinished.extend(unfinished.iter().filter(is_old).map(|file| file.key.clone()));
        }
        for view in self.objects.list(&format!("views/{part}")).await?.iter().filter(is_old) {
            let hash = view.key.rsplit('/').next().and_then(|name| name.split('-').next());
            let picture = format!("{folder}/{}", hash.unwrap_or_default());
            if !used.contains(picture.as_str()) {
                audit.orphaned.push(view.key.clone());
            }
        }
        Ok(())
    }

    /// Deletes what interrupted writes left, and the orphaned blobs of an audit that still have no row. Returns how many. The bot must not run: it may be
    /// about to use one of them.
    pub async fn delete_orphans(&self, audit: &Audit) -> Result<usize, AttachmentError> {
        let mut deleted = 0;
        for key in &audit.orphaned {
            if !self.store.object_in_use(key).await? {
                self.objects.delete(key).await?;
                deleted += 1;
            }
        }
        for key in &audit.unfinished {
            self.objects.delete_unfinished(key).await?;
            deleted += 1;
        }
        Ok(deleted)
    }
}
