//! Names of exported files: readable, safe on any system, and never a way out of the folder they are put into.

const LONGEST: usize = 80;

/// Where a file goes in an archive. The number makes it one of a kind.
pub fn file(number: usize, filename: &str) -> String {
    let name = clean(filename, |c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'));
    // The end says what it is; a long name is cut before it.
    let name = match name.rsplit_once('.') {
        Some((stem, end)) if end.chars().count() <= 8 => format!("{}.{end}", short(stem)),
        _ => short(&name),
    };
    let name = name.trim_matches('.');
    format!("files/{number}-{}", if name.is_empty() { "file" } else { name })
}

/// A title as part of a name, with a hyphen after it; nothing if nothing is left of it.
pub fn title(title: &str) -> String {
    let words = clean(&title.to_lowercase(), |c| c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.split('_').filter(|word| !word.is_empty()).collect();
    let joined: String = words.join("-").chars().take(40).collect();
    let joined = joined.trim_matches('-');
    if joined.is_empty() { String::new() } else { format!("{joined}-") }
}

fn clean(name: &str, fine: impl Fn(char) -> bool) -> String {
    name.chars().map(|c| if fine(c) { c } else { '_' }).collect()
}

fn short(name: &str) -> String {
    name.chars().take(LONGEST).collect()
}
