//! Unpacks an exported zip: stores its files in the conversation under new ids, then returns the history with those
//! ids. The caller deletes the session if anything fails, and the files with it.

use super::{
    error::ImportError,
    ids::{replace_in_recipe, replace_in_text},
};
use crate::{
    access::Scope,
    attachments::NewFile,
    domain::{Attachment, AttachmentId, AttachmentSource, Recipe},
    rendering::Renderer,
};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::HashMap,
    io::{Cursor, Read as _},
};
use zip::ZipArchive;

/// The path of the history in an archive.
const HISTORY: &str = "history.json";
/// No export writes a larger history.
const MAX_HISTORY_BYTES: u64 = 64 << 20;
const ZIP_SIGNATURE: &[u8] = b"PK";

/// A file as the exported history describes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArchivedFile {
    attachment_id: AttachmentId,
    filename: String,
    description: Option<String>,
    source: AttachmentSource,
    created_at: DateTime<Utc>,
    #[serde(default)]
    parents: Vec<AttachmentId>,
    recipe: Option<Recipe>,
    /// Its path in the archive.
    file: Option<String>,
}

/// The history of an export. Bytes that are not a zip must be exported JSON.
pub async fn unpack(renderer: &Renderer, scope: &Scope, export: Bytes) -> Result<Value, ImportError> {
    if !export.starts_with(ZIP_SIGNATURE) {
        return serde_json::from_slice(&export)
            .map_err(|_| unreadable("That is neither an exported zip nor exported JSON."));
    }
    let mut archive =
        ZipArchive::new(Cursor::new(export)).map_err(|_| unreadable("The zip cannot be read."))?;
    let Some(history) = read_entry(&mut archive, HISTORY, MAX_HISTORY_BYTES)? else {
        return Err(unreadable(format!("The zip has no {HISTORY}: it is no export.")));
    };
    let history: Value = serde_json::from_slice(&history)
        .map_err(|why| unreadable(format!("{HISTORY} in the zip cannot be read: {why}.")))?;
    let files = history.get("attachments").cloned().unwrap_or_default();
    let files: Vec<ArchivedFile> = serde_json::from_value(files)
        .map_err(|why| unreadable(format!("attachments of {HISTORY} cannot be read: {why}.")))?;
    let new_ids = store_files(renderer, scope, &mut archive, files).await?;
    Ok(serde_json::from_str(&replace_in_text(&history.to_string(), &new_ids))?)
}

fn unreadable(detail: impl Into<String>) -> ImportError {
    ImportError::Unreadable(detail.into())
}

/// Stores the files and returns their new ids. Parents and recipes are written last, when all new ids are known.
async fn store_files(
    renderer: &Renderer,
    scope: &Scope,
    archive: &mut ZipArchive<Cursor<Bytes>>,
    files: Vec<ArchivedFile>,
) -> Result<HashMap<AttachmentId, AttachmentId>, ImportError> {
    let mut stored: Vec<(ArchivedFile, Attachment)> = Vec::new();
    for archived in files {
        let Some(path) = &archived.file else { continue };
        // A file that is not in the zip becomes an error of the entry that names it.
        let max_bytes = renderer.attachments.limits().max_file_bytes;
        let Some(bytes) = read_entry(archive, path, max_bytes)? else { continue };
        let file = NewFile {
            bytes: bytes.into(),
            filename: Some(archived.filename.clone()),
            description: archived.description.clone(),
            source: archived.source,
            parents: Vec::new(),
            recipe: None,
        };
        let file = renderer.attachments.store_file(scope, file).await?;
        renderer
            .store
            .add_attachment(&Attachment { created_at: archived.created_at, ..file.clone() })
            .await?;
        stored.push((archived, file));
    }
    let new_ids: HashMap<_, _> =
        stored.iter().map(|(archived, file)| (archived.attachment_id, file.attachment_id)).collect();
    for (archived, file) in stored {
        let parents: Vec<_> = archived.parents.iter().filter_map(|id| new_ids.get(id).copied()).collect();
        let recipe = archived.recipe.map(|recipe| replace_in_recipe(recipe, &new_ids));
        renderer.store.set_provenance(file.attachment_id, &parents, recipe.as_ref()).await?;
    }
    Ok(new_ids)
}

/// Reads one file of the archive; none if it is not there.
fn read_entry(
    archive: &mut ZipArchive<Cursor<Bytes>>,
    path: &str,
    max_bytes: u64,
) -> Result<Option<Vec<u8>>, ImportError> {
    let Ok(file) = archive.by_name(path) else { return Ok(None) };
    let mut bytes = Vec::new();
    // The size in the zip header may be a lie, so the read itself is bounded.
    let read = file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes);
    match read {
        Ok(_) if bytes.len() as u64 <= max_bytes => Ok(Some(bytes)),
        Ok(_) => Err(unreadable(format!("{path} in the zip is larger than is kept here."))),
        Err(_) => Err(unreadable(format!("{path} in the zip is damaged."))),
    }
}
