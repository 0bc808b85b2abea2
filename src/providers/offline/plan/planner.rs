//! What the planner of every family of edits shares: the step types, and `ClausePlanner`, which collects the steps and
//! questions of one clause.

use crate::providers::offline::parse::atoms::{Atom, source_text};
use crate::providers::offline::parse::clauses::Clause;
use crate::providers::offline::parse::grammar::Grammar;
use crate::providers::offline::parse::intent::Intent;
use crate::providers::offline::parse::meaning::{FileFact, Meaning, Noun, RegionBounds};
use crate::providers::offline::parse::positions::{NamedRegion, has_corners, named_regions};
use crate::providers::offline::parse::things::{NamedThing, Things};
use crate::providers::offline::reply::questions;
use crate::providers::offline::targets::combine::RequiredPictures;
use crate::providers::offline::targets::selection::Selection;
use serde_json::{Map, Value, json};

/// The kind of a step: which files it takes and what it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// Pictures in, one new picture for each out.
    Edit,
    /// Several pictures in, something made of all of them out.
    Combine(RequiredPictures),
    /// Repeats the edits of one picture on others.
    Repeat,
    Send,
    List,
    /// One fact about a file, or all facts.
    Info(Option<FileFact>),
    Read,
    /// Looks for things in each picture; the step after it edits what was found.
    Look,
    /// Looks for things in each picture and tells what was found.
    Tell(LookQuestion),
}

/// A question about the things in a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookQuestion {
    What,
    HowMany,
    Where,
}

/// How an edit takes the regions of what was found.
#[derive(Debug, Clone, PartialEq)]
pub enum TakeRegions {
    /// A list `regions`; each has these details besides.
    Each(Map<String, Value>),
    /// One `region` around all of them.
    Around,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStep {
    pub kind: StepKind,
    pub tool: &'static str,
    /// The arguments of the tool, without the files.
    pub arguments: Map<String, Value>,
    /// `None`: the result of the step before, or the files the message refers to.
    pub selection: Option<Selection>,
    /// Whether "photo 2" counts pictures only.
    pub counts_photos: bool,
    /// Phrase of the final sentence, see `reply::actions`. May be empty.
    pub did: String,
    /// The thing that the step looks for, or whose regions it edits.
    pub thing: Option<NamedThing>,
    /// Of an edit of what was found.
    pub take: Option<TakeRegions>,
}

impl PlannedStep {
    /// Whether the text of a picture would do: a search for words needs a file.
    pub fn reads_pictures(&self) -> bool {
        self.kind == StepKind::Read && !self.arguments.contains_key("grep")
    }
}

/// The steps of a message in order, and what to ask or tell the person.
#[derive(Debug, Default)]
pub struct MessagePlan {
    pub steps: Vec<PlannedStep>,
    pub questions: Vec<String>,
}

/// Arguments with one entry.
pub fn argument(key: &str, value: impl Into<Value>) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), value.into())])
}

/// A number as JSON, without a fraction if it has none.
pub fn json_number(value: f64) -> Value {
    if value.fract() == 0.0 { json!(value as i64) } else { json!(value) }
}

pub fn json_region([left, top, right, bottom]: RegionBounds) -> Value {
    json!({"left": left, "top": top, "right": right, "bottom": bottom})
}

pub fn colour_of(meaning: &Meaning) -> Option<&String> {
    match meaning {
        Meaning::Colour(name) => Some(name),
        _ => None,
    }
}

/// The names of the regions, without repetition.
pub fn region_names(regions: &[NamedRegion]) -> Vec<String> {
    let mut names: Vec<String> = regions.iter().map(|region| region.name.clone()).collect();
    names.dedup();
    names
}

/// Plans one clause. Each family of edits adds its methods in its own file.
pub struct ClausePlanner<'a> {
    pub grammar: &'a Grammar,
    pub source: &'a [char],
    pub clause: &'a Clause,
    pub plan: &'a mut MessagePlan,
    /// The words for things in pictures, if they can be looked for.
    pub things: Option<&'a Things>,
}

impl ClausePlanner<'_> {
    /// Adds a question or a limit to the reply, once.
    pub fn ask(&mut self, question: impl Into<String>) {
        let question = question.into();
        if !self.plan.questions.contains(&question) {
            self.plan.questions.push(question);
        }
    }

    pub fn edit(&mut self, tool: &'static str, arguments: Map<String, Value>, did: impl Into<String>) {
        self.step(StepKind::Edit, tool, arguments, did);
    }

    pub fn step(
        &mut self,
        kind: StepKind,
        tool: &'static str,
        arguments: Map<String, Value>,
        did: impl Into<String>,
    ) {
        let selection = self.selection();
        let counts_photos = self.clause.has(|m| matches!(m, Meaning::Noun(Noun::Photo | Noun::Photos)));
        self.plan.steps.push(PlannedStep {
            kind,
            tool,
            arguments,
            selection,
            counts_photos,
            did: did.into(),
            thing: None,
            take: None,
        });
    }

    fn selection(&self) -> Option<Selection> {
        let has = |meaning: Meaning| self.clause.has(|m| *m == meaning);
        // "flip 1 and 3": a bare number can only count photos here.
        let counts = matches!(
            self.clause.intent,
            Intent::Flip
                | Intent::Filter
                | Intent::Send
                | Intent::Info
                | Intent::See
                | Intent::Repeat
                | Intent::Compare
        ) && !has_corners(&self.atoms());
        let number = |meaning: &Meaning| match meaning {
            Meaning::Nth(n) => Some(*n),
            Meaning::Number(n) if counts && n.fract() == 0.0 && (1.0..=100.0).contains(n) => Some(*n as i32),
            _ => None,
        };
        let nth: Vec<i32> = self.clause.atoms().filter_map(|atom| number(&atom.meaning)).collect();
        let few = self.clause.atoms().find_map(|atom| match atom.meaning {
            Meaning::FirstFew(n) => Some(Selection::First(n)),
            Meaning::LastFew(n) => Some(Selection::Last(n)),
            _ => None,
        });
        match () {
            // "the second dog", "everyone's face": the words select things in the picture.
            () if self.names_thing() && !self.mentions_photos() => None,
            () if has(Meaning::Others) => Some(Selection::Others),
            () if !nth.is_empty() && has(Meaning::Except) => Some(Selection::Except(nth)),
            () if !nth.is_empty() => Some(Selection::Nth(nth)),
            () if few.is_some() && !matches!(self.clause.intent, Intent::Undo | Intent::Redo) => few,
            () if has(Meaning::All) => Some(Selection::All),
            () if has(Meaning::Them) => Some(Selection::Them),
            () => None,
        }
    }

    /// "in all photos"
    fn mentions_photos(&self) -> bool {
        self.clause.atoms().any(|atom| match atom.meaning {
            Meaning::Noun(_) => true,
            Meaning::All | Meaning::Others => {
                let words = source_text(self.source, std::slice::from_ref(atom)).to_lowercase();
                ["photo", "picture", "image"].iter().any(|noun| words.contains(noun))
            }
            _ => false,
        })
    }

    pub fn atoms(&self) -> Vec<Atom> {
        self.clause.atoms().cloned().collect()
    }

    pub fn unknown_atoms(&self) -> Vec<Atom> {
        self.clause.atoms().filter(|atom| atom.meaning == Meaning::Unknown).cloned().collect()
    }

    pub fn colour(&self) -> Option<&String> {
        self.clause.atoms().find_map(|atom| colour_of(&atom.meaning))
    }

    /// The regions the clause names; `None` after asking about numbers that make no region.
    pub fn regions_or_ask(&mut self) -> Option<Vec<NamedRegion>> {
        named_regions(&self.atoms()).map_err(|error| self.ask(questions::position_error(error))).ok()
    }

    /// "everything but the middle"
    pub fn apply_except(&self, regions: Vec<NamedRegion>) -> Vec<NamedRegion> {
        match regions.as_slice() {
            [only] if self.clause.has(|m| *m == Meaning::Except) => only.complement(),
            _ => regions,
        }
    }

    /// Asks for the position of a thing the clause names, or, if it names none, asks `otherwise`.
    pub fn ask_for_position(&mut self, otherwise: &str) {
        let unknown = self.unknown_atoms();
        if unknown.is_empty() {
            self.ask(otherwise);
        } else {
            self.ask(questions::cannot_see(&source_text(self.source, &unknown)));
        }
    }
}
