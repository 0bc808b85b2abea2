//! `photothread export`: conversations as files, for the person at the terminal. What is in them is the web's to know.

pub use crate::web::export::Format;

use crate::{
    app,
    config::Config,
    domain::{Session, SessionId},
    store::{SessionFilter, Store, StoreError},
    tools::Prints,
    web::export::{Export, ExportError},
};
use futures::TryStreamExt as _;
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// How many sessions are asked for at once.
const PAGE: i64 = 100;

/// Why nothing was exported, in words for the person who asked.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
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

/// Writes one session, or all of them, and says where. Nothing that is there is overwritten.
pub async fn write(
    config: &Config,
    session: Option<SessionId>,
    format: Format,
    out: Option<&Path>,
) -> Result<String, Refused> {
    let prints = app::open_prints(config).await.map_err(|error| Refused::Storage(format!("{error:#}")))?;
    let written = match session {
        Some(id) => one(&prints, id, format, out).await,
        None => all(&prints, format, out).await,
    };
    prints.store.close().await;
    written
}

async fn one(prints: &Prints, id: SessionId, format: Format, out: Option<&Path>) -> Result<String, Refused> {
    let session = prints.store.session(id).await?.ok_or(Refused::Unknown(id))?;
    let export = Export::of(&prints.store, session).await?;
    let path = match out {
        Some(out) if out == Path::new("-") => {
            put(prints, export, format, &mut tokio::io::stdout(), out).await?;
            return Ok("Exported.".into());
        }
        Some(out) if is_folder(out) => out.join(export.filename(format)),
        Some(out) => out.to_owned(),
        None => export.filename(format).into(),
    };
    save(prints, export, format, &path).await?;
    Ok(format!("Exported to {}.", path.display()))
}

async fn all(prints: &Prints, format: Format, out: Option<&Path>) -> Result<String, Refused> {
    let folder = out.unwrap_or(Path::new("."));
    if folder == Path::new("-") {
        return Err(Refused::Terminal);
    }
    if folder.exists() && !folder.is_dir() {
        return Err(Refused::NoFolder(folder.to_owned()));
    }
    let sessions = every_session(&prints.store).await?;
    let count = sessions.len();
    for session in sessions {
        let export = Export::of(&prints.store, session).await?;
        let path = folder.join(export.filename(format));
        save(prints, export, format, &path).await?;
    }
    Ok(match count {
        0 => "There is nothing to export yet.".into(),
        1 => format!("Exported 1 conversation to {}.", folder.display()),
        count => format!("Exported {count} conversations to {}.", folder.display()),
    })
}

/// A conversation that moves up while they are listed is still listed once.
async fn every_session(store: &Store) -> Result<Vec<Session>, StoreError> {
    let mut seen = HashSet::new();
    let mut sessions = Vec::new();
    for page in 0.. {
        let list = store.sessions(&SessionFilter::default(), PAGE, page * PAGE).await?;
        let last = list.sessions.len() < PAGE as usize;
        sessions.extend(list.sessions.into_iter().filter(|session| seen.insert(session.session_id)));
        if last {
            break;
        }
    }
    Ok(sessions)
}

/// A folder that is there, or is written like one.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().to_string_lossy().ends_with(['/', std::path::MAIN_SEPARATOR])
}

/// Whole or not at all: what breaks off leaves nothing under the name.
async fn save(prints: &Prints, export: Export, format: Format, path: &Path) -> Result<(), Refused> {
    let trouble = |why: std::io::Error| Refused::File { path: path.to_owned(), why };
    if path.exists() {
        return Err(Refused::Taken(path.to_owned()));
    }
    if let Some(folder) = path.parent() {
        tokio::fs::create_dir_all(folder).await.map_err(trouble)?;
    }
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let mut file = tokio::fs::File::create(&part).await.map_err(trouble)?;
    let written = put(prints, export, format, &mut file, path).await;
    let renamed = match written {
        Ok(()) => tokio::fs::rename(&part, path).await.map_err(trouble),
        Err(error) => Err(error),
    };
    if renamed.is_err() {
        let _ = tokio::fs::remove_file(&part).await;
    }
    renamed
}

async fn put(
    prints: &Prints,
    export: Export,
    format: Format,
    to: &mut (impl AsyncWrite + Unpin),
    path: &Path,
) -> Result<(), Refused> {
    let trouble = |why: std::io::Error| Refused::File { path: path.to_owned(), why };
    match format {
        Format::Json => {
            let json = export.json().map_err(ExportError::from)?;
            to.write_all(&json).await.map_err(trouble)?;
        }
        Format::Markdown => to.write_all(export.markdown().as_bytes()).await.map_err(trouble)?,
        Format::Zip => {
            let mut pieces = std::pin::pin!(export.archive(prints.clone())?);
            while let Some(piece) = pieces.try_next().await? {
                to.write_all(&piece).await.map_err(trouble)?;
            }
        }
    }
    to.flush().await.map_err(trouble)
}
