//! Streams stored files in parts, as fast as the reader takes them, so that a slow reader holds one part in memory.

use super::{AttachmentError, Attachments, objects::ObjectError};
use crate::domain::Attachment;
use bytes::Bytes;
use futures::{Stream, stream};
use std::ops::Range;

/// One request to the object store brings this much.
pub const PART_BYTES: u64 = 1 << 20;

impl Attachments {
    /// A byte range of a stored file, part by part.
    pub fn byte_stream(
        &self,
        attachment: &Attachment,
        range: Range<u64>,
    ) -> Result<impl Stream<Item = Result<Bytes, AttachmentError>> + Send + use<>, AttachmentError> {
        let object_key = attachment.object_key().ok_or(ObjectError::Missing)?.to_owned();
        let objects = self.objects.clone();
        Ok(stream::try_unfold(range, move |rest| {
            let (objects, object_key) = (objects.clone(), object_key.clone());
            async move {
                if rest.is_empty() {
                    return Ok(None);
                }
                let end = rest.end.min(rest.start + PART_BYTES);
                let part = objects.get_part(&object_key, rest.start..end).await?;
                Ok(Some((part, end..rest.end)))
            }
        }))
    }
}
