//! How a provider loads the files that it shows to a model.

use super::prompt::ShownFile;
use crate::domain::Attachment;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures::future::BoxFuture;

/// The content of a file and its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedFile {
    pub mime: String,
    pub bytes: Bytes,
}

impl LoadedFile {
    pub fn base64(&self) -> String {
        BASE64_STANDARD.encode(&self.bytes)
    }

    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.mime, self.base64())
    }

    pub fn is_image(&self) -> bool {
        self.mime.starts_with("image/")
    }
}

/// Source of pixels and files. `None` if a file cannot be loaded: the model then sees only its marker.
pub trait MediaSource: Send + Sync {
    /// The picture without metadata, no side longer than `longest`.
    fn picture<'a>(&'a self, shown: &'a ShownFile, longest: u32) -> BoxFuture<'a, Option<LoadedFile>>;
    /// The file as it was sent, such as a PDF or sound.
    fn file<'a>(&'a self, attachment: &'a Attachment) -> BoxFuture<'a, Option<LoadedFile>>;
}
