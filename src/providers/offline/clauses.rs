//! A sentence into clauses, one per thing to do: "and" and commas sometimes join places, labels or photos
//! and sometimes requests, and here it is decided which.

use super::atoms::{Atom, atoms, written};
use super::grammar::{Grammar, Meaning, Unit, Verb};

/// What a clause asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    Highlight,
    Crop,
    Away,
    Rotate,
    Flip,
    Resize,
    Filter,
    Undo,
    Original,
    Send,
    List,
    Info,
    Read,
    Find,
}

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

fn has(atoms: &[Atom], test: impl Fn(&Meaning) -> bool) -> bool {
    atoms.iter().any(|atom| test(&atom.meaning))
}

fn verb(atom: &Atom) -> Option<Verb> {
    match atom.meaning {
        Meaning::Verb(verb) => Some(verb),
        _ => None,
    }
}

/// Verbs that say nothing without what follows them.
fn empty(verb: Verb) -> bool {
    matches!(verb, Verb::Make | Verb::Draw | Verb::Turn)
}

fn is_pick(meaning: &Meaning) -> bool {
    use Meaning::{All, FirstFew, LastFew, Nth, Others};
    matches!(meaning, Nth(_) | FirstFew(_) | LastFew(_) | All | Others)
}

fn is_place(meaning: &Meaning) -> bool {
    matches!(meaning, Meaning::Side(_) | Meaning::Regions(..))
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
            // "call it salt and pepper"
            (Some(label), Some(and))
                if and.meaning == Meaning::And && only_words && has(label, |m| *m == Meaning::Label) =>
            {
                label.push(and);
                label.extend(part);
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
        let label = chunks.last().is_some_and(|chunk| has(chunk, |m| *m == Meaning::Label));
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

fn head(grammar: &Grammar, chunk: &[Atom]) -> Option<Head> {
    use Meaning::{Angle, Aspect, Colour, Filter, Label, Longest, Number, Quoted, Ratio, Scale, Spin};
    let verbs = || chunk.iter().filter_map(verb);
    let said = |wanted: Verb| verbs().any(|verb| verb == wanted);
    let place = has(chunk, is_place);
    let specific = verbs().find(|verb| !empty(*verb) && *verb != Verb::Original);
    let unknown = has(chunk, |m| *m == Meaning::Unknown);
    let filter = has(chunk, |m| matches!(m, Filter(_)));
    let aspect = has(chunk, |m| matches!(m, Aspect(_) | Ratio(..)));
    match specific {
        Some(Verb::Undo | Verb::Send) if said(Verb::Original) => return Some(Head::Original),
        // "remove the man on the left" is more than we can do.
        Some(Verb::Away) if !place && aspect => return Some(Head::Crop),
        Some(Verb::Away) if !place || unknown => return None,
        // "cut the top off"
        Some(Verb::Crop) if said(Verb::Away) && place => return Some(Head::Away),
        // "it would look better in sepia"
        Some(Verb::Info) if filter => return Some(Head::Filter),
        Some(verb) => return head_of(verb),
        None if said(Verb::Original) => return Some(Head::Original),
        None => {}
    }
    let shape = has(chunk, |m| matches!(m, Meaning::Shape(_)));
    let colour = has(chunk, |m| matches!(m, Colour(_)));
    let drawn = colour || has(chunk, |m| matches!(m, Label | Aspect(_)));
    if shape && !(unknown && !place && verbs().next().is_none()) || said(Verb::Draw) && place && drawn {
        return Some(Head::Highlight);
    }
    // Without any verb, more words than we know are a caption, not a request.
    if unknown && verbs().next().is_none() && !has(chunk, |m| *m == Label) {
        return None;
    }
    let measured = |unit: Unit| {
        chunk
            .windows(2)
            .any(|pair| matches!(pair[0].meaning, Number(_)) && pair[1].meaning == Meaning::Unit(unit))
    };
    let big_ratio = has(chunk, |m| matches!(m, Ratio(a, b) if a.min(*b) >= 50.0));
    let scaled = has(chunk, |m| matches!(m, Scale(_) | Longest(_)))
        || (measured(Unit::Percent) && !place)
        || measured(Unit::Pixels)
        || (measured(Unit::Times) && said(Verb::Make))
        || (has(chunk, |m| matches!(m, Meaning::Dimension(_))) && has(chunk, |m| matches!(m, Number(_))))
        || big_ratio;
    let turned = has(chunk, |m| matches!(m, Spin(_) | Angle(_))) || measured(Unit::Degrees);
    let gray = |m: &Meaning| matches!(m, Colour(name) if grammar.colours_as_filters.contains_key(name));
    if filter {
        Some(Head::Filter)
    } else if turned || (said(Verb::Turn) && (place || !(unknown || scaled || aspect || colour))) {
        Some(Head::Rotate)
    } else if scaled {
        Some(Head::Resize)
    } else if aspect {
        Some(Head::Crop)
    } else if (said(Verb::Make) || said(Verb::Turn)) && !place && has(chunk, gray) {
        Some(Head::Filter)
    } else if (colour && place)
        || (has(chunk, |m| *m == Label) && (place || has(chunk, |m| matches!(m, Quoted(_)))))
    {
        Some(Head::Highlight)
    } else {
        None
    }
}

fn head_of(verb: Verb) -> Option<Head> {
    match verb {
        Verb::Highlight => Some(Head::Highlight),
        Verb::Crop => Some(Head::Crop),
        Verb::Away => Some(Head::Away),
        Verb::Rotate => Some(Head::Rotate),
        Verb::Flip => Some(Head::Flip),
        Verb::Resize | Verb::Shrink | Verb::Grow => Some(Head::Resize),
        Verb::Undo => Some(Head::Undo),
        Verb::Original => Some(Head::Original),
        Verb::Send => Some(Head::Send),
        Verb::List => Some(Head::List),
        Verb::Info => Some(Head::Info),
        Verb::Read => Some(Head::Read),
        Verb::Find => Some(Head::Find),
        Verb::Draw | Verb::Turn | Verb::Make => None,
    }
}

impl Sentence {
    fn add(&mut self, grammar: &Grammar, source: &[char], chunk: Vec<Atom>) {
        if let Some(Meaning::Talk(index)) =
            chunk.iter().map(|a| &a.meaning).find(|m| matches!(m, Meaning::Talk(_)))
        {
            self.talk.get_or_insert(*index);
        }
        if has(&chunk, |m| *m == Meaning::Not) {
            self.refused = true;
            return;
        }
        let strong = chunk.iter().filter_map(verb).any(|verb| !empty(verb));
        let weak = !strong && chunk.iter().filter_map(verb).next().is_some();
        let drawing = has(&chunk, |m| matches!(m, Meaning::Colour(_) | Meaning::Label | Meaning::Shape(_)));
        let unknown = has(&chunk, |m| *m == Meaning::Unknown);
        let own = head(grammar, &chunk);
        let Some(last) = self.clauses.last_mut() else {
            match own {
                Some(head) => self.clauses.push(Clause { head, groups: vec![chunk] }),
                None => self.not_read(source, &chunk, weak),
            }
            return;
        };
        let continues = match own {
            Some(own) if !strong => match last.head {
                Head::Highlight if own == Head::Filter => weak && drawing,
                Head::Highlight => own == Head::Highlight,
                Head::Crop | Head::Rotate | Head::Resize => own == last.head && !weak,
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
