//! Pieces of sentences that several tools use in their results.

/// "1 image", "3 images".
pub(super) fn count(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// "an application/pdf", "a text/plain".
pub(super) fn with_article(words: &str) -> String {
    let article = if words.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {words}")
}

/// Cuts the text to `max_chars` characters and marks the cut with an ellipsis.
pub(super) fn shortened(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The known word that contains this one, is contained in it, or differs by a few letters.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.to_lowercase().chars().take(64).collect();
    let part_of = |name: &str| word.len() > 2 && (name.contains(word.as_str()) || word.contains(name));
    known
        .into_iter()
        .map(|name| (if part_of(name) { 0 } else { strsim::levenshtein(&word, name) }, name))
        .min()
        .filter(|(typos, name)| typos * 3 <= name.len())
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_close_in_letters_or_a_part() {
        let known = ["crop_image", "flip_image", "highlight_image"];
        assert_eq!(nearest("crop", known), Some("crop_image"));
        assert_eq!(nearest("higlight_images", known), Some("highlight_image"));
        assert_eq!(nearest("paint_a_dragon", known), None);
    }

    #[test]
    fn text_is_shortened_between_characters() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöü", 2), "äö…");
    }
}
