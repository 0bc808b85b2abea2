//! Database and file store URLs, parsed once into typed values.

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use std::{path::PathBuf, str::FromStr};
use url::Url;

/// The database that holds the history.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub enum DatabaseUrl {
    /// Relative paths are relative to the working directory.
    Sqlite(PathBuf),
    /// The whole URL: it may hold a password.
    Postgres(SecretString),
}

impl DatabaseUrl {
    /// The URL that the store opens. It may hold a password: never log or print it.
    pub fn to_url(&self) -> String {
        match self {
            Self::Sqlite(path) => {
                let path = path.to_string_lossy().replace('%', "%25").replace('?', "%3F").replace('#', "%23");
                format!("sqlite://{path}")
            }
            Self::Postgres(url) => url.expose_secret().to_owned(),
        }
    }

    /// Without credentials, for the terminal.
    pub fn display_name(&self) -> String {
        match self {
            Self::Sqlite(path) => path.display().to_string(),
            Self::Postgres(_) => "PostgreSQL".into(),
        }
    }
}

impl FromStr for DatabaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(rest) = strip_scheme(text, "sqlite:") {
            let path = rest.strip_prefix("//").unwrap_or(rest);
            let path = path.split_once('?').map_or(path, |(path, _)| path);
            if path.is_empty() || path == ":memory:" {
                return Err("must name a file, such as sqlite://data/photothread.db: \
                            in memory, a restart would lose everything"
                    .into());
            }
            return Ok(Self::Sqlite(decode_percent(path)?.into()));
        }
        // The text may hold a password, so error messages never repeat it.
        match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "postgres" | "postgresql") => Ok(Self::Postgres(text.into())),
            _ => Err("must start with sqlite://, postgres:// or postgresql://".into()),
        }
    }
}

impl TryFrom<String> for DatabaseUrl {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// The store that holds the files.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum AttachmentsUrl {
    /// Relative paths are relative to the working directory.
    Directory(PathBuf),
    /// Lost at exit; for tests and experiments.
    Memory,
    /// `s3://`, `gs://` or `az://`, with the bucket as its host.
    Bucket(Url),
}

impl AttachmentsUrl {
    /// The URL that the object store opens.
    pub fn to_url(&self) -> String {
        match self {
            Self::Directory(path) => format!("file://{}", path.display()),
            Self::Memory => "memory://".into(),
            Self::Bucket(url) => url.to_string(),
        }
    }
}

impl FromStr for AttachmentsUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(rest) = strip_scheme(text, "file:") {
            return match rest.strip_prefix("//").unwrap_or(rest) {
                "" => Err("must name a directory, such as file://data/attachments".into()),
                path => Ok(Self::Directory(decode_percent(path)?.into())),
            };
        }
        match Url::parse(text) {
            Ok(url) if url.scheme() == "memory" => Ok(Self::Memory),
            Ok(url) if matches!(url.scheme(), "s3" | "gs" | "az") => match url.host_str() {
                Some(host) if !host.is_empty() => Ok(Self::Bucket(url)),
                _ => Err(format!("must name a bucket, such as {}://my-bucket/photothread", url.scheme())),
            },
            _ => Err("must start with file://, s3://, gs://, az:// or memory://".into()),
        }
    }
}

impl TryFrom<String> for AttachmentsUrl {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

fn strip_scheme<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// `Url` cannot do this: it takes the first part of `file://data/x` for a host and removes `..`.
fn decode_percent(path: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = (first == b'%')
            .then(|| after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok()))
            .flatten()
            .filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).map_err(|_| "must be a path in UTF-8".into())
}
