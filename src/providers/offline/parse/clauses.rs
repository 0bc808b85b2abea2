//! Atoms → clauses, one per request. "and" and commas may join requests, or positions, labels and photos of one
//! request; this file decides which.

use super::atoms::{Atom, read_atoms, source_text};
use super::grammar::Grammar;
use super::intent::{
    Intent, classify, contains, is_generic, is_position, is_selection, leads_to_text, verb_of,
};
use super::labels::take_label;
use super::meaning::{Meaning, Verb};

/// One request. A group is a run of atoms between two joints ("and", commas): a colour belongs to the positions of
/// its own group first.
#[derive(Debug, Clone, PartialEq)]
pub struct Clause {
    pub intent: Intent,
    pub groups: Vec<Vec<Atom>>,
}

impl Clause {
    pub fn atoms(&self) -> impl Iterator<Item = &Atom> {
        self.groups.iter().flatten()
    }

    pub fn has(&self, test: impl Fn(&Meaning) -> bool) -> bool {
        self.atoms().any(|atom| test(&atom.meaning))
    }
}

/// A message as far as the grammar understands it.
#[derive(Debug, Default)]
pub struct ParsedMessage {
    pub source: Vec<char>,
    pub clauses: Vec<Clause>,
    /// Requests the grammar does not know, in the person's words.
    pub not_understood: Vec<String>,
    /// Index into `Grammar::small_talk`.
    pub small_talk: Option<usize>,
    /// The person said what not to do.
    pub negated: bool,
}

/// Whether a word can complete an earlier request.
fn completes_request(meaning: &Meaning) -> bool {
    use Meaning::{
        Axis, Colour, Dimension, Fraction, Label, Number, Quoted, Ratio, Repeat, Shape, Spin, Them,
    };
    is_selection(meaning)
        || is_position(meaning)
        || matches!(meaning, Colour(_) | Label | Quoted(_) | Spin(_) | Axis(_) | Number(_) | Ratio(..))
        || matches!(meaning, Dimension(_) | Shape(_) | Fraction(..) | Them | Repeat(_) | Meaning::Edge)
        || matches!(meaning, Meaning::Numbered | Meaning::Amount(_) | Meaning::Format(_) | Meaning::Quality)
        || matches!(meaning, Meaning::Adjust(..) | Meaning::AutoLevels)
}

pub fn read_clauses(grammar: &Grammar, source: Vec<char>) -> ParsedMessage {
    let chunks = split_into_chunks(read_atoms(grammar, &source));
    let mut message = ParsedMessage { source, ..ParsedMessage::default() };
    for chunk in chunks {
        message.add_chunk(grammar, chunk);
    }
    message
}

/// Splits at joints and at verbs. A chunk is a whole request or completes the one before it.
fn split_into_chunks(atoms: Vec<Atom>) -> Vec<Vec<Atom>> {
    let mut chunks: Vec<Vec<Atom>> = vec![Vec::new()];
    let mut joint: Option<Atom> = None;
    let mut pending: Vec<Atom> = Vec::new();
    let mut flush = |pending: &mut Vec<Atom>, joint: Option<Atom>| {
        if pending.is_empty() {
            return;
        }
        let part = std::mem::take(pending);
        let only_words = part.iter().all(|atom| matches!(atom.meaning, Meaning::Unknown | Meaning::Filler));
        match (chunks.last_mut(), joint) {
            // "call it salt and pepper", "write Hello, world"
            (Some(text), Some(joint))
                if only_words
                    && (contains(text, leads_to_text)
                        && matches!(joint.meaning, Meaning::And | Meaning::Comma)
                        || contains(text, |m| *m == Meaning::Label) && joint.meaning == Meaning::And) =>
            {
                text.push(joint);
                text.extend(part);
            }
            _ => chunks.extend(split_at_verbs(part)),
        }
    };
    for atom in atoms {
        match atom.meaning {
            Meaning::And | Meaning::Comma | Meaning::Then | Meaning::Stop => {
                if !pending.is_empty() {
                    flush(&mut pending, joint.take());
                }
                joint = Some(atom);
            }
            Meaning::Colon | Meaning::Dash => {}
            _ => pending.push(atom),
        }
    }
    flush(&mut pending, joint);
    chunks.retain(|chunk| !chunk.is_empty());
    chunks
}

/// "crop to a square rotate left" has no joint, but two verbs.
fn split_at_verbs(part: Vec<Atom>) -> Vec<Vec<Atom>> {
    let mut chunks: Vec<Vec<Atom>> = Vec::new();
    let mut lead: Option<Verb> = None;
    for atom in part {
        let label =
            chunks.last().is_some_and(|chunk| contains(chunk, |m| *m == Meaning::Label || leads_to_text(m)));
        let splits = match (lead, verb_of(&atom)) {
            (Some(lead), Some(new)) => {
                let takes_all =
                    matches!(lead, Verb::Undo | Verb::Original | Verb::Find | Verb::Read | Verb::List);
                !takes_all
                    && !is_generic(lead)
                    && new != lead
                    && !matches!(new, Verb::Original | Verb::CutOff)
                    && !label
            }
            _ => false,
        };
        // "make it sepia with the text “Hi”"
        let asked = chunks.last().is_some_and(|chunk| contains(chunk, is_request));
        let splits = splits || (leads_to_text(&atom.meaning) && asked && !label);
        if lead.is_none_or(is_generic) || splits {
            lead = verb_of(&atom).or(lead);
        }
        match chunks.last_mut() {
            Some(chunk) if !splits => chunk.push(atom),
            _ => chunks.push(vec![atom]),
        }
    }
    chunks
}

/// Whether a word is a request without any verb.
fn is_request(meaning: &Meaning) -> bool {
    use Meaning::{Adjust, Aspect, AutoLevels, Filter, Layout, Ratio, Scale, Shape};
    matches!(
        meaning,
        Filter(_) | Adjust(..) | AutoLevels | Aspect(_) | Ratio(..) | Scale(_) | Layout(_) | Shape(_)
    )
}

impl ParsedMessage {
    fn add_chunk(&mut self, grammar: &Grammar, chunk: Vec<Atom>) {
        let chunk = self.resolve_label_or_text(chunk);
        if let Some(Meaning::SmallTalk(index)) =
            chunk.iter().map(|a| &a.meaning).find(|m| matches!(m, Meaning::SmallTalk(_)))
        {
            self.small_talk.get_or_insert(*index);
        }
        // "write do not enter"
        let text =
            chunk.iter().position(|atom| atom.meaning == Meaning::Label || leads_to_text(&atom.meaning));
        if contains(&chunk[..text.unwrap_or(chunk.len())], |m| *m == Meaning::Not) {
            self.negated = true;
            return;
        }
        let strong = chunk.iter().filter_map(verb_of).any(|verb| !is_generic(verb));
        let weak = !strong && chunk.iter().filter_map(verb_of).next().is_some();
        let drawing =
            contains(&chunk, |m| matches!(m, Meaning::Colour(_) | Meaning::Label | Meaning::Shape(_)));
        let unknown = contains(&chunk, |m| *m == Meaning::Unknown);
        let own = classify(grammar, &chunk);
        let Some(last) = self.clauses.last_mut() else {
            // "the others, too"
            let others = contains(&chunk, |m| *m == Meaning::Others) && !weak && !unknown;
            match own.or(others.then_some(Intent::Repeat)) {
                Some(intent) => self.clauses.push(Clause { intent, groups: vec![chunk] }),
                None => self.record_not_understood(&chunk, weak),
            }
            return;
        };
        let continues = match own {
            Some(own) if !strong => match last.intent {
                Intent::Highlight if own == Intent::Filter => weak && drawing,
                Intent::Highlight => own == Intent::Highlight,
                Intent::Crop | Intent::Rotate | Intent::Resize | Intent::Adjust | Intent::Convert => {
                    own == last.intent && !weak
                }
                _ => false,
            },
            Some(_) => false,
            None if weak => last.intent == Intent::Highlight && drawing && !unknown,
            None => contains(&chunk, completes_request),
        };
        // "rotate the first left and the second right", "rotate left, then right"
        let way = |m: &Meaning| matches!(m, Meaning::Side(_) | Meaning::Spin(_));
        let again = (contains(&chunk, is_selection) && last.has(is_selection))
            || (last.intent == Intent::Rotate && contains(&chunk, way) && last.has(way));
        match own {
            _ if continues && again => {
                let clause = with_verb_of(last, chunk);
                self.clauses.push(clause);
            }
            _ if continues => last.groups.push(chunk),
            Some(intent) => self.clauses.push(Clause { intent, groups: vec![chunk] }),
            None => self.record_not_understood(&chunk, weak),
        }
    }

    /// "highlight the left and write door": "door" is the label of the highlight. Text with its own position, or
    /// with nothing to label ("call it “Summer”"), is text on the picture.
    fn resolve_label_or_text(&self, chunk: Vec<Atom>) -> Vec<Atom> {
        let (write, label) = (Meaning::Verb(Verb::Write), Meaning::Label);
        let highlighted = self.clauses.last().is_some_and(|last| last.intent == Intent::Highlight);
        if highlighted && contains(&chunk, |m| *m == write) {
            let labelled = replace_meaning(&chunk, &write, &label);
            return if contains(&take_label(&self.source, &labelled).1, is_position) {
                chunk
            } else {
                labelled
            };
        }
        let drawn = |m: &Meaning| is_position(m) || matches!(m, Meaning::Shape(_) | Meaning::Verb(_));
        let quoted = contains(&chunk, |m| matches!(m, Meaning::Quoted(_)));
        if !highlighted && quoted && contains(&chunk, |m| *m == label) && !contains(&chunk, drawn) {
            return replace_meaning(&chunk, &label, &write);
        }
        chunk
    }

    fn record_not_understood(&mut self, chunk: &[Atom], weak: bool) {
        let talk = contains(chunk, |m| matches!(m, Meaning::SmallTalk(_)));
        // "1. crop to a square": list numbers are no request.
        let numbering = |m: &Meaning| matches!(m, Meaning::Number(_));
        let substance =
            weak || contains(chunk, |m| *m == Meaning::Unknown || (completes_request(m) && !numbering(m)));
        if substance && !talk {
            self.not_understood.push(source_text(&self.source, chunk));
        }
    }
}

fn replace_meaning(chunk: &[Atom], old: &Meaning, new: &Meaning) -> Vec<Atom> {
    let change = |atom: &Atom| Atom {
        meaning: if atom.meaning == *old { new.clone() } else { atom.meaning.clone() },
        ..atom.clone()
    };
    chunk.iter().map(change).collect()
}

/// "rotate the first left and the second right": the chunk gets the verb of the clause before it.
fn with_verb_of(last: &Clause, chunk: Vec<Atom>) -> Clause {
    let own_details = contains(&chunk, |m| completes_request(m) && !is_selection(m));
    let mut groups: Vec<Vec<Atom>> = last.groups.clone();
    for group in &mut groups {
        group.retain(|atom| match &atom.meaning {
            Meaning::Verb(_) | Meaning::Shape(_) => true,
            meaning => !own_details && !is_selection(meaning),
        });
    }
    groups.retain(|group| !group.is_empty());
    groups.push(chunk);
    Clause { intent: last.intent, groups }
}
