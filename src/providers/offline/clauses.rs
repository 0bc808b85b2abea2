//! A sentence into clauses, one per thing to do: "and" and commas sometimes join places, labels or photos
//! and sometimes requests, and here it is decided which.

use super::atoms::{Atom, atoms, written};
use super::grammar::Grammar;
use super::heads::{Head, empty, has, head, is_pick, is_place, leads_to_text, verb};
use super::marks::take_label;
use super::meaning::{Meaning, Verb};

/// One thing to do. The groups are its parts as they were joined with "and" or commas: a colour belongs to
/// the places of its own group first.
#[derive(Debug, Clone, PartialEq)]
pub struct Clause {
    pub head: Head,
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

#[derive(Debug, Default)]
pub struct Sentence {
    pub clauses: Vec<Clause>,
    /// What made no sense, in the person's words.
    pub unread: Vec<String>,
    pub talk: Option<usize>,
    /// They said what not to do.
    pub refused: bool,
}

/// What can complete a request that was made before it.
fn completes(meaning: &Meaning) -> bool {
    use Meaning::{
        Axis, Colour, Dimension, Fraction, Label, Number, Quoted, Ratio, Repeat, Shape, Spin, Them,
    };
    is_pick(meaning)
        || is_place(meaning)
        || matches!(meaning, Colour(_) | Label | Quoted(_) | Spin(_) | Axis(_) | Number(_) | Ratio(..))
        || matches!(meaning, Dimension(_) | Shape(_) | Fraction(..) | Them | Repeat(_) | Meaning::Edge)
        || matches!(meaning, Meaning::Numbered | Meaning::Much(_) | Meaning::Format(_) | Meaning::Quality)
        || matches!(meaning, Meaning::Adjust(..) | Meaning::AutoLevels)
}

pub fn sentence(grammar: &Grammar, source: &[char]) -> Sentence {
    let mut sentence = Sentence::default();
    for chunk in chunks(atoms(grammar, source)) {
        sentence.add(grammar, source, chunk);
    }
    sentence
}

fn chunks(atoms: Vec<Atom>) -> Vec<Vec<Atom>> {
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
                    && (has(text, leads_to_text)
                        && matches!(joint.meaning, Meaning::And | Meaning::Comma)
                        || has(text, |m| *m == Meaning::Label) && joint.meaning == Meaning::And) =>
            {
                text.push(joint);
                text.extend(part);
            }
            _ => chunks.extend(at_verbs(part)),
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
fn at_verbs(part: Vec<Atom>) -> Vec<Vec<Atom>> {
    let mut chunks: Vec<Vec<Atom>> = Vec::new();
    let mut lead: Option<Verb> = None;
    for atom in part {
        let label =
            chunks.last().is_some_and(|chunk| has(chunk, |m| *m == Meaning::Label || leads_to_text(m)));
        let splits = match (lead, verb(&atom)) {
            (Some(lead), Some(new)) => {
                let takes_all =
                    matches!(lead, Verb::Undo | Verb::Original | Verb::Find | Verb::Read | Verb::List);
                !takes_all
                    && !empty(lead)
                    && new != lead
                    && !matches!(new, Verb::Original | Verb::Away)
                    && !label
            }
            _ => false,
        };
        // "make it sepia with the text “Hi”"
        let asked = chunks.last().is_some_and(|chunk| has(chunk, asks));
        let splits = splits || (leads_to_text(&atom.meaning) && asked && !label);
        if lead.is_none_or(empty) || splits {
            lead = verb(&atom).or(lead);
        }
        match chunks.last_mut() {
            Some(chunk) if !splits => chunk.push(atom),
            _ => chunks.push(vec![atom]),
        }
    }
    chunks
}

/// What is a request without any verb.
fn asks(meaning: &Meaning) -> bool {
    use Meaning::{Adjust, Aspect, AutoLevels, Filter, Layout, Ratio, Scale, Shape};
    matches!(
        meaning,
        Filter(_) | Adjust(..) | AutoLevels | Aspect(_) | Ratio(..) | Scale(_) | Layout(_) | Shape(_)
    )
}

impl Sentence {
    fn add(&mut self, grammar: &Grammar, source: &[char], chunk: Vec<Atom>) {
        let chunk = self.label_or_text(source, chunk);
        if let Some(Meaning::Talk(index)) =
            chunk.iter().map(|a| &a.meaning).find(|m| matches!(m, Meaning::Talk(_)))
        {
            self.talk.get_or_insert(*index);
        }
        // "write do not enter"
        let text =
            chunk.iter().position(|atom| atom.meaning == Meaning::Label || leads_to_text(&atom.meaning));
        if has(&chunk[..text.unwrap_or(chunk.len())], |m| *m == Meaning::Not) {
            self.refused = true;
            return;
        }
        let strong = chunk.iter().filter_map(verb).any(|verb| !empty(verb));
        let weak = !strong && chunk.iter().filter_map(verb).next().is_some();
        let drawing = has(&chunk, |m| matches!(m, Meaning::Colour(_) | Meaning::Label | Meaning::Shape(_)));
        let unknown = has(&chunk, |m| *m == Meaning::Unknown);
        let own = head(grammar, &chunk);
        let Some(last) = self.clauses.last_mut() else {
            // "the others, too"
            let others = has(&chunk, |m| *m == Meaning::Others) && !weak && !unknown;
            match own.or(others.then_some(Head::Repeat)) {
                Some(head) => self.clauses.push(Clause { head, groups: vec![chunk] }),
                None => self.not_read(source, &chunk, weak),
            }
            return;
        };
        let continues = match own {
            Some(own) if !strong => match last.head {
                Head::Highlight if own == Head::Filter => weak && drawing,
                Head::Highlight => own == Head::Highlight,
                Head::Crop | Head::Rotate | Head::Resize | Head::Adjust | Head::Convert => {
                    own == last.head && !weak
                }
                _ => false,
            },
            Some(_) => false,
            None if weak => last.head == Head::Highlight && drawing && !unknown,
            None => has(&chunk, completes),
        };
        // "rotate the first left and the second right", "rotate left, then right"
        let way = |m: &Meaning| matches!(m, Meaning::Side(_) | Meaning::Spin(_));
        let again = (has(&chunk, is_pick) && last.has(is_pick))
            || (last.head == Head::Rotate && has(&chunk, way) && last.has(way));
        match own {
            _ if continues && again => {
                let clause = elliptic(last, chunk);
                self.clauses.push(clause);
            }
            _ if continues => last.groups.push(chunk),
            Some(head) => self.clauses.push(Clause { head, groups: vec![chunk] }),
            None => self.not_read(source, &chunk, weak),
        }
    }

    /// "highlight the left and write door": what is written there is its label. Text with a place of its own,
    /// or with nothing to label ("call it “Summer”"), is text.
    fn label_or_text(&self, source: &[char], chunk: Vec<Atom>) -> Vec<Atom> {
        let (write, label) = (Meaning::Verb(Verb::Write), Meaning::Label);
        let marked = self.clauses.last().is_some_and(|last| last.head == Head::Highlight);
        if marked && has(&chunk, |m| *m == write) {
            let labelled = instead(&chunk, &write, &label);
            return if has(&take_label(source, &labelled).1, is_place) { chunk } else { labelled };
        }
        let drawn = |m: &Meaning| is_place(m) || matches!(m, Meaning::Shape(_) | Meaning::Verb(_));
        let quoted = has(&chunk, |m| matches!(m, Meaning::Quoted(_)));
        if !marked && quoted && has(&chunk, |m| *m == label) && !has(&chunk, drawn) {
            return instead(&chunk, &label, &write);
        }
        chunk
    }

    fn not_read(&mut self, source: &[char], chunk: &[Atom], weak: bool) {
        let talk = has(chunk, |m| matches!(m, Meaning::Talk(_)));
        // "1. crop to a square"
        let numbering = |m: &Meaning| matches!(m, Meaning::Number(_));
        let substance = weak || has(chunk, |m| *m == Meaning::Unknown || (completes(m) && !numbering(m)));
        if substance && !talk {
            self.unread.push(written(source, chunk));
        }
    }
}

fn instead(chunk: &[Atom], old: &Meaning, new: &Meaning) -> Vec<Atom> {
    let change = |atom: &Atom| Atom {
        meaning: if atom.meaning == *old { new.clone() } else { atom.meaning.clone() },
        ..atom.clone()
    };
    chunk.iter().map(change).collect()
}

/// "rotate the first left and the second right": the verb again, for another photo.
fn elliptic(last: &Clause, chunk: Vec<Atom>) -> Clause {
    let own_details = has(&chunk, |m| completes(m) && !is_pick(m));
    let mut groups: Vec<Vec<Atom>> = last.groups.clone();
    for group in &mut groups {
        group.retain(|atom| match &atom.meaning {
            Meaning::Verb(_) | Meaning::Shape(_) => true,
            meaning => !own_details && !is_pick(meaning),
        });
    }
    groups.retain(|group| !group.is_empty());
    groups.push(chunk);
    Clause { head: last.head, groups }
}
