//! Files at Telegram: upload limits, file ids, the sizes of a photo, and download limits.

use super::{
    api::{Outcome, Refusal},
    state::State,
    uploads::{Params, Upload},
};
use bytes::Bytes;
use image::{ImageFormat, ImageReader};
use serde_json::{Value, json};
use std::io::Cursor;

const PHOTO_LIMIT: usize = 10 << 20;
const UPLOAD_LIMIT: usize = 50 << 20;
const DOWNLOAD_LIMIT: u64 = 20 << 20;
const LOCAL_UPLOAD_LIMIT: usize = 2000 << 20;

/// The kind of a file. A file id can only be sent again as the same kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Photo,
    Document,
    Video,
    Audio,
    Voice,
    Animation,
    Sticker,
    VideoNote,
}

impl Kind {
    fn folder(self) -> &'static str {
        match self {
            Kind::Photo => "photos",
            Kind::Document => "documents",
            Kind::Video => "videos",
            Kind::Audio => "music",
            Kind::Voice => "voice",
            Kind::Animation => "animations",
            Kind::Sticker => "stickers",
            Kind::VideoNote => "video_notes",
        }
    }
}

#[derive(Clone)]
pub struct StoredFile {
    pub id: String,
    pub kind: Kind,
    pub name: String,
    pub path: String,
    bytes: Bytes,
    /// The stated size. Larger than `bytes` if the test only claims that the file is huge.
    pub size: u64,
    pub dimensions: Option<(u32, u32)>,
    /// A smaller size of a photo, scaled down when it is downloaded.
    shrunk: bool,
}

impl StoredFile {
    pub fn is_downloadable(&self) -> bool {
        self.size <= DOWNLOAD_LIMIT
    }

    /// The file as the bot would download it.
    pub fn content(&self) -> Bytes {
        match self.dimensions.filter(|_| self.shrunk) {
            Some((width, height)) => shrink(&self.bytes, width, height).unwrap_or_else(|| self.bytes.clone()),
            None => self.bytes.clone(),
        }
    }

    /// The uploaded bytes, also for a smaller size.
    pub fn original(&self) -> Bytes {
        self.bytes.clone()
    }

    fn meta(&self) -> Value {
        json!({ "file_id": self.id, "file_unique_id": format!("AQAD{}", self.id), "file_size": self.size })
    }
}

fn shrink(bytes: &[u8], width: u32, height: u32) -> Option<Bytes> {
    let picture = image::load_from_memory(bytes).ok()?.thumbnail_exact(width, height).into_rgb8();
    let mut small = Cursor::new(Vec::new());
    picture.write_to(&mut small, ImageFormat::Jpeg).ok()?;
    Some(small.into_inner().into())
}

pub fn dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok()?.into_dimensions().ok()
}

impl State {
    /// Stores a file and gives it an id; a photo also gets its smaller sizes. Returns the largest.
    pub fn store_file(&mut self, kind: Kind, name: &str, bytes: Bytes, size: u64) -> StoredFile {
        let dimensions = dimensions(&bytes);
        let full = self.add_file(kind, name, bytes, size, dimensions, false);
        if let (Kind::Photo, Some((width, height))) = (kind, dimensions) {
            for side in [90, 320, 800] {
                let longest = width.max(height);
                if side < longest {
                    let scaled = |length: u32| (length * side / longest).max(1);
                    let small = Some((scaled(width), scaled(height)));
                    self.add_file(kind, &full.id, full.bytes.clone(), u64::from(side) * 24, small, true);
                }
            }
        }
        full
    }

    fn add_file(
        &mut self,
        kind: Kind,
        name: &str,
        bytes: Bytes,
        size: u64,
        dimensions: Option<(u32, u32)>,
        shrunk: bool,
    ) -> StoredFile {
        let number = self.fresh_number();
        let extension = match kind {
            Kind::Photo => "jpg",
            _ => name.rsplit_once('.').map_or("bin", |(_, extension)| extension),
        };
        let file = StoredFile {
            id: format!("{kind:?}_file_{number}"),
            kind,
            name: name.into(),
            path: format!("{}/file_{number}.{extension}", kind.folder()),
            bytes,
            size,
            dimensions,
            shrunk,
        };
        self.files.insert(file.id.clone(), file.clone());
        file
    }

    /// The `photo` or `document` (or …) part of a message that carries this file.
    pub fn media_json(&self, file: &StoredFile) -> Value {
        let mut media = file.meta();
        let (width, height) = file.dimensions.unwrap_or((100, 100));
        let mime = infer::get(&file.bytes).map_or("application/octet-stream", |found| found.mime_type());
        match file.kind {
            Kind::Photo => {
                let mut sizes: Vec<&StoredFile> =
                    self.files.values().filter(|f| f.shrunk && f.name == file.id).collect();
                sizes.push(file);
                sizes.sort_by_key(|size| size.dimensions);
                let size = |size: &&StoredFile| {
                    let mut meta = size.meta();
                    let (width, height) = size.dimensions.unwrap_or((width, height));
                    meta["width"] = width.into();
                    meta["height"] = height.into();
                    meta
                };
                return sizes.iter().map(size).collect();
            }
            Kind::Document => {
                media["file_name"] = file.name.clone().into();
                media["mime_type"] = mime_of_name(&file.name).unwrap_or(mime).into();
            }
            Kind::Audio | Kind::Voice => {
                media["duration"] = 3.into();
                media["mime_type"] = if file.kind == Kind::Voice { "audio/ogg" } else { "audio/mpeg" }.into();
            }
            Kind::Video | Kind::Animation => {
                media["duration"] = 3.into();
                media["width"] = width.into();
                media["height"] = height.into();
                media["mime_type"] = "video/mp4".into();
                media["file_name"] = file.name.clone().into();
            }
            Kind::VideoNote => {
                media["duration"] = 3.into();
                media["length"] = 240.into();
            }
            Kind::Sticker => {
                media["width"] = 512.into();
                media["height"] = 512.into();
                media["type"] = "regular".into();
                media["is_animated"] = false.into();
                media["is_video"] = false.into();
                media["emoji"] = "🙂".into();
            }
        }
        media
    }

    /// The file that a send names: an upload, or the id of a stored file.
    pub fn file_to_send(&mut self, params: &Params, key: &str, kind: Kind) -> Result<StoredFile, Refusal> {
        let upload = match params.text(key) {
            None => params.files.get(key),
            Some(named) => match named.strip_prefix("attach://") {
                Some(part) => params.files.get(part),
                None if named.starts_with("http") => {
                    return Err(Refusal::bad("failed to get HTTP URL content"));
                }
                None => return self.known_file(&named, kind),
            },
        };
        let Some(upload) = upload.cloned() else {
            return Err(Refusal::bad(format!(
                "there is no {} in the request",
                key.replace("media", "media file")
            )));
        };
        let limit = if self.local_folder.is_some() { LOCAL_UPLOAD_LIMIT } else { UPLOAD_LIMIT };
        check_upload(&upload, kind, limit)?;
        let size = upload.bytes.len() as u64;
        let name = if upload.name.is_empty() { "file" } else { &upload.name };
        Ok(self.store_file(kind, name, upload.bytes, size))
    }

    fn known_file(&self, id: &str, kind: Kind) -> Result<StoredFile, Refusal> {
        match self.files.get(id) {
            Some(file) if file.kind == kind => Ok(file.clone()),
            Some(file) => Err(Refusal::bad(format!("can't use file of type {:?} as {kind:?}", file.kind))),
            None => Err(Refusal::bad("wrong file identifier/HTTP URL specified")),
        }
    }

    pub fn get_file(&self, params: &Params) -> Outcome {
        let id = params.text("file_id").unwrap_or_default();
        if id.is_empty() {
            return Err(Refusal::bad("file_id not specified"));
        }
        let file = self.files.get(&id).ok_or_else(|| Refusal::bad("invalid file_id"))?;
        let mut found = file.meta();
        match &self.local_folder {
            Some(folder) => {
                let path = folder.join(file.path.replace('/', "-"));
                std::fs::write(&path, file.content()).expect("the folder of the local server");
                found["file_path"] = path.display().to_string().into();
            }
            None if !file.is_downloadable() => return Err(Refusal::bad("file is too big")),
            None => found["file_path"] = file.path.clone().into(),
        }
        // A smaller size is scaled on demand, so its byte count is not known.
        found["file_size"] = if file.shrunk { file.content().len() as u64 } else { file.size }.into();
        Ok(found)
    }
}

fn mime_of_name(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1.to_lowercase().as_str() {
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "heic" => "image/heic",
        "pdf" => "application/pdf",
        "txt" | "log" => "text/plain",
        "csv" => "text/csv",
        "json" => "application/json",
        "md" => "text/markdown",
        "html" => "text/html",
        "mp4" => "video/mp4",
        "zip" => "application/zip",
        _ => return None,
    })
}

fn check_upload(upload: &Upload, kind: Kind, limit: usize) -> Result<(), Refusal> {
    let size = upload.bytes.len();
    if size == 0 {
        return Err(Refusal::bad("file must be non-empty"));
    }
    if size > limit {
        return Err(Refusal::new(413, "Request Entity Too Large"));
    }
    if kind != Kind::Photo {
        return Ok(());
    }
    if size > PHOTO_LIMIT {
        return Err(Refusal::bad(format!(
            "file of size {size} bytes is too big for a photo; the maximum size is {PHOTO_LIMIT} bytes"
        )));
    }
    let (width, height) = dimensions(&upload.bytes).ok_or_else(|| Refusal::bad("IMAGE_PROCESS_FAILED"))?;
    let (longest, shortest) = (width.max(height), width.min(height));
    match width + height > 10_000 || longest > 20 * shortest {
        true => Err(Refusal::bad("PHOTO_INVALID_DIMENSIONS")),
        false => Ok(()),
    }
}
