//! `photothread import`: creates conversations from exported files.

use crate::{
    access::{Standing, Viewer},
    app,
    config::Config,
    domain::{SessionId, UserId},
    rendering::Renderer,
    transfer::import::{ImportError, Importer},
};
use std::path::{Path, PathBuf};

/// Why a file was not imported, in words for the person at the terminal.
#[derive(Debug, thiserror::Error)]
pub enum ImportCommandError {
    #[error("{0}")]
    Storage(String),
    #[error("{path} cannot be read: {why}")]
    File { path: PathBuf, why: std::io::Error },
    #[error("{path} was not imported: {why}")]
    Import { path: PathBuf, why: ImportError },
}

/// Imports the files in order and prints the id of each new conversation. Stops at the first file that fails; what
/// was imported before stays.
pub async fn import(
    config: &Config,
    user: Option<UserId>,
    files: &[PathBuf],
) -> Result<(), ImportCommandError> {
    let renderer = app::open_renderer(config)
        .await
        .map_err(|error| ImportCommandError::Storage(format!("{error:#}")))?;
    let viewer = match user {
        Some(user) => Viewer { user, standing: Standing::Member },
        None => Viewer::local(),
    };
    let imported = import_all(config, &renderer, &viewer, files).await;
    renderer.store.close().await;
    imported
}

async fn import_all(
    config: &Config,
    renderer: &Renderer,
    viewer: &Viewer,
    files: &[PathBuf],
) -> Result<(), ImportCommandError> {
    let importer = Importer { renderer, viewer, exclusive_tags: &config.web.exclusive_tags };
    for path in files {
        let session = import_file(&importer, path).await?;
        println!("Imported {} as conversation {session}.", path.display());
    }
    Ok(())
}

async fn import_file(importer: &Importer<'_>, path: &Path) -> Result<SessionId, ImportCommandError> {
    let file = tokio::fs::File::open(path).await;
    let file = file.map_err(|why| ImportCommandError::File { path: path.to_owned(), why })?;
    let session = importer.import_session(file.into_std().await.into()).await;
    let session = session.map_err(|why| ImportCommandError::Import { path: path.to_owned(), why })?;
    Ok(session.session_id)
}
