//! The lexicon: `grammar.yaml` → a table from phrases to meanings. Loading fails if one phrase has two meanings.

use super::lexer::{TokenKind, source_chars, tokenize};
use super::meaning::{
    AdjustDirection, AnimationKind, Dimension, FileFact, FlipAxis, HighlightShape, Meaning, MeasureUnit,
    Noun, RegionBounds, Side, SpinDirection, Verb,
};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

const BUILT_IN: &str = include_str!("grammar.yaml");

/// Phrases shorter than this are never corrected: "light" is not a mistyped "right".
const MIN_TYPO_CHARS: usize = 5;
const MAX_TYPO_CHARS: usize = 20;
/// Known words shorter than this are no correction.
const MIN_CORRECTION_CHARS: usize = 6;

#[derive(Debug, thiserror::Error)]
pub enum GrammarError {
    #[error("the offline grammar is not valid: {0}")]
    Unreadable(#[from] serde_yaml::Error),
    #[error("the offline grammar has {0:?}, which is not made of words")]
    NotWords(String),
    #[error("the offline grammar gives {0:?} two meanings")]
    TwoMeanings(String),
}

/// Phrases of one or more words, as the file lists them.
type Phrases = Vec<String>;

#[derive(Debug, Deserialize)]
struct FilterEntry {
    words: Phrases,
    #[serde(flatten)]
    filter: FilterWords,
}

/// How the agent speaks of a filter.
#[derive(Debug, Deserialize)]
pub struct FilterWords {
    /// What was done, with the placeholders `{it}`, `{part}` and `{of}` for the picture or the part of it.
    pub did: String,
    /// Strength in percent without a word like "a bit".
    pub default_strength: f64,
    /// People use it on one thing in the picture ("blur the face"). If the thing is not known, the agent asks
    /// instead of filtering the whole picture.
    #[serde(default)]
    pub targets_things: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AdjustmentEntry {
    up: Phrases,
    down: Phrases,
    /// Names without a direction: "contrast".
    names: Phrases,
    did: AdjustmentWords,
}

/// How the agent speaks of an adjustment, with the placeholders `{it}` (the picture) and `{how}` (how much).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustmentWords {
    pub up: String,
    pub down: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FractionEntry {
    of: f64,
    words: Phrases,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedRegionEntry {
    words: Phrases,
    regions: Vec<RegionBounds>,
}

/// Phrases of small talk and the answer to them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallTalk {
    words: Phrases,
    pub answer: String,
    /// Whether the answer lists examples of requests.
    #[serde(default)]
    pub examples: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GrammarFile {
    verbs: BTreeMap<Verb, Phrases>,
    shapes: BTreeMap<HighlightShape, Phrases>,
    colours: BTreeMap<String, Phrases>,
    filters: BTreeMap<String, FilterEntry>,
    colours_as_filters: BTreeMap<String, String>,
    adjustments: BTreeMap<String, AdjustmentEntry>,
    more: Phrases,
    less: Phrases,
    auto_levels: Phrases,
    amounts: BTreeMap<u32, Phrases>,
    layouts: BTreeMap<String, Phrases>,
    animations: BTreeMap<AnimationKind, Phrases>,
    formats: BTreeMap<String, Phrases>,
    quality: Phrases,
    numbered: Phrases,
    facts: BTreeMap<FileFact, Phrases>,
    sides: BTreeMap<Side, Phrases>,
    fractions: BTreeMap<String, FractionEntry>,
    edges: Phrases,
    named_regions: BTreeMap<String, NamedRegionEntry>,
    spins: BTreeMap<SpinDirection, Phrases>,
    angles: BTreeMap<u32, Phrases>,
    axes: BTreeMap<FlipAxis, Phrases>,
    aspects: BTreeMap<String, Phrases>,
    scales: BTreeMap<u32, Phrases>,
    sizes: BTreeMap<u32, Phrases>,
    label_words: Phrases,
    dimensions: BTreeMap<Dimension, Phrases>,
    units: BTreeMap<MeasureUnit, Phrases>,
    by: Phrases,
    repeat: BTreeMap<String, usize>,
    all: Phrases,
    them: Phrases,
    others: Phrases,
    except: Phrases,
    last: Phrases,
    ordinals: BTreeMap<String, i32>,
    numbers: BTreeMap<String, u32>,
    nouns: BTreeMap<Noun, Phrases>,
    not: Phrases,
    and: Phrases,
    then: Phrases,
    to: Phrases,
    prepositions: Phrases,
    it: Phrases,
    polite: Phrases,
    fillers: Phrases,
    small_talk: Vec<SmallTalk>,
    examples: Vec<String>,
    suggestions: Vec<String>,
    file_kinds: BTreeMap<String, String>,
}

/// The loaded grammar.
#[derive(Debug)]
pub struct Grammar {
    /// The words of each phrase and its meaning, by first word, longest phrase first.
    phrases: HashMap<String, Vec<(Vec<String>, Meaning)>>,
    vocabulary: BTreeSet<String>,
    filters: BTreeMap<String, FilterWords>,
    adjustments: BTreeMap<String, AdjustmentWords>,
    pub colours_as_filters: BTreeMap<String, String>,
    pub small_talk: Vec<SmallTalk>,
    pub examples: Vec<String>,
    pub suggestions: Vec<String>,
    file_kinds: BTreeMap<String, String>,
}

impl Grammar {
    pub fn built_in() -> Result<Self, GrammarError> {
        Self::from_yaml(BUILT_IN)
    }

    pub fn from_yaml(yaml: &str) -> Result<Self, GrammarError> {
        let file: GrammarFile = serde_yaml::from_str(yaml)?;
        let mut entries: Vec<(String, Meaning)> = Vec::new();
        let mut add = |words: Phrases, meaning: Meaning| {
            entries.extend(words.into_iter().map(|phrase| (phrase, meaning.clone())));
        };
        file.verbs.into_iter().for_each(|(verb, words)| add(words, Meaning::Verb(verb)));
        file.shapes.into_iter().for_each(|(shape, words)| add(words, Meaning::Shape(shape)));
        file.colours.into_iter().for_each(|(name, words)| add(words, Meaning::Colour(name)));
        let mut filters = BTreeMap::new();
        for (name, entry) in file.filters {
            add(entry.words, Meaning::Filter(name.clone()));
            filters.insert(name, entry.filter);
        }
        let mut adjustments = BTreeMap::new();
        for (name, entry) in file.adjustments {
            let with_names = |ways: &Phrases| -> Phrases {
                let phrases =
                    ways.iter().flat_map(|way| entry.names.iter().map(move |name| format!("{way} {name}")));
                phrases.collect()
            };
            add(entry.up, Meaning::Adjust(name.clone(), AdjustDirection::Up));
            add(with_names(&file.more), Meaning::Adjust(name.clone(), AdjustDirection::Up));
            add(entry.down, Meaning::Adjust(name.clone(), AdjustDirection::Down));
            add(with_names(&file.less), Meaning::Adjust(name.clone(), AdjustDirection::Down));
            add(entry.names, Meaning::Adjust(name.clone(), AdjustDirection::Unspecified));
            adjustments.insert(name, entry.did);
        }
        file.amounts
            .into_iter()
            .for_each(|(percent, words)| add(words, Meaning::Amount(f64::from(percent) / 100.0)));
        file.layouts.into_iter().for_each(|(layout, words)| add(words, Meaning::Layout(layout)));
        file.animations.into_iter().for_each(|(kind, words)| add(words, Meaning::Animation(kind)));
        file.formats.into_iter().for_each(|(format, words)| add(words, Meaning::Format(format)));
        file.facts.into_iter().for_each(|(fact, words)| add(words, Meaning::Fact(fact)));
        file.sides.into_iter().for_each(|(side, words)| add(words, Meaning::Side(side)));
        for (name, entry) in file.fractions {
            add(entry.words, Meaning::Fraction(entry.of, name));
        }
        for (name, entry) in file.named_regions {
            add(entry.words, Meaning::Regions(name, entry.regions));
        }
        file.spins.into_iter().for_each(|(spin, words)| add(words, Meaning::Spin(spin)));
        file.angles.into_iter().for_each(|(degrees, words)| add(words, Meaning::Angle(degrees.into())));
        file.axes.into_iter().for_each(|(axis, words)| add(words, Meaning::Axis(axis)));
        file.aspects.into_iter().for_each(|(aspect, words)| add(words, Meaning::Aspect(aspect)));
        file.scales.into_iter().for_each(|(percent, words)| add(words, Meaning::Scale(percent.into())));
        file.sizes.into_iter().for_each(|(pixels, words)| add(words, Meaning::Longest(pixels.into())));
        file.dimensions.into_iter().for_each(|(which, words)| add(words, Meaning::Dimension(which)));
        file.units.into_iter().for_each(|(unit, words)| add(words, Meaning::Unit(unit)));
        file.nouns.into_iter().for_each(|(noun, words)| add(words, Meaning::Noun(noun)));
        file.repeat.into_iter().for_each(|(word, times)| add(vec![word], Meaning::Repeat(times)));
        file.ordinals.into_iter().for_each(|(word, n)| add(vec![word], Meaning::Ordinal(n)));
        file.numbers.into_iter().for_each(|(word, n)| add(vec![word], Meaning::Number(n.into())));
        for (index, talk) in file.small_talk.iter().enumerate() {
            add(talk.words.clone(), Meaning::SmallTalk(index));
        }
        for (words, meaning) in [
            (file.auto_levels, Meaning::AutoLevels),
            (file.quality, Meaning::Quality),
            (file.numbered, Meaning::Numbered),
            (file.edges, Meaning::Edge),
            (file.label_words, Meaning::Label),
            (file.by, Meaning::By),
            (file.all, Meaning::All),
            (file.them, Meaning::Them),
            (file.others, Meaning::Others),
            (file.except, Meaning::Except),
            (file.last, Meaning::Last),
            (file.not, Meaning::Not),
            (file.and, Meaning::And),
            (file.then, Meaning::Then),
            (file.to, Meaning::To),
            (file.prepositions, Meaning::Preposition),
            (file.it, Meaning::It),
            (file.polite, Meaning::Polite),
            (file.fillers, Meaning::Filler),
        ] {
            add(words, meaning);
        }

        let mut phrases: HashMap<String, Vec<(Vec<String>, Meaning)>> = HashMap::new();
        let mut vocabulary = BTreeSet::new();
        for (phrase, meaning) in entries {
            let words = words_of(&phrase).ok_or_else(|| GrammarError::NotWords(phrase.clone()))?;
            vocabulary.extend(words.iter().cloned());
            let same_start = phrases.entry(words[0].clone()).or_default();
            if same_start.iter().any(|(known, _)| *known == words) {
                return Err(GrammarError::TwoMeanings(phrase));
            }
            same_start.push((words, meaning));
        }
        for same_start in phrases.values_mut() {
            same_start.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
        }
        Ok(Self {
            phrases,
            vocabulary,
            filters,
            adjustments,
            colours_as_filters: file.colours_as_filters,
            small_talk: file.small_talk,
            examples: file.examples,
            suggestions: file.suggestions,
            file_kinds: file.file_kinds,
        })
    }

    /// Corrects a word that is one typing error away from a known word.
    pub fn correct_typo(&self, word: String) -> String {
        let length = word.chars().count();
        if self.vocabulary.contains(&word) || !(MIN_TYPO_CHARS..=MAX_TYPO_CHARS).contains(&length) {
            return word;
        }
        let found = self.vocabulary.iter().find(|known| {
            known.len() >= MIN_CORRECTION_CHARS
                && known.chars().next() == word.chars().next()
                && is_one_typo_away(&word, known)
        });
        found.cloned().unwrap_or(word)
    }

    /// The longest phrase that the words begin with: its meaning and its length in words.
    pub fn longest_phrase(&self, words: &[&str]) -> Option<(&Meaning, usize)> {
        let (phrase, meaning) = self.phrases.get(*words.first()?)?.iter().find(|(phrase, _)| {
            phrase.len() <= words.len() && phrase.iter().zip(words).all(|(known, word)| known == word)
        })?;
        Some((meaning, phrase.len()))
    }

    pub fn filter(&self, name: &str) -> Option<&FilterWords> {
        self.filters.get(name)
    }

    pub fn adjustment(&self, name: &str) -> Option<&AdjustmentWords> {
        self.adjustments.get(name)
    }

    /// The name of a file type, such as "a PDF".
    pub fn file_kind(&self, mime_type: &str) -> Option<&str> {
        self.file_kinds
            .iter()
            .find(|(start, _)| mime_type.starts_with(start.as_str()))
            .map(|(_, kind)| kind.as_str())
    }
}

/// The words of a phrase, `None` if it has other tokens or no word.
fn words_of(phrase: &str) -> Option<Vec<String>> {
    let tokens = tokenize(&source_chars(phrase)).into_iter().map(|token| match token.kind {
        TokenKind::Word(word) => Some(word),
        _ => None,
    });
    tokens.collect::<Option<Vec<String>>>().filter(|words| !words.is_empty())
}

/// One letter missing, added, wrong, or swapped with its neighbour.
fn is_one_typo_away(typed: &str, known: &str) -> bool {
    let (typed, known): (Vec<char>, Vec<char>) = (typed.chars().collect(), known.chars().collect());
    let same = typed.iter().zip(&known).take_while(|(a, b)| a == b).count();
    let (typed, known) = (&typed[same..], &known[same..]);
    match (typed, known) {
        ([], rest) | (rest, []) => rest.len() <= 1,
        ([a, b, typed @ ..], [c, d, known @ ..]) if a == d && b == c && typed == known => true,
        ([_, typed_rest @ ..], [_, known_rest @ ..]) => {
            typed_rest == known_rest || typed_rest == known || typed == known_rest
        }
    }
}
