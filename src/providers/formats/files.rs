//! The files of a request: which ones are loaded, their captions, and base64 of files in a response.

use super::invalid;
use crate::providers::{LoadedFile, ProviderErrorKind, ShownFile};
use base64::{Engine as _, prelude::BASE64_STANDARD};

/// The shown files that could be loaded and fit into the request.
#[derive(Debug, Default)]
pub struct LoadedFiles(Vec<(ShownFile, LoadedFile)>);

impl LoadedFiles {
    pub fn add(&mut self, shown: &ShownFile, loaded: LoadedFile) {
        self.0.push((shown.clone(), loaded));
    }

    pub fn contains(&self, shown: &ShownFile) -> bool {
        self.find(shown).is_some()
    }

    /// The loaded ones among `shown`, in the same order.
    pub fn of<'a>(&'a self, shown: &'a [ShownFile]) -> impl Iterator<Item = (&'a ShownFile, &'a LoadedFile)> {
        shown.iter().filter_map(|shown| Some((shown, self.find(shown)?)))
    }

    fn find(&self, shown: &ShownFile) -> Option<&LoadedFile> {
        self.0.iter().find(|(known, _)| known == shown).map(|(_, loaded)| loaded)
    }
}

/// The line before a picture. It names the attachment, because the text may name more files than are shown.
pub(super) fn caption(shown: &ShownFile) -> String {
    let part = match shown.region {
        Some(r) => format!(
            ", the part from {} to {} across and {} to {} down",
            r.left(),
            r.right(),
            r.top(),
            r.bottom()
        ),
        None => String::new(),
    };
    let grid = if shown.grid { ", with a grid" } else { "" };
    format!("[Attachment ID: {}]{part}{grid}", shown.attachment.attachment_id)
}

/// Decodes a picture of a response.
pub(super) fn decode_picture(mime: &str, base64: &str) -> Result<LoadedFile, ProviderErrorKind> {
    let bytes =
        BASE64_STANDARD.decode(base64.trim()).map_err(|_| invalid("a picture in it is not base64"))?;
    if bytes.is_empty() {
        return Err(invalid("a picture in it is empty"));
    }
    Ok(LoadedFile { mime: mime.to_owned(), bytes: bytes.into() })
}
