//! Small pieces of the sentences that tools say. No tool logic.

use chrono::TimeDelta;

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

/// "just now", "5 minutes ago", "2 hours ago", "3 days ago".
pub(super) fn age(passed: TimeDelta) -> String {
    let (number, unit) = match passed.num_minutes() {
        ..1 => return "just now".to_owned(),
        minutes @ ..60 => (minutes, "minute"),
        minutes @ ..1440 => (minutes / 60, "hour"),
        minutes => (minutes / 1440, "day"),
    };
    format!("{} ago", count(usize::try_from(number).unwrap_or_default(), unit))
}

/// At most so many characters, with an ellipsis where something is missing.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Words found in files are data: between fences they cannot close.
pub(super) fn fenced(text: &str) -> String {
    let defused = text.replace("<<<", "‹‹‹").replace(">>>", "›››");
    format!("<<<\n{defused}\n>>>")
}

/// The word that was probably meant: the one it is a part of, or the one few typos away.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.to_lowercase().chars().take(64).collect();
    let part_of = |name: &str| word.len() > 2 && (name.contains(word.as_str()) || word.contains(name));
    known
        .into_iter()
        .map(|name| (if part_of(name) { 0 } else { typos(&word, name) }, name))
        .min()
        .filter(|(typos, name)| typos * 3 <= name.len())
        .map(|(_, name)| name)
}

/// How many letters must be changed, added or left out to make one word the other.
fn typos(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_the_largest_whole_unit() {
        let said = [0, 59, 60, 3599, 3600, 86_399, 86_400, 200_000].map(|s| age(TimeDelta::seconds(s)));
        let expected = [
            "just now",
            "just now",
            "1 minute ago",
            "59 minutes ago",
            "1 hour ago",
            "23 hours ago",
            "1 day ago",
            "2 days ago",
        ];
        assert_eq!(said, expected);
        assert_eq!(age(TimeDelta::seconds(-5)), "just now");
    }

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
