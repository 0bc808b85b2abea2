//! Streams stored files in parts, as fast as the reader takes them, so that a slow reader holds one part in memory.

use super::{AttachmentError, Attachments, objects::ObjectError};
use crate::domain::Attachment;
use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream, stream::BoxStream};
use std::{
    io,
    ops::Range,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, ReadBuf};

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
        Ok(self.stream_object(object_key, range))
    }

    /// A stored file as a reader, and its size.
    pub async fn stored_reader(&self, object_key: &str) -> Result<(u64, FileReader), AttachmentError> {
        let size = self.objects.size(object_key).await?;
        let stream = self.stream_object(object_key.to_owned(), 0..size).boxed();
        Ok((size, FileReader { stream, part: Bytes::new() }))
    }

    fn stream_object(
        &self,
        object_key: String,
        range: Range<u64>,
    ) -> impl Stream<Item = Result<Bytes, AttachmentError>> + Send + use<> {
        let objects = self.objects.clone();
        stream::try_unfold(range, move |rest| {
            let (objects, object_key) = (objects.clone(), object_key.clone());
            async move {
                if rest.is_empty() {
                    return Ok(None);
                }
                let end = rest.end.min(rest.start + PART_BYTES);
                let part = objects.get_part(&object_key, rest.start..end).await?;
                Ok(Some((part, end..rest.end)))
            }
        })
    }
}

/// Reads a stored file part by part. A part that cannot be read fails the whole, so that no file is cut short.
pub struct FileReader {
    stream: BoxStream<'static, Result<Bytes, AttachmentError>>,
    part: Bytes,
}

impl AsyncRead for FileReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.part.is_empty() {
            match ready!(self.stream.poll_next_unpin(context)) {
                Some(Ok(part)) => self.part = part,
                Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                None => return Poll::Ready(Ok(())),
            }
        }
        let length = self.part.len().min(buffer.remaining());
        buffer.put_slice(&self.part.split_to(length));
        Poll::Ready(Ok(()))
    }
}
