//! Tokens → atoms. Looks up the longest known phrase at each token, then resolves atoms by their neighbours:
//! "16:9" becomes one ratio, "photo 2" one selection, and "third" is a position after a side but a photo elsewhere.

use super::grammar::Grammar;
use super::lexer::{Token, TokenKind, tokenize};
use super::meaning::{Meaning, MeasureUnit, Noun};

/// The longest phrase of the grammar, in words.
const MAX_PHRASE_WORDS: usize = 8;
/// How far a joint between two selections looks ahead.
const MAX_JOINT_LOOKAHEAD: usize = 8;

/// A meaning and the range of source characters it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Atom {
    pub meaning: Meaning,
    pub start: usize,
    pub end: usize,
}

/// The source text from the first atom to the last, as the person wrote it.
pub fn source_text(source: &[char], atoms: &[Atom]) -> String {
    match (atoms.first(), atoms.last()) {
        (Some(first), Some(last)) => source[first.start..last.end].iter().collect(),
        _ => String::new(),
    }
}

pub fn read_atoms(grammar: &Grammar, source: &[char]) -> Vec<Atom> {
    let atoms = look_up(grammar, tokenize(source));
    join_selections(resolve_by_neighbours(atoms, source))
}

fn look_up(grammar: &Grammar, tokens: Vec<Token>) -> Vec<Atom> {
    let words: Vec<Option<String>> = tokens
        .iter()
        .map(|token| match &token.kind {
            TokenKind::Word(word) => Some(grammar.correct_typo(word.clone())),
            _ => None,
        })
        .collect();
    let mut atoms = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let (meaning, length) = match &tokens[at].kind {
            TokenKind::Word(_) => {
                let following = words[at..].iter().take(MAX_PHRASE_WORDS);
                let following: Vec<&str> = following.map_while(Option::as_deref).collect();
                grammar
                    .longest_phrase(&following)
                    .map_or((Meaning::Unknown, 1), |(meaning, n)| (meaning.clone(), n))
            }
            TokenKind::Number(value) => (Meaning::Number(*value), 1),
            TokenKind::Nth(n) => (Meaning::Ordinal(*n), 1),
            TokenKind::Quoted(text) => (Meaning::Quoted(text.clone()), 1),
            TokenKind::Hex(colour) => (Meaning::Colour(colour.clone()), 1),
            TokenKind::Comma => (Meaning::Comma, 1),
            TokenKind::Stop => (Meaning::Stop, 1),
            TokenKind::Colon => (Meaning::Colon, 1),
            TokenKind::Dash => (Meaning::Dash, 1),
        };
        atoms.push(Atom { meaning, start: tokens[at].start, end: tokens[at + length - 1].end });
        at += length;
    }
    atoms
}

/// A whole number from 1 to 100 that counts photos and is no measure.
fn count_at(atoms: &[Atom], at: usize) -> Option<i32> {
    let Some(Meaning::Number(value)) = atoms.get(at).map(|atom| &atom.meaning) else {
        return None;
    };
    let measures = matches!(
        atoms.get(at + 1).map(|atom| &atom.meaning),
        Some(Meaning::Unit(_) | Meaning::Dimension(_) | Meaning::Colon)
    );
    (!measures && value.fract() == 0.0 && (1.0..=100.0).contains(value)).then_some(*value as i32)
}

fn resolve_by_neighbours(atoms: Vec<Atom>, source: &[char]) -> Vec<Atom> {
    let mut out: Vec<Atom> = Vec::with_capacity(atoms.len());
    let mut at = 0;
    while at < atoms.len() {
        let atom = &atoms[at];
        let verb_follows = matches!(atoms.get(at + 1).map(|next| &next.meaning), Some(Meaning::Verb(_)));
        let after_article = matches!(out.last().map(|atom| &atom.meaning), Some(Meaning::Filler));
        let mut push = |meaning: Meaning, last: usize| {
            out.push(Atom { meaning, start: atom.start, end: atoms[last].end });
            last + 1
        };
        at = match &atom.meaning {
            Meaning::Number(value) => match ratio_at(&atoms, at) {
                Some((other, last)) => push(Meaning::Ratio(*value, other), last),
                // "the last one": a filler, not a number.
                None if *value == 1.0 && source[atom.start].is_alphabetic() => push(Meaning::Filler, at),
                None => push(atom.meaning.clone(), at),
            },
            Meaning::Noun(noun) if count_at(&atoms, at + 1).is_some() => {
                push(atom.meaning.clone(), at);
                push_counted(&atoms, at + 1, *noun, &mut out)
            }
            // "first crop it, second rotate it": the order of the steps.
            Meaning::Ordinal(_) if verb_follows && !after_article => push(Meaning::Filler, at),
            Meaning::Ordinal(1) if count_at(&atoms, at + 1).is_some_and(|n| n > 1) => {
                push(Meaning::FirstFew(count_at(&atoms, at + 1).unwrap_or(1)), at + 1)
            }
            Meaning::Ordinal(n) => {
                let n = *n;
                let after_side = n >= 3 && matches!(last_meaning(&out), Some(Meaning::Side(_)));
                let meaning = if after_side {
                    let name = source[atom.start..atom.end].iter().collect();
                    Meaning::Fraction(1.0 / f64::from(n), name)
                } else {
                    Meaning::Nth(n)
                };
                out.push(Atom { meaning, ..atom.clone() });
                at + 1
            }
            Meaning::Last => match count_at(&atoms, at + 1) {
                Some(n) if n > 1 => push(Meaning::LastFew(n), at + 1),
                _ => push(Meaning::Nth(-1), at),
            },
            Meaning::Comma if between_numbers(&atoms, at) => at + 1,
            _ => push(atom.meaning.clone(), at),
        };
    }
    out
}

fn last_meaning(out: &[Atom]) -> Option<&Meaning> {
    out.iter().rev().map(|atom| &atom.meaning).find(|meaning| **meaning != Meaning::Filler)
}

/// "16:9", "800 x 600", "800 px by 600 px": the second number and the index of the last atom.
fn ratio_at(atoms: &[Atom], at: usize) -> Option<(f64, usize)> {
    let meaning = |at: usize| atoms.get(at).map(|atom| &atom.meaning);
    let pixels = |at: usize| meaning(at) == Some(&Meaning::Unit(MeasureUnit::Pixels));
    let joint = if pixels(at + 1) { at + 2 } else { at + 1 };
    let joins =
        matches!(meaning(joint), Some(Meaning::Colon | Meaning::By | Meaning::Unit(MeasureUnit::Times)));
    match meaning(joint + 1) {
        Some(Meaning::Number(other)) if joins => {
            Some((*other, if pixels(joint + 2) { joint + 2 } else { joint + 1 }))
        }
        _ => None,
    }
}

fn between_numbers(atoms: &[Atom], at: usize) -> bool {
    let before = at.checked_sub(1).map(|i| &atoms[i].meaning);
    matches!(before, Some(Meaning::Number(_) | Meaning::Unit(MeasureUnit::Percent)))
        && matches!(atoms.get(at + 1).map(|atom| &atom.meaning), Some(Meaning::Number(_)))
}

/// "photos 1, 2 and 4" and "photos 2 to 4": pushes one `Nth` per photo and returns the index after the list.
fn push_counted(atoms: &[Atom], mut at: usize, noun: Noun, out: &mut Vec<Atom>) -> usize {
    let mut previous: Option<i32> = None;
    while let Some(n) = count_at(atoms, at) {
        let from = previous.filter(|previous| *previous < n).map_or(n, |previous| previous + 1);
        out.extend((from..=n).map(|n| Atom { meaning: Meaning::Nth(n), ..atoms[at].clone() }));
        at += 1;
        let mut next = at;
        let mut ranges = false;
        while let Some(atom) = atoms.get(next) {
            match atom.meaning {
                Meaning::Comma | Meaning::And => {}
                Meaning::Dash => ranges = true,
                Meaning::To if noun != Noun::Photo => ranges = true,
                _ => break,
            }
            next += 1;
        }
        if next == at || count_at(atoms, next).is_none() {
            break;
        }
        previous = ranges.then_some(n);
        at = next;
    }
    at
}

/// "the first and the third" is one selection, not two requests: drops the joint between them.
fn join_selections(atoms: Vec<Atom>) -> Vec<Atom> {
    let joint = |meaning: &Meaning| matches!(meaning, Meaning::Comma | Meaning::And);
    let light = |meaning: &Meaning| matches!(meaning, Meaning::Filler | Meaning::Noun(_));
    let mut out: Vec<Atom> = Vec::with_capacity(atoms.len());
    for (at, atom) in atoms.iter().enumerate() {
        if joint(&atom.meaning) {
            let before = out.iter().rev().map(|atom| &atom.meaning).find(|meaning| !light(meaning));
            let next = atoms[at + 1..]
                .iter()
                .take(MAX_JOINT_LOOKAHEAD)
                .map(|atom| &atom.meaning)
                .find(|meaning| !light(meaning) && !joint(meaning));
            if matches!((before, next), (Some(Meaning::Nth(_)), Some(Meaning::Nth(_)))) {
                continue;
            }
        }
        out.push(atom.clone());
    }
    out
}
