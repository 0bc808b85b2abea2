//! Things in a picture that a request names: `things.yaml` → kinds that can be found, and which of several is meant. A
//! word that narrows a thing down in a way the detectors cannot see ("the red car") is reported, never ignored.

use super::atoms::{Atom, source_text};
use super::grammar::GrammarError;
use super::lexer::{TokenKind, source_chars, tokenize};
use super::meaning::{Meaning, Side};
use std::collections::{BTreeMap, HashMap};
use vision::{Number, Which};

const BUILT_IN: &str = include_str!("things.yaml");
const MAX_PHRASE_WORDS: usize = 3;

/// The words for things, from `things.yaml`.
#[derive(Debug)]
pub struct Things {
    /// By phrase: what to look for, and whether the phrase means several.
    phrases: HashMap<String, (String, bool)>,
}

/// A thing to look for.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedThing {
    /// The argument `what` of `find_in_image`.
    pub what: String,
    /// The thing in the words of the person, such as "eagle".
    pub said: String,
    pub plural: bool,
    pub which: Which,
}

/// What a group of words says of the things in a picture.
#[derive(Debug, Clone, PartialEq)]
pub enum ThingRequest {
    One(NamedThing),
    /// A thing in words that the detectors do not understand.
    Unclear(String),
}

impl NamedThing {
    pub fn number(&self) -> Number {
        if self.plural { Number::Several } else { Number::One }
    }
}

impl Things {
    pub fn built_in() -> Result<Self, GrammarError> {
        let file: BTreeMap<String, Vec<String>> = serde_yaml::from_str(BUILT_IN)?;
        let mut phrases: HashMap<String, (String, bool)> = HashMap::new();
        for (what, words) in &file {
            for word in words {
                let several = matches!(
                    word.as_str(),
                    "faces" | "people" | "persons" | "men" | "women" | "everyone" | "everybody" | "children"
                ) || word.starts_with("every")
                    || word.starts_with("all ");
                if phrases.insert(word.clone(), (what.clone(), several)).is_some() {
                    return Err(GrammarError::TwoMeanings(word.clone()));
                }
            }
        }
        for (what, words) in file {
            for word in words {
                for ending in ["s", "es"] {
                    phrases.entry(format!("{word}{ending}")).or_insert((what.clone(), true));
                }
            }
        }
        Ok(Self { phrases })
    }

    /// The thing a group of atoms names; `None` if it names none, and nothing unknown either.
    pub fn read(&self, source: &[char], atoms: &[Atom]) -> Option<ThingRequest> {
        let mut words = read_words(source, atoms);
        let (at, length, what, plural) = self.longest(&words)?;
        let said: String =
            words[at..at + length].iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        let meant_all = words[..at].iter().any(|word| matches!(word.meaning, Meaning::All | Meaning::Them));
        let mut which = Which::Any;
        let mut unclear = words[at + length - 1].possessive && !said.contains("'s");
        for (index, word) in words.iter_mut().enumerate() {
            if (at..at + length).contains(&index) {
                continue;
            }
            match which_of(word) {
                Some(found) if which == Which::Any || which == found => which = found,
                Some(_) => unclear = true,
                None => unclear |= word.meaning == Meaning::Unknown,
            }
            unclear |= matches!(word.meaning, Meaning::Except | Meaning::FirstFew(_) | Meaning::LastFew(_));
            // "the red car": a colour right before a thing is no colour of a mark.
            unclear |= matches!(word.meaning, Meaning::Colour(_)) && index + 1 == at;
        }
        if unclear {
            let unknown: Vec<Atom> = atoms
                .iter()
                .filter(|atom| {
                    !matches!(atom.meaning, Meaning::Verb(_) | Meaning::Filter(_) | Meaning::Shape(_))
                })
                .cloned()
                .collect();
            let from = unknown.iter().position(|atom| atom.meaning != Meaning::Filler).unwrap_or(0);
            return Some(ThingRequest::Unclear(source_text(source, &unknown[from..])));
        }
        let plural = plural || meant_all;
        Some(ThingRequest::One(NamedThing { what, said, plural, which }))
    }

    /// The longest phrase for a thing: where it begins, its length in words, what it is, and whether it is several.
    fn longest(&self, words: &[Word]) -> Option<(usize, usize, String, bool)> {
        for length in (1..=MAX_PHRASE_WORDS).rev() {
            for (at, window) in words.windows(length).enumerate() {
                let phrase: Vec<&str> = window.iter().map(|word| word.text.as_str()).collect();
                if let Some((what, plural)) = self.phrases.get(&phrase.join(" ")) {
                    return Some((at, length, what.clone(), *plural));
                }
            }
        }
        None
    }
}

/// A word of the request with the meaning of the atom it belongs to.
struct Word {
    text: String,
    meaning: Meaning,
    /// "the eagle's wing"
    possessive: bool,
}

fn read_words(source: &[char], atoms: &[Atom]) -> Vec<Word> {
    let mut words = Vec::new();
    for atom in atoms {
        let text: String = source[atom.start..atom.end].iter().collect();
        for token in tokenize(&source_chars(&text)) {
            let text = match token.kind {
                TokenKind::Word(word) => word,
                TokenKind::Nth(n) => n.to_string(),
                _ => continue,
            };
            let stem = text.strip_suffix("'s").filter(|stem| !stem.starts_with("every"));
            let possessive = stem.is_some();
            let text = stem.map_or(text.clone(), str::to_owned);
            words.push(Word { text, meaning: atom.meaning.clone(), possessive });
        }
    }
    words
}

/// Which one a word means, if it says so.
fn which_of(word: &Word) -> Option<Which> {
    match word.text.as_str() {
        "biggest" | "largest" | "big" | "large" | "bigger" | "larger" | "main" | "closest" | "nearest" => {
            return Some(Which::Biggest);
        }
        "smallest" | "small" | "little" | "smaller" | "tiny" => return Some(Which::Smallest),
        _ => {}
    }
    match word.meaning {
        Meaning::Side(Side::Left) => Some(Which::Left),
        Meaning::Side(Side::Right) => Some(Which::Right),
        Meaning::Side(Side::Top) => Some(Which::Top),
        Meaning::Side(Side::Bottom) => Some(Which::Bottom),
        Meaning::Side(Side::Middle) => Some(Which::Middle),
        Meaning::Nth(n) => Some(Which::Nth(n)),
        _ => None,
    }
}
