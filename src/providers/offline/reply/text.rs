//! Formatting helpers for replies: lists, quotes, Markdown escaping, counts.

const MAX_QUOTE_CHARS: usize = 60;

/// "a, b and c"
pub fn join_and(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Cuts the text to `max_chars` and marks the cut with "…".
pub fn clip(text: &str, max_chars: usize) -> String {
    let mut clipped: String = text.chars().take(max_chars).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

/// Makes text of people and tools safe in a reply: one line, Markdown characters escaped.
pub fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        if "\\`*_[]<>~|".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

pub fn quote(text: &str) -> String {
    format!("“{}”", escape_markdown(&clip(text, MAX_QUOTE_CHARS)))
}

pub fn count_photos(count: usize) -> String {
    if count == 1 { "1 photo".into() } else { format!("{count} photos") }
}

pub fn bullet_list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n- {line}")).collect()
}

pub fn count_files(count: usize) -> String {
    if count == 1 { "1 file".into() } else { format!("{count} files") }
}

/// The lines of a tool result without attachment ids, which people do not need.
pub fn lines_without_ids(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines()
        .map(|line| {
            let mut readable = line.to_owned();
            while let Some((from, to)) = find_id(&readable) {
                readable.replace_range(from..to, "");
            }
            readable.split_whitespace().collect::<Vec<_>>().join(" ")
        })
        .filter(|line| line.chars().any(char::is_alphanumeric) && !is_id_key(line))
}

/// Whether only the key of an id is left: "attachment_id:".
fn is_id_key(line: &str) -> bool {
    let key = line.trim_start_matches(['-', ' ']).to_lowercase();
    key.ends_with(':') && key.contains("id")
}

/// The byte range of the first id, with its brackets if it has any.
fn find_id(line: &str) -> Option<(usize, usize)> {
    let is_id = |part: &str| part.len() == 36 && part.parse::<crate::domain::AttachmentId>().is_ok();
    let start = line.char_indices().map(|(at, _)| at).find(|at| line.get(*at..at + 36).is_some_and(is_id))?;
    let end = start + 36;
    let bracketed = line[end..].starts_with(']').then(|| line[..start].rfind('[')).flatten();
    Some(bracketed.map_or((start, end), |open| (open, end + 1)))
}
