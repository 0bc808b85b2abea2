//! What `find_in_image` can look for, by the names that models and the offline agent use.

use super::text::TextKind;
use crate::tools::{ToolError, arguments::bad_argument, wording};
use vision::{Finding, object_kinds};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Faces,
    People,
    /// QR codes.
    Codes,
    Text(TextKind),
    /// Objects of every kind.
    Objects,
    Kind(&'static str),
}

/// Names of several kinds at once.
const KINDS_OF: [(&str, Wanted); 17] = [
    ("faces", Wanted::Faces),
    ("face", Wanted::Faces),
    ("people", Wanted::People),
    ("person", Wanted::People),
    ("persons", Wanted::People),
    ("codes", Wanted::Codes),
    ("qr codes", Wanted::Codes),
    ("text", Wanted::Text(TextKind::All)),
    ("numbers", Wanted::Text(TextKind::Numbers)),
    ("phone numbers", Wanted::Text(TextKind::PhoneNumbers)),
    ("emails", Wanted::Text(TextKind::Emails)),
    ("e-mail addresses", Wanted::Text(TextKind::Emails)),
    ("plates", Wanted::Text(TextKind::Plates)),
    ("names", Wanted::Text(TextKind::Names)),
    ("objects", Wanted::Objects),
    ("everything", Wanted::Objects),
    ("things", Wanted::Objects),
];

impl Wanted {
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        let asked = text.trim().to_lowercase().replace('_', " ");
        if let Some((_, wanted)) = KINDS_OF.iter().find(|(name, _)| *name == asked) {
            return Ok(*wanted);
        }
        if let Some(kind) = object_kinds().find(|kind| *kind == asked || plural(kind) == asked) {
            return Ok(Self::Kind(kind));
        }
        let names = KINDS_OF.iter().map(|(name, _)| *name).chain(object_kinds());
        let meant = wording::nearest(&asked, names).map(|near| format!(" Did you mean {near}?"));
        let kinds: Vec<&str> = object_kinds().collect();
        Err(bad_argument(format!(
            "what is {:?}, which cannot be found here.{} It can be faces, people, text, numbers, phone numbers, emails, plates, \
             names, codes, objects, or one of: {}.",
            wording::shortened(text, 60),
            meant.unwrap_or_default(),
            kinds.join(", ")
        )))
    }

    /// The noun for one of them.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Faces => Finding::FACE,
            Self::People => Finding::PERSON,
            Self::Codes => Finding::CODE,
            Self::Text(TextKind::All) => "line of text",
            Self::Text(TextKind::Numbers) => "number",
            Self::Text(TextKind::PhoneNumbers) => "phone number",
            Self::Text(TextKind::Emails) => "e-mail address",
            Self::Text(TextKind::Plates) => "number plate",
            Self::Text(TextKind::Names) => "name",
            Self::Objects => "known object",
            Self::Kind(kind) => kind,
        }
    }
}

/// The plural of a noun of `object_kinds`.
pub(super) fn plural(noun: &str) -> String {
    match noun {
        "person" => "people".to_owned(),
        "sheep" | "skis" | "scissors" => noun.to_owned(),
        "mouse" => "mice".to_owned(),
        "line of text" => "lines of text".to_owned(),
        "knife" => "knives".to_owned(),
        _ if noun.ends_with('s') || noun.ends_with("ch") || noun.ends_with("sh") => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_singular_and_plural() {
        for (text, wanted) in [
            ("Faces", Wanted::Faces),
            ("people", Wanted::People),
            ("bird", Wanted::Kind("bird")),
            ("buses", Wanted::Kind("bus")),
            ("wine_glasses", Wanted::Kind("wine glass")),
            ("benches", Wanted::Kind("bench")),
            ("codes", Wanted::Codes),
            ("qr codes", Wanted::Codes),
            ("text", Wanted::Text(TextKind::All)),
            ("numbers", Wanted::Text(TextKind::Numbers)),
            ("phone numbers", Wanted::Text(TextKind::PhoneNumbers)),
            ("emails", Wanted::Text(TextKind::Emails)),
            ("e-mail addresses", Wanted::Text(TextKind::Emails)),
            ("plates", Wanted::Text(TextKind::Plates)),
            ("names", Wanted::Text(TextKind::Names)),
            ("objects", Wanted::Objects),
        ] {
            assert_eq!(Wanted::parse(text).unwrap(), wanted, "{text}");
        }
        let error = Wanted::parse("elefant").unwrap_err().describe();
        assert!(error.contains("Did you mean elephant?") && error.contains("toothbrush"), "{error}");
    }
}
