//! `photothread export`: writes conversations to files or to the terminal.

use crate::{
    app,
    config::Config,
    domain::{Session, SessionId},
    rendering::Renderer,
    store::{SessionFilter, Store, StoreError},
    transfer::export::{Export, ExportError, ExportFormat},
};
use futures::TryStreamExt as _;
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// Sessions are listed in pages of this size.
const PAGE_SIZE: i64 = 100;

/// Why the export failed, in words for the person at the terminal.
#[derive(Debug, thiserror::Error)]
pub enum ExportCommandError {
    #[error("{0}")]
    Storage(String),
    #[error("there is no conversation {0}; `photothread export --all` writes every one")]
    Unknown(SessionId),
    #[error("{0} is there already; choose another --out")]
    Taken(PathBuf),
    #[error("--all writes several files, so --out must be a folder; {0} is not one")]
    NoFolder(PathBuf),
    #[error("--all cannot go to the terminal; give a folder with --out")]
    Terminal,
    #[error("{path} cannot be written: {why}")]
    File { path: PathBuf, why: std::io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Export(#[from] ExportError),
}

/// Exports one session, or all of them, and returns a sentence with the path. Never overwrites a file.
pub async fn export(
    config: &Config,
    session: Option<SessionId>,
    format: ExportFormat,
    out: Option<&Path>,
) -> Result<String, ExportCommandError> {
    let renderer = app::open_renderer(config)
        .await
        .map_err(|error| ExportCommandError::Storage(format!("{error:#}")))?;
    let exported = match session {
        Some(id) => export_one(&renderer, id, format, out).await,
        None => export_all(&renderer, format, out).await,
    };
    renderer.store.close().await;
    exported
}

async fn export_one(
    renderer: &Renderer,
    id: SessionId,
    format: ExportFormat,
    out: Option<&Path>,
) -> Result<String, ExportCommandError> {
    let session = renderer.store.session(id).await?.ok_or(ExportCommandError::Unknown(id))?;
    let export = Export::open(&renderer.store, session).await?;
    let path = match out {
        Some(out) if out == Path::new("-") => {
            write_to(renderer, export, format, &mut tokio::io::stdout(), out).await?;
            return Ok("Exported.".into());
        }
        Some(out) if is_folder(out) => out.join(export.filename(format)),
        Some(out) => out.to_owned(),
        None => export.filename(format).into(),
    };
    save(renderer, export, format, &path).await?;
    Ok(format!("Exported to {}.", path.display()))
}

async fn export_all(
    renderer: &Renderer,
    format: ExportFormat,
    out: Option<&Path>,
) -> Result<String, ExportCommandError> {
    let folder = out.unwrap_or(Path::new("."));
    if folder == Path::new("-") {
        return Err(ExportCommandError::Terminal);
    }
    if folder.exists() && !folder.is_dir() {
        return Err(ExportCommandError::NoFolder(folder.to_owned()));
    }
    let sessions = list_sessions(&renderer.store).await?;
    let count = sessions.len();
    for session in sessions {
        let export = Export::open(&renderer.store, session).await?;
        let path = folder.join(export.filename(format));
        save(renderer, export, format, &path).await?;
    }
    Ok(match count {
        0 => "There is nothing to export yet.".into(),
        1 => format!("Exported 1 conversation to {}.", folder.display()),
        count => format!("Exported {count} conversations to {}.", folder.display()),
    })
}

/// Lists every session once, also if the order changes between two pages.
async fn list_sessions(store: &Store) -> Result<Vec<Session>, StoreError> {
    let mut seen = HashSet::new();
    let mut sessions = Vec::new();
    for page in 0.. {
        let list = store.sessions(&SessionFilter::default(), PAGE_SIZE, page * PAGE_SIZE).await?;
        let last = list.sessions.len() < PAGE_SIZE as usize;
        sessions.extend(list.sessions.into_iter().filter(|session| seen.insert(session.session_id)));
        if last {
            break;
        }
    }
    Ok(sessions)
}

/// An existing folder, or a path that ends with a slash.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().to_string_lossy().ends_with(['/', std::path::MAIN_SEPARATOR])
}

/// Writes to a temporary file and renames it, so that a failed export leaves no partial file.
async fn save(
    renderer: &Renderer,
    export: Export,
    format: ExportFormat,
    path: &Path,
) -> Result<(), ExportCommandError> {
    let file_error = |why: std::io::Error| ExportCommandError::File { path: path.to_owned(), why };
    if path.exists() {
        return Err(ExportCommandError::Taken(path.to_owned()));
    }
    if let Some(folder) = path.parent() {
        tokio::fs::create_dir_all(folder).await.map_err(file_error)?;
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".part");
    let temporary = PathBuf::from(temporary);
    let mut file = tokio::fs::File::create(&temporary).await.map_err(file_error)?;
    let written = write_to(renderer, export, format, &mut file, path).await;
    let renamed = match written {
        Ok(()) => tokio::fs::rename(&temporary, path).await.map_err(file_error),
        Err(error) => Err(error),
    };
    if renamed.is_err() {
        let _ = tokio::fs::remove_file(&temporary).await;
    }
    renamed
}

async fn write_to(
    renderer: &Renderer,
    export: Export,
    format: ExportFormat,
    output: &mut (impl AsyncWrite + Unpin),
    path: &Path,
) -> Result<(), ExportCommandError> {
    let file_error = |why: std::io::Error| ExportCommandError::File { path: path.to_owned(), why };
    let mut chunks = std::pin::pin!(export.stream(format, renderer.clone()).await?);
    while let Some(chunk) = chunks.try_next().await? {
        output.write_all(&chunk).await.map_err(file_error)?;
    }
    output.flush().await.map_err(file_error)
}
