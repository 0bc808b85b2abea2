//! An exported archive becomes a session again: its files come first, under new ids, then the history that names them.
//! Whatever is wrong with it, nothing of it stays.

use super::files::{rename, renamed};
use crate::{
    access::Scope,
    attachments::NewFile,
    domain::{Attachment, AttachmentId, AttachmentSource, Recipe},
    web::{Site, problem::Problem},
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

/// What the history is called in an archive.
const HISTORY: &str = "history.json";
/// More than a history may hold; what is larger was not made by an export.
const LARGEST_HISTORY: u64 = 64 << 20;
/// How every zip begins.
const ZIP: &[u8] = b"PK";

/// One of the files an export tells of.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    attachment_id: AttachmentId,
    filename: String,
    description: Option<String>,
    source: AttachmentSource,
    created_at: DateTime<Utc>,
    #[serde(default)]
    parents: Vec<AttachmentId>,
    recipe: Option<Recipe>,
    /// Its place in the archive.
    file: Option<String>,
}

/// The history in an export, with its files kept in this conversation and called by their new ids.
pub async fn unpack(site: &Site, scope: &Scope, bytes: Bytes) -> Result<Value, Problem> {
    if !bytes.starts_with(ZIP) {
        let why = "That is neither an exported zip nor exported JSON.";
        return serde_json::from_slice(&bytes).map_err(|_| Problem::invalid(why));
    }
    let mut archive =
        ZipArchive::new(Cursor::new(bytes)).map_err(|_| Problem::invalid("The zip cannot be read."))?;
    let Some(history) = entry(&mut archive, HISTORY, LARGEST_HISTORY)? else {
        return Err(Problem::invalid(format!("The zip has no {HISTORY}: it is no export.")));
    };
    let history: Value = serde_json::from_slice(&history)
        .map_err(|why| Problem::invalid(format!("{HISTORY} in the zip cannot be read: {why}.")))?;
    let told = history.get("attachments").cloned().unwrap_or_default();
    let told: Vec<Told> = serde_json::from_value(told)
        .map_err(|why| Problem::invalid(format!("attachments of {HISTORY} cannot be read: {why}.")))?;
    let mut kept: Vec<(Told, Attachment)> = Vec::new();
    for one in told {
        let Some(path) = &one.file else { continue };
        let largest = site.attachments.limits().max_file_bytes;
        // One that is lost is refused by whoever names it.
        let Some(bytes) = entry(&mut archive, path, largest)? else { continue };
        let file = NewFile {
            bytes: bytes.into(),
            filename: Some(one.filename.clone()),
            description: one.description.clone(),
            source: one.source,
            parents: Vec::new(),
            recipe: None,
        };
        let file = site.attachments.keep(scope, file).await?;
        site.store.add_attachment(&Attachment { created_at: one.created_at, ..file.clone() }).await?;
        kept.push((one, file));
    }
    let names: HashMap<_, _> =
        kept.iter().map(|(one, file)| (one.attachment_id, file.attachment_id)).collect();
    for (one, file) in kept {
        let parents = one.parents.iter().filter_map(|id| names.get(id).copied()).collect();
        let recipe = one.recipe.map(|recipe| renamed(recipe, &names));
        site.store.trace_attachment(&Attachment { parents, recipe, ..file }).await?;
    }
    let text = rename(&history.to_string(), &names);
    serde_json::from_str(&text).map_err(|why| Problem::ours("an import", &why))
}

/// One file of the archive, if it is there and not larger than this.
fn entry(
    archive: &mut ZipArchive<Cursor<Bytes>>,
    path: &str,
    largest: u64,
) -> Result<Option<Vec<u8>>, Problem> {
    let Ok(file) = archive.by_name(path) else { return Ok(None) };
    let mut bytes = Vec::new();
    // What an entry says of its own size need not be true.
    let read = file.take(largest.saturating_add(1)).read_to_end(&mut bytes);
    match read {
        Ok(_) if bytes.len() as u64 <= largest => Ok(Some(bytes)),
        Ok(_) => Err(Problem::invalid(format!("{path} in the zip is larger than is kept here."))),
        Err(_) => Err(Problem::invalid(format!("{path} in the zip is damaged."))),
    }
}
