//! Styles, scripts and icons of the page, built into the binary. Their path contains a hash of all of them, so browsers
//! may cache them forever and never mix two versions.

use axum::{
    extract::Path,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

struct Asset {
    path: &'static str,
    mime: &'static str,
    bytes: &'static [u8],
}

macro_rules! assets {
    ($($path:literal: $mime:expr,)*) => {
        &[$(Asset { path: $path, mime: $mime, bytes: include_bytes!(concat!("ui/", $path)) },)*]
    };
}

const ASSETS: &[Asset] = assets! {
    "style.css": CSS,
    "chat.css": CSS,
    "lightbox.css": CSS,
    "icon.svg": SVG,
    "app/main.js": JS,
    "app/api.js": JS,
    "app/composer.js": JS,
    "app/draft.js": JS,
    "app/labels.js": JS,
    "app/lightbox.js": JS,
    "app/live.js": JS,
    "app/log.js": JS,
    "app/mark.js": JS,
    "app/reply.js": JS,
    "app/sidebar.js": JS,
    "app/times.js": JS,
    "app/tokens.js": JS,
    "app/uploads.js": JS,
    "app/words.js": JS,
    "app/zoom.js": JS,
};

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for asset in ASSETS {
        hash.update(asset.path);
        hash.update(asset.bytes);
    }
    hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
});

/// The path of the assets: `/static/<hash>`.
pub fn folder() -> String {
    format!("/static/{}", *VERSION)
}

/// All scripts, for preloading.
pub fn scripts() -> Vec<&'static str> {
    ASSETS.iter().filter(|asset| asset.mime == JS).map(|asset| asset.path).collect()
}

pub async fn serve(Path((version, path)): Path<(String, String)>) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.path == path) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    // A page of an older version gets the current files, but must not cache them under the old hash.
    let cache = if version == *VERSION { "public, max-age=31536000, immutable" } else { "no-store" };
    let headers = [
        (header::CONTENT_TYPE, asset.mime),
        (header::CACHE_CONTROL, cache),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, asset.bytes).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path as File;

    #[test]
    fn every_script_and_style_is_built_in() {
        let folder = File::new(env!("CARGO_MANIFEST_DIR")).join("src/web/ui");
        let names = |within: &str| -> Vec<String> {
            let files = std::fs::read_dir(folder.join(within)).unwrap();
            files.map(|file| format!("{within}{}", file.unwrap().file_name().to_string_lossy())).collect()
        };
        for name in [names(""), names("app/")].concat() {
            let served = [".css", ".js", ".svg"].iter().any(|ending| name.ends_with(ending));
            assert!(!served || ASSETS.iter().any(|asset| asset.path == name), "{name} is in no list");
        }
    }
}
