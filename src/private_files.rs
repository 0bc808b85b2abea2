//! Keeps the files of the program private: what it creates can be read by its own user alone (folders 0700, files 0600),
//! and so can, after the next start, what older versions left readable for everyone. Only files and folders that this
//! program made are changed: a folder that the operator chose, such as a mount or a home, keeps its mode.

use crate::config::{AttachmentsUrl, Config, DatabaseUrl};
use std::path::{Path, PathBuf};

/// Folders of the default settings, which only this program uses.
const OWN_FOLDERS: [&str; 2] = ["data", "data/attachments"];
/// Folders that the program makes below `attachments.url`.
const BLOB_FOLDERS: [&str; 2] = ["sha256", "views"];
/// Suffixes of the files of a SQLite database.
const DATABASE_SUFFIXES: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Everything that the process creates from now on is private. Call it before threads start.
pub fn set_umask() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

/// The folders and database files that others must not be able to open. A private folder protects what is in it.
fn entrances(config: &Config) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let DatabaseUrl::Sqlite(path) = &config.database.url {
        found.extend(DATABASE_SUFFIXES.map(|suffix| {
            let mut name = path.clone().into_os_string();
            name.push(suffix);
            PathBuf::from(name)
        }));
        found.extend(path.parent().filter(|folder| is_own(folder)).map(Path::to_owned));
    }
    if let AttachmentsUrl::Directory(folder) = &config.attachments.url {
        found.extend(BLOB_FOLDERS.map(|name| folder.join(name)));
        found.extend(Some(folder).filter(|folder| is_own(folder)).cloned());
    }
    found
}

fn is_own(folder: &Path) -> bool {
    OWN_FOLDERS.iter().any(|own| Path::new(own) == folder)
}

/// The files and folders of the program that other users of the machine can open.
#[cfg(unix)]
pub fn find_readable(config: &Config) -> Vec<PathBuf> {
    entrances(config).into_iter().filter(|path| unix::is_readable(path)).collect()
}

#[cfg(not(unix))]
pub fn find_readable(_: &Config) -> Vec<PathBuf> {
    Vec::new()
}

/// Makes them private, and everything in the folders of blobs. Returns how many files and folders were changed.
#[cfg(unix)]
pub fn make_private(config: &Config) -> std::io::Result<usize> {
    let is_blob_folder =
        |path: &Path| path.file_name().is_some_and(|name| BLOB_FOLDERS.iter().any(|own| name == *own));
    let make_private = |path: PathBuf| match is_blob_folder(&path) {
        true => unix::make_tree_private(&path),
        false => unix::make_private(&path),
    };
    find_readable(config).into_iter().map(make_private).sum()
}

#[cfg(not(unix))]
pub fn make_private(_: &Config) -> std::io::Result<usize> {
    Ok(0)
}

#[cfg(unix)]
mod unix {
    use std::{
        fs::{self, Permissions},
        io,
        os::unix::fs::PermissionsExt as _,
        path::Path,
    };

    const OTHERS: u32 = 0o077;

    pub fn is_readable(path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink() && is_open(&found))
    }

    fn is_open(found: &fs::Metadata) -> bool {
        found.permissions().mode() & OTHERS != 0
    }

    /// A folder is last: while it is readable, the next start tries again. Links are not followed.
    pub fn make_tree_private(folder: &Path) -> io::Result<usize> {
        let mut changed = 0;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            changed += match entry.file_type()?.is_dir() {
                true => make_tree_private(&entry.path())?,
                false => make_private(&entry.path())?,
            };
        }
        Ok(changed + make_private(folder)?)
    }

    /// Takes the rights of others away. A file that was deleted meanwhile is no error.
    pub fn make_private(path: &Path) -> io::Result<usize> {
        let change = || -> io::Result<usize> {
            let found = fs::symlink_metadata(path)?;
            if found.is_symlink() || !is_open(&found) {
                return Ok(0);
            }
            fs::set_permissions(path, Permissions::from_mode(found.permissions().mode() & !OTHERS))?;
            Ok(1)
        };
        match change() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            done => done,
        }
    }
}
