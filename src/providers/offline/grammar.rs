//! The lexicon: grammar.yaml into a table from phrases to meanings. What a sentence of them means is read
//! elsewhere.

use super::lex::{Token, lex, source};
use super::meaning::{
    Axis, Dimension, Fact, Film, Meaning, Noun, Region, Shape, Side, Spin, Unit, Verb, Way,
};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

const BUILT_IN: &str = include_str!("grammar.yaml");

#[derive(Debug, thiserror::Error)]
pub enum GrammarError {
    #[error("the offline grammar is not valid: {0}")]
    Unreadable(#[from] serde_yaml::Error),
    #[error("the offline grammar has {0:?}, which is not made of words")]
    NotWords(String),
    #[error("the offline grammar gives {0:?} two meanings")]
    Twice(String),
}

type Words = Vec<String>;

#[derive(Debug, Deserialize)]
struct FilterEntry {
    words: Words,
    #[serde(flatten)]
    filter: FilterWords,
}

/// How a filter is spoken of.
#[derive(Debug, Deserialize)]
pub struct FilterWords {
    /// `{it}`, `{part}` and `{of}` stand for what it was done to.
    pub did: String,
    /// The strength, in percent, that "a bit" is a half of.
    pub usual: f64,
    /// Whether people use it on a thing in the picture: then never on all of it because the thing is not known.
    #[serde(default)]
    pub aims: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AdjustmentEntry {
    up: Words,
    down: Words,
    /// Names of it, which say no direction by themselves.
    names: Words,
    did: AdjustmentWords,
}

/// How an adjustment is spoken of: `{it}` stands for what it was done to, `{how}` for how much.
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
    words: Words,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaceEntry {
    words: Words,
    regions: Vec<Region>,
}

/// A line of small talk and what to say to it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Talk {
    words: Words,
    pub answer: String,
    /// Whether the answer goes on with what can be asked for.
    #[serde(default)]
    pub examples: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    verbs: BTreeMap<Verb, Words>,
    shapes: BTreeMap<Shape, Words>,
    colours: BTreeMap<String, Words>,
    filters: BTreeMap<String, FilterEntry>,
    colours_as_filters: BTreeMap<String, String>,
    adjustments: BTreeMap<String, AdjustmentEntry>,
    more: Words,
    less: Words,
    auto_levels: Words,
    degrees: BTreeMap<u32, Words>,
    layouts: BTreeMap<String, Words>,
    films: BTreeMap<Film, Words>,
    formats: BTreeMap<String, Words>,
    quality: Words,
    numbered: Words,
    facts: BTreeMap<Fact, Words>,
    sides: BTreeMap<Side, Words>,
    fractions: BTreeMap<String, FractionEntry>,
    edges: Words,
    places: BTreeMap<String, PlaceEntry>,
    spins: BTreeMap<Spin, Words>,
    angles: BTreeMap<u32, Words>,
    axes: BTreeMap<Axis, Words>,
    aspects: BTreeMap<String, Words>,
    scales: BTreeMap<u32, Words>,
    sizes: BTreeMap<u32, Words>,
    label_words: Words,
    dimensions: BTreeMap<Dimension, Words>,
    units: BTreeMap<Unit, Words>,
    by: Words,
    repeat: BTreeMap<String, usize>,
    all: Words,
    them: Words,
    others: Words,
    except: Words,
    last: Words,
    ordinals: BTreeMap<String, i32>,
    numbers: BTreeMap<String, u32>,
    nouns: BTreeMap<Noun, Words>,
    not: Words,
    and: Words,
    then: Words,
    to: Words,
    prepositions: Words,
    it: Words,
    polite: Words,
    fillers: Words,
    talk: Vec<Talk>,
    examples: Vec<String>,
    suggestions: Vec<String>,
    kinds: BTreeMap<String, String>,
}

/// All that is known about words, ready to look up.
#[derive(Debug)]
pub struct Grammar {
    /// By first word, longest phrase first.
    phrases: HashMap<String, Vec<(Words, Meaning)>>,
    vocabulary: BTreeSet<String>,
    filters: BTreeMap<String, FilterWords>,
    adjustments: BTreeMap<String, AdjustmentWords>,
    pub colours_as_filters: BTreeMap<String, String>,
    pub talk: Vec<Talk>,
    pub examples: Vec<String>,
    pub suggestions: Vec<String>,
    kinds: BTreeMap<String, String>,
}

impl Grammar {
    pub fn built_in() -> Result<Self, GrammarError> {
        Self::from_yaml(BUILT_IN)
    }

    pub fn from_yaml(yaml: &str) -> Result<Self, GrammarError> {
        let file: File = serde_yaml::from_str(yaml)?;
        let mut entries: Vec<(String, Meaning)> = Vec::new();
        let mut add = |words: Words, meaning: Meaning| {
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
            let with = |ways: &Words| -> Words {
                let phrases =
                    ways.iter().flat_map(|way| entry.names.iter().map(move |name| format!("{way} {name}")));
                phrases.collect()
            };
            add(entry.up, Meaning::Adjust(name.clone(), Way::Up));
            add(with(&file.more), Meaning::Adjust(name.clone(), Way::Up));
            add(entry.down, Meaning::Adjust(name.clone(), Way::Down));
            add(with(&file.less), Meaning::Adjust(name.clone(), Way::Down));
            add(entry.names, Meaning::Adjust(name.clone(), Way::Unsaid));
            adjustments.insert(name, entry.did);
        }
        file.degrees
            .into_iter()
            .for_each(|(percent, words)| add(words, Meaning::Much(f64::from(percent) / 100.0)));
        file.layouts.into_iter().for_each(|(layout, words)| add(words, Meaning::Layout(layout)));
        file.films.into_iter().for_each(|(film, words)| add(words, Meaning::Film(film)));
        file.formats.into_iter().for_each(|(format, words)| add(words, Meaning::Format(format)));
        file.facts.into_iter().for_each(|(fact, words)| add(words, Meaning::Fact(fact)));
        file.sides.into_iter().for_each(|(side, words)| add(words, Meaning::Side(side)));
        for (name, entry) in file.fractions {
            add(entry.words, Meaning::Fraction(entry.of, name));
        }
        for (name, entry) in file.places {
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
        for (index, talk) in file.talk.iter().enumerate() {
            add(talk.words.clone(), Meaning::Talk(index));
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

        let mut phrases: HashMap<String, Vec<(Words, Meaning)>> = HashMap::new();
        let mut vocabulary = BTreeSet::new();
        for (phrase, meaning) in entries {
            let words = words_of(&phrase).ok_or_else(|| GrammarError::NotWords(phrase.clone()))?;
            vocabulary.extend(words.iter().cloned());
            let same_start = phrases.entry(words[0].clone()).or_default();
            if same_start.iter().any(|(known, _)| *known == words) {
                return Err(GrammarError::Twice(phrase));
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
            talk: file.talk,
            examples: file.examples,
            suggestions: file.suggestions,
            kinds: file.kinds,
        })
    }

    /// The word as the grammar spells it, if it is one slip of the finger away from a longer known word.
    /// Short words are left alone: "light" is not a mistyped "right".
    pub fn corrected(&self, word: String) -> String {
        let length = word.chars().count();
        if self.vocabulary.contains(&word) || !(5..=20).contains(&length) {
            return word;
        }
        let found = self.vocabulary.iter().find(|known| {
            known.len() >= 6 && known.chars().next() == word.chars().next() && one_slip(&word, known)
        });
        found.cloned().unwrap_or(word)
    }

    /// The longest phrase that the words begin with, and how many words it is.
    pub fn longest(&self, words: &[&str]) -> Option<(&Meaning, usize)> {
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

    /// "a PDF", if the type is one that has a name.
    pub fn kind(&self, mime_type: &str) -> Option<&str> {
        self.kinds
            .iter()
            .find(|(start, _)| mime_type.starts_with(start.as_str()))
            .map(|(_, kind)| kind.as_str())
    }
}

fn words_of(phrase: &str) -> Option<Words> {
    let tokens = lex(&source(phrase)).into_iter().map(|lexed| match lexed.token {
        Token::Word(word) => Some(word),
        _ => None,
    });
    tokens.collect::<Option<Words>>().filter(|words| !words.is_empty())
}

/// One letter missing, added, wrong, or swapped with its neighbour.
fn one_slip(typed: &str, known: &str) -> bool {
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
