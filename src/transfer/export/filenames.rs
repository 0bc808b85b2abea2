//! Names of exported files: readable, safe on any system, without path traversal.

const MAX_STEM_CHARS: usize = 80;

/// The path of a file in an archive. The number makes it unique.
pub fn archive_path(number: usize, filename: &str) -> String {
    let name = sanitize(filename, |c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'));
    // Cut a long name before its extension.
    let name = match name.rsplit_once('.') {
        Some((stem, extension)) if extension.chars().count() <= 8 => {
            format!("{}.{extension}", truncate(stem))
        }
        _ => truncate(&name),
    };
    let name = name.trim_matches('.');
    format!("files/{number}-{}", if name.is_empty() { "file" } else { name })
}

/// A title as the start of a filename, with a hyphen after it. Empty if no usable character is left.
pub fn title_prefix(title: &str) -> String {
    let words = sanitize(&title.to_lowercase(), |c| c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.split('_').filter(|word| !word.is_empty()).collect();
    let joined: String = words.join("-").chars().take(40).collect();
    let joined = joined.trim_matches('-');
    if joined.is_empty() { String::new() } else { format!("{joined}-") }
}

fn sanitize(name: &str, is_allowed: impl Fn(char) -> bool) -> String {
    name.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect()
}

fn truncate(name: &str) -> String {
    name.chars().take(MAX_STEM_CHARS).collect()
}
