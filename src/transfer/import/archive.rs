//! Unpacks an exported zip: stores its files under new ids, then returns the history with those ids and the rows of the
//! files. The rows are added with the history; without it, the files are deleted again.

use super::{
    error::{EntryError, ImportError},
    ids::{replace_in_recipe, replace_in_value},
    limits,
    turns::ImportTurn,
};
use crate::{
    access::Scope,
    attachments::{AttachmentError, Attachments, ReceivedBytes, StagedFile, Upload},
    domain::{Attachment, AttachmentId, AttachmentSource, Content, Recipe},
    transfer::json_cost::JsonCost,
};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::HashMap,
    io::{self, Read as _, Seek as _},
};
use tokio::sync::{SemaphorePermit, mpsc};
use zip::ZipArchive;

/// The path of the history in an archive.
const HISTORY: &str = "history.json";
const ZIP_SIGNATURE: &[u8] = b"PK";
/// Entries of the zip are read in chunks of this size.
const CHUNK_BYTES: usize = 256 << 10;

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

/// A parsed document and the memory that is reserved for it.
pub struct Document {
    pub value: Value,
    _memory: SemaphorePermit<'static>,
}

/// The history of an export and the files that came with it.
pub struct Unpacked {
    pub document: Document,
    pub files: Vec<Attachment>,
    /// To be kept when the rows of the files are committed.
    pub staged: Vec<StagedFile>,
}

/// Reads an export. Bytes that are not a zip must be exported JSON.
pub async fn unpack(
    attachments: &Attachments,
    scope: &Scope,
    turn: &ImportTurn,
    mut export: ReceivedBytes,
) -> Result<Unpacked, ImportError> {
    let mut signature = Vec::new();
    let mut read_signature = || {
        export.by_ref().take(ZIP_SIGNATURE.len() as u64).read_to_end(&mut signature)?;
        export.rewind()
    };
    read_signature().map_err(|_| unreadable("The file cannot be read."))?;
    if signature != ZIP_SIGNATURE {
        let document = read_json(turn, export).await?;
        return Ok(Unpacked { document, files: Vec::new(), staged: Vec::new() });
    }
    let mut archive = Archive::open(export).await?;
    let mut document = read_history(turn, &mut archive).await?;
    let files = document.value.as_object_mut().and_then(|fields| fields.remove("attachments"));
    let files: Vec<ArchivedFile> = serde_json::from_value(files.unwrap_or_default())
        .map_err(|why| unreadable(format!("attachments of {HISTORY} cannot be read: {why}.")))?;
    check_files(&files)?;
    let (staged, files, new_ids) = store_files(attachments, scope, &mut archive, files).await?;
    replace_in_value(&mut document.value, &new_ids);
    Ok(Unpacked { document, files, staged })
}

fn unreadable(detail: impl Into<String>) -> ImportError {
    ImportError::Unreadable(detail.into())
}

/// Reads the history of a zip: once to see what memory it takes, then to parse it.
async fn read_history(turn: &ImportTurn, archive: &mut Archive) -> Result<Document, ImportError> {
    let mut cost = JsonCost::default();
    if !archive.read(HISTORY, limits::MAX_HISTORY_BYTES, Target::Cost(&mut cost)).await? {
        return Err(unreadable(format!("The zip has no {HISTORY}: it is no export.")));
    }
    let memory = turn.reserve(&cost).await?;
    let mut history = Vec::new();
    archive.read(HISTORY, limits::MAX_HISTORY_BYTES, Target::Memory(&mut history)).await?;
    let parsed = tokio::task::spawn_blocking(move || serde_json::from_slice(&history)).await;
    let parsed = parsed.map_err(|_| unreadable(format!("{HISTORY} in the zip cannot be read.")))?;
    let value = parsed.map_err(|why| unreadable(format!("{HISTORY} in the zip cannot be read: {why}.")))?;
    Ok(Document { value, _memory: memory })
}

/// Reads JSON: once to see what memory it takes, then to parse it.
pub async fn read_json(turn: &ImportTurn, json: ReceivedBytes) -> Result<Document, ImportError> {
    let (json, cost) = read_blocking(move || measure(json)).await?;
    let memory = turn.reserve(&cost).await?;
    let value = read_blocking(move || {
        let mut bytes = Vec::new();
        // The file may have grown since.
        json.take(limits::MAX_HISTORY_BYTES).read_to_end(&mut bytes).map_err(|_| not_an_export())?;
        serde_json::from_slice(&bytes).map_err(|_| not_an_export())
    });
    Ok(Document { value: value.await?, _memory: memory })
}

fn not_an_export() -> ImportError {
    unreadable("That is neither an exported zip nor exported JSON.")
}

fn measure(mut json: ReceivedBytes) -> Result<(ReceivedBytes, JsonCost), ImportError> {
    let mut cost = JsonCost::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut left = limits::MAX_HISTORY_BYTES;
    loop {
        let count = json.read(&mut chunk).map_err(|_| not_an_export())?;
        if count == 0 {
            json.rewind().map_err(|_| not_an_export())?;
            return Ok((json, cost));
        }
        left = left.checked_sub(count as u64).ok_or(ImportError::TooLarge)?;
        cost.add(&chunk[..count]);
    }
}

/// Runs blocking work on a thread for it.
async fn read_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ImportError> + Send + 'static,
) -> Result<T, ImportError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(unreadable("The file cannot be read.")))
}

/// Checks everything that is said about the files before one of them is read.
fn check_files(files: &[ArchivedFile]) -> Result<(), ImportError> {
    let invalid =
        |field: String, detail: String| ImportError::Invalid(vec![EntryError { index: None, field, detail }]);
    if files.len() > limits::MAX_FILES {
        let detail = format!("must be at most {} files", limits::MAX_FILES);
        return Err(invalid("attachments".to_owned(), detail));
    }
    for (position, file) in files.iter().enumerate() {
        let check = |field: &str, result: Result<(), String>| {
            result.map_err(|detail| invalid(format!("attachments[{position}].{field}"), detail))
        };
        check("filename", limits::check_text(&file.filename, limits::MAX_FILENAME_CHARS))?;
        let description = file.description.as_deref().unwrap_or_default();
        check("description", limits::check_text(description, limits::MAX_DESCRIPTION_CHARS))?;
        check("createdAt", limits::check_time(file.created_at).map_err(str::to_owned))?;
        if file.parents.len() > limits::MAX_FILES_PER_ENTRY {
            let detail = format!("must be at most {} files", limits::MAX_FILES_PER_ENTRY);
            check("parents", Err(detail))?;
        }
        if let Some(recipe) = &file.recipe {
            check("recipe.tool", limits::check_tool_name(&recipe.tool))?;
            let arguments = recipe.arguments.to_string();
            check("recipe.arguments", limits::check_text(&arguments, limits::MAX_CONTENT_CHARS))?;
        }
    }
    Ok(())
}

/// Stores the files, each path of the zip once, and returns their rows and new ids.
async fn store_files(
    attachments: &Attachments,
    scope: &Scope,
    archive: &mut Archive,
    files: Vec<ArchivedFile>,
) -> Result<(Vec<StagedFile>, Vec<Attachment>, HashMap<AttachmentId, AttachmentId>), ImportError> {
    let mut staged: Vec<StagedFile> = Vec::new();
    // None for a path that is not in the zip: an error of the entry that names the file.
    let mut by_path: HashMap<String, Option<usize>> = HashMap::new();
    let mut stored: Vec<(ArchivedFile, Attachment)> = Vec::new();
    let mut room = attachments.read_room(scope).await?;
    for archived in files {
        let Some(path) = &archived.file else { continue };
        if !by_path.contains_key(path) {
            let found = stage_entry(attachments, archive, path, &archived.filename).await?;
            by_path.insert(path.clone(), found.is_some().then_some(staged.len()));
            staged.extend(found);
        }
        let Some(Some(index)) = by_path.get(path).copied() else { continue };
        let row = staged[index].copy(scope, &archived.filename);
        room.take(row.size.unsigned_abs()).map_err(AttachmentError::from)?;
        stored.push((archived, row));
    }
    let new_ids: HashMap<_, _> =
        stored.iter().map(|(archived, row)| (archived.attachment_id, row.attachment_id)).collect();
    let rows = stored.into_iter().map(|(archived, row)| complete_row(archived, row, &new_ids));
    Ok((staged, rows.collect(), new_ids))
}

/// The row with what the export says about the file.
fn complete_row(
    archived: ArchivedFile,
    row: Attachment,
    new_ids: &HashMap<AttachmentId, AttachmentId>,
) -> Attachment {
    let content = match row.content {
        Content::Stored { object_key, sha256, .. } => {
            let recipe = archived.recipe.map(|recipe| replace_in_recipe(recipe, new_ids));
            Content::Stored { object_key, sha256, recipe }
        }
        recipe => recipe,
    };
    Attachment {
        content,
        source: archived.source,
        description: archived.description,
        created_at: archived.created_at,
        parents: archived.parents.iter().filter_map(|id| new_ids.get(id).copied()).collect(),
        ..row
    }
}

/// Stores one file of the zip; none if it is not there.
async fn stage_entry(
    attachments: &Attachments,
    archive: &mut Archive,
    path: &str,
    filename: &str,
) -> Result<Option<StagedFile>, ImportError> {
    let max_bytes = attachments.limits().max_file_bytes;
    let mut upload = attachments.start_unpacking(max_bytes);
    if !archive.read(path, max_bytes, Target::File(&mut upload)).await? {
        return Ok(None);
    }
    Ok(Some(attachments.stage(upload, Some(filename)).await?))
}

/// Where the bytes of an entry go.
enum Target<'a> {
    /// Only measured.
    Cost(&'a mut JsonCost),
    Memory(&'a mut Vec<u8>),
    File(&'a mut Upload),
}

impl Target<'_> {
    async fn write(&mut self, chunk: Bytes) -> Result<(), AttachmentError> {
        match self {
            Self::Cost(cost) => cost.add(&chunk),
            Self::Memory(bytes) => bytes.extend_from_slice(&chunk),
            Self::File(upload) => upload.write(chunk).await?,
        }
        Ok(())
    }
}

/// A zip that is read on a thread for blocking work.
struct Archive(Option<ZipArchive<ReceivedBytes>>);

impl Archive {
    async fn open(export: ReceivedBytes) -> Result<Self, ImportError> {
        match tokio::task::spawn_blocking(|| ZipArchive::new(export)).await {
            Ok(Ok(archive)) => Ok(Self(Some(archive))),
            _ => Err(unreadable("The zip cannot be read.")),
        }
    }

    /// Passes on the bytes of one entry, chunk by chunk. False if there is no such entry.
    async fn read(
        &mut self,
        path: &str,
        max_bytes: u64,
        mut target: Target<'_>,
    ) -> Result<bool, ImportError> {
        let damaged = || unreadable(format!("{path} in the zip is damaged."));
        let Some(mut archive) = self.0.take() else { return Err(damaged()) };
        let (sender, mut chunks) = mpsc::channel(1);
        let name = path.to_owned();
        let reading = tokio::task::spawn_blocking(move || {
            let read = read_entry(&mut archive, &name, max_bytes, &sender);
            (archive, read)
        });
        let mut received = Ok(0);
        while let (Ok(size), Some(chunk)) = (&mut received, chunks.recv().await) {
            *size += chunk.len() as u64;
            // The size in the zip header may be a lie, so the read itself is bounded.
            if *size > max_bytes {
                received = Err(too_large(path));
            } else if let Err(error) = target.write(chunk).await {
                received = Err(error.into());
            }
        }
        drop(chunks);
        let (archive, read) = reading.await.map_err(|_| damaged())?;
        self.0 = Some(archive);
        received?;
        read.map_err(|_| damaged())
    }
}

fn too_large(path: &str) -> ImportError {
    if path == HISTORY {
        return ImportError::TooLarge;
    }
    unreadable(format!("{path} in the zip is larger than is kept here."))
}

fn read_entry(
    archive: &mut ZipArchive<ReceivedBytes>,
    path: &str,
    max_bytes: u64,
    sender: &mpsc::Sender<Bytes>,
) -> io::Result<bool> {
    let Ok(file) = archive.by_name(path) else { return Ok(false) };
    let mut file = file.take(max_bytes.saturating_add(1));
    loop {
        let mut chunk = Vec::new();
        file.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut chunk)?;
        if chunk.is_empty() || sender.blocking_send(chunk.into()).is_err() {
            return Ok(true);
        }
    }
}
