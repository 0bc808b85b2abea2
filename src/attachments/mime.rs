//! Detects the MIME type of a file from its bytes. The name only refines plain text, so HTML called `cat.png` is never
//! treated as a picture.

use imaging::Format;

const UNKNOWN: &str = "application/octet-stream";

/// Types that are text and have a reliable signature. Other text that starts with a signature is plain text: "MZ", "BM"
/// and "ID3" are words in some language.
const TEXT_WITH_SIGNATURE: [&str; 6] = [
    "text/html",
    "text/xml",
    "text/x-shellscript",
    "application/pdf",
    "application/rtf",
    "application/postscript",
];

/// Never empty. SVG counts as `text/xml`, not as a picture: nothing here can edit it, and pages must not run it.
pub fn sniff_mime(bytes: &[u8], filename: Option<&str>) -> &'static str {
    let mut text = TextCheck::default();
    text.update(bytes);
    sniff_mime_of(bytes, text.is_text(), filename)
}

/// The type of a file by its first bytes. Whether it is text depends on all of it.
pub fn sniff_mime_of(head: &[u8], is_text: bool, filename: Option<&str>) -> &'static str {
    if head.is_empty() {
        return UNKNOWN;
    }
    if let Some(format) = Format::sniff(head) {
        return format.mime();
    }
    let inferred = infer::get(head).map(|kind| kind.mime_type());
    if is_text {
        return match inferred {
            Some(mime) if TEXT_WITH_SIGNATURE.contains(&mime) => mime,
            _ => refine_text(filename),
        };
    }
    match inferred {
        // The full signature did not match: calling it a picture would promise edits that fail.
        Some("image/jpeg" | "image/png" | "image/gif" | "image/webp" | "image/bmp" | "image/tiff") => UNKNOWN,
        Some(mime) => mime,
        None => UNKNOWN,
    }
}

/// Whether a file is text: UTF-8 without the control characters that only binary files hold. Reads it piece by piece.
#[derive(Debug, Default)]
pub struct TextCheck {
    /// The beginning of a character whose end is in the next piece.
    incomplete: Vec<u8>,
    is_binary: bool,
}

impl TextCheck {
    pub fn update(&mut self, bytes: &[u8]) {
        let control = |b: &u8| matches!(b, 0x00..=0x08 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F | 0x7F);
        if self.is_binary || bytes.iter().any(control) {
            self.is_binary = true;
            return;
        }
        let joined: Vec<u8>;
        let piece = if self.incomplete.is_empty() {
            bytes
        } else {
            joined = [&self.incomplete, bytes].concat();
            &joined
        };
        self.incomplete = match std::str::from_utf8(piece) {
            Ok(_) => Vec::new(),
            Err(error) if error.error_len().is_none() => piece[error.valid_up_to()..].to_vec(),
            Err(_) => {
                self.is_binary = true;
                Vec::new()
            }
        };
    }

    pub fn is_text(&self) -> bool {
        !self.is_binary && self.incomplete.is_empty()
    }
}

fn refine_text(filename: Option<&str>) -> &'static str {
    let extension = filename.and_then(|name| name.rsplit_once('.')).map(|(_, end)| end.to_ascii_lowercase());
    match extension.as_deref() {
        Some("csv") => "text/csv",
        Some("tsv") => "text/tab-separated-values",
        Some("json") => "application/json",
        Some("md" | "markdown") => "text/markdown",
        Some("yaml" | "yml") => "application/yaml",
        Some("toml") => "application/toml",
        Some("css") => "text/css",
        Some("js" | "mjs") => "text/javascript",
        Some("ics") => "text/calendar",
        Some("vcf") => "text/vcard",
        Some("srt") => "application/x-subrip",
        _ => "text/plain",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_never_makes_a_file_a_picture() {
        assert_eq!(sniff_mime(b"<html><body>hi</body></html>", Some("cat.png")), "text/html");
        assert_eq!(
            sniff_mime(include_bytes!("../../tests/images/bad_html.png"), Some("bad_html.png")),
            "text/html"
        );
        assert_eq!(sniff_mime(b"hello", Some("cat.jpg")), "text/plain");
        assert_eq!(sniff_mime(b"", Some("cat.jpg")), "application/octet-stream");
        assert_eq!(sniff_mime(&[0, 1, 2, 3], Some("cat.jpg")), "application/octet-stream");
    }

    #[test]
    fn pictures_are_detected_by_their_bytes_not_their_name() {
        let photo = include_bytes!("../../tests/images/jpeg_gray.jpg");
        assert_eq!(sniff_mime(photo, Some("notes.txt")), "image/jpeg");
        assert_eq!(sniff_mime(include_bytes!("../../tests/images/photo.avif"), None), "image/avif");
        assert_eq!(sniff_mime(include_bytes!("../../tests/images/photo_arrow.heic"), None), "image/heic");
        assert_eq!(sniff_mime(include_bytes!("../../tests/images/photo.tif"), None), "image/tiff");
    }

    #[test]
    fn the_extension_refines_only_text() {
        assert_eq!(sniff_mime(b"a,b\n1,2\n", Some("Table.CSV")), "text/csv");
        assert_eq!(sniff_mime("# Grüße".as_bytes(), Some("notes.md")), "text/markdown");
        assert_eq!(sniff_mime(b"{}", Some("x.json")), "application/json");
        assert_eq!(sniff_mime(b"plain", Some("x.html")), "text/plain");
        assert_eq!(sniff_mime(b"\0\x01binary", Some("x.csv")), "application/octet-stream");
        assert_eq!(sniff_mime("\u{feff}bom".as_bytes(), None), "text/plain");
    }

    #[test]
    fn text_is_recognised_in_pieces() {
        let is_text = |pieces: &[&[u8]]| {
            let mut check = TextCheck::default();
            pieces.iter().for_each(|piece| check.update(piece));
            check.is_text()
        };
        let euro = "€".as_bytes();
        assert!(is_text(&[b"a", &euro[..1], &euro[1..2], &euro[2..], b"b"]));
        assert!(!is_text(&[b"a", &euro[..2]]), "the end is missing");
        assert!(!is_text(&[&euro[..2], b"b"]) && !is_text(&[b"a", b"\0", b"b"]) && !is_text(&[b"\xff"]));
    }

    #[test]
    fn text_that_starts_with_a_signature_stays_text() {
        for text in ["BMW is a car", "MZ was here", "GIF or JIF?", "ID3 tags explained", "BZh! said the bee"]
        {
            assert_eq!(sniff_mime(text.as_bytes(), None), "text/plain", "{text}");
        }
    }

    #[test]
    fn other_files_are_detected_by_their_signature() {
        assert_eq!(sniff_mime(b"%PDF-1.7\n", Some("x.txt")), "application/pdf");
        assert_eq!(sniff_mime(b"PK\x03\x04\x14\0\0\0", None), "application/zip");
        assert_eq!(sniff_mime(b"\0\0\0\x18ftypisom\0\0\0\0isommp42", None), "video/mp4");
        assert_eq!(sniff_mime(b"<?xml version=\"1.0\"?><svg/>", Some("x.svg")), "text/xml");
    }
}
