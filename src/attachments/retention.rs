//! Retention: deletes old files that no newer edit was made from. Their messages stay and say so.

use super::{AttachmentError, Attachments, markers};
use crate::domain::Attachment;
use chrono::{TimeDelta, Utc};

impl Attachments {
    /// Deletes the files that are older than this many days. Returns how many there were. Their blobs are listed for the
    /// next `sweep`.
    pub async fn expire(&self, days: u32) -> Result<u64, AttachmentError> {
        let before = Utc::now() - TimeDelta::days(i64::from(days));
        let rewrite = |file: &Attachment, content: &str| {
            let text = markers::strip(content, &[file.attachment_id]);
            let note = format!("({} was deleted here after {}.)", file.filename, days_text(days));
            if text.is_empty() { note } else { format!("{text}\n{note}") }
        };
        let mut expired = 0;
        for conversation in self.store.conversations_with_files_before(before).await? {
            expired += self.store.expire_files(&conversation, before, &rewrite).await?;
        }
        Ok(expired)
    }
}

fn days_text(days: u32) -> String {
    if days == 1 { "a day".to_owned() } else { format!("{days} days") }
}
