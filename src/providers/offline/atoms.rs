//! Tokens into meanings, one by one and then by their neighbours: "16:9" is one ratio, "photo 2" one pick,
//! and "third" a place after a side but a photo elsewhere.

use super::grammar::Grammar;
use super::lex::{Lexed, Token, lex};
use super::meaning::{Meaning, Noun, Unit};

/// A meaning and the characters of the source that carry it.
#[derive(Debug, Clone, PartialEq)]
pub struct Atom {
    pub meaning: Meaning,
    pub start: usize,
    pub end: usize,
}

/// The words the atoms were made of, as the person wrote them.
pub fn written(source: &[char], atoms: &[Atom]) -> String {
    match (atoms.first(), atoms.last()) {
        (Some(first), Some(last)) => source[first.start..last.end].iter().collect(),
        _ => String::new(),
    }
}

pub fn atoms(grammar: &Grammar, source: &[char]) -> Vec<Atom> {
    join_picks(resolve(look_up(grammar, lex(source)), source))
}

fn look_up(grammar: &Grammar, tokens: Vec<Lexed>) -> Vec<Atom> {
    let words: Vec<Option<String>> = tokens
        .iter()
        .map(|lexed| match &lexed.token {
            Token::Word(word) => Some(grammar.corrected(word.clone())),
            _ => None,
        })
        .collect();
    let mut atoms = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let (meaning, length) = match &tokens[at].token {
            Token::Word(_) => {
                // No phrase is longer than this.
                let run: Vec<&str> = words[at..].iter().take(8).map_while(Option::as_deref).collect();
                grammar.longest(&run).map_or((Meaning::Unknown, 1), |(meaning, n)| (meaning.clone(), n))
            }
            Token::Number(value) => (Meaning::Number(*value), 1),
            Token::Nth(n) => (Meaning::Ordinal(*n), 1),
            Token::Quoted(text) => (Meaning::Quoted(text.clone()), 1),
            Token::Hex(colour) => (Meaning::Colour(colour.clone()), 1),
            Token::Comma => (Meaning::Comma, 1),
            Token::Stop => (Meaning::Stop, 1),
            Token::Colon => (Meaning::Colon, 1),
            Token::Dash => (Meaning::Dash, 1),
        };
        atoms.push(Atom { meaning, start: tokens[at].start, end: tokens[at + length - 1].end });
        at += length;
    }
    atoms
}

/// A whole number that counts things, not one that measures them.
fn count(atoms: &[Atom], at: usize) -> Option<i32> {
    let Some(Meaning::Number(value)) = atoms.get(at).map(|atom| &atom.meaning) else {
        return None;
    };
    let measures = matches!(
        atoms.get(at + 1).map(|atom| &atom.meaning),
        Some(Meaning::Unit(_) | Meaning::Dimension(_) | Meaning::Colon)
    );
    (!measures && value.fract() == 0.0 && (1.0..=100.0).contains(value)).then_some(*value as i32)
}

fn resolve(atoms: Vec<Atom>, source: &[char]) -> Vec<Atom> {
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
            Meaning::Number(value) => match ratio(&atoms, at) {
                Some((other, last)) => push(Meaning::Ratio(*value, other), last),
                // "the last one": a word, not a number.
                None if *value == 1.0 && source[atom.start].is_alphabetic() => push(Meaning::Filler, at),
                None => push(atom.meaning.clone(), at),
            },
            Meaning::Noun(noun) if count(&atoms, at + 1).is_some() => {
                push(atom.meaning.clone(), at);
                counted(&atoms, at + 1, *noun, &mut out)
            }
            // "first crop it, second rotate it"
            Meaning::Ordinal(_) if verb_follows && !after_article => push(Meaning::Filler, at),
            Meaning::Ordinal(1) if count(&atoms, at + 1).is_some_and(|n| n > 1) => {
                push(Meaning::FirstFew(count(&atoms, at + 1).unwrap_or(1)), at + 1)
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
            Meaning::Last => match count(&atoms, at + 1) {
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

/// "16:9", "800 x 600", "800 px by 600 px": the second number and where it ends.
fn ratio(atoms: &[Atom], at: usize) -> Option<(f64, usize)> {
    let meaning = |at: usize| atoms.get(at).map(|atom| &atom.meaning);
    let pixels = |at: usize| meaning(at) == Some(&Meaning::Unit(Unit::Pixels));
    let joint = if pixels(at + 1) { at + 2 } else { at + 1 };
    let joins = matches!(meaning(joint), Some(Meaning::Colon | Meaning::By | Meaning::Unit(Unit::Times)));
    match meaning(joint + 1) {
        Some(Meaning::Number(other)) if joins => {
            Some((*other, if pixels(joint + 2) { joint + 2 } else { joint + 1 }))
        }
        _ => None,
    }
}

fn between_numbers(atoms: &[Atom], at: usize) -> bool {
    let before = at.checked_sub(1).map(|i| &atoms[i].meaning);
    matches!(before, Some(Meaning::Number(_) | Meaning::Unit(Unit::Percent)))
        && matches!(atoms.get(at + 1).map(|atom| &atom.meaning), Some(Meaning::Number(_)))
}

/// "photos 1, 2 and 4" and "photos 2 to 4": pushes a pick for each and says where the run ends.
fn counted(atoms: &[Atom], mut at: usize, noun: Noun, out: &mut Vec<Atom>) -> usize {
    let mut previous: Option<i32> = None;
    while let Some(n) = count(atoms, at) {
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
        if next == at || count(atoms, next).is_none() {
            break;
        }
        previous = ranges.then_some(n);
        at = next;
    }
    at
}

/// "the first and the third" is one choice, not two requests.
fn join_picks(atoms: Vec<Atom>) -> Vec<Atom> {
    let joint = |meaning: &Meaning| matches!(meaning, Meaning::Comma | Meaning::And);
    let light = |meaning: &Meaning| matches!(meaning, Meaning::Filler | Meaning::Noun(_));
    let mut out: Vec<Atom> = Vec::with_capacity(atoms.len());
    for (at, atom) in atoms.iter().enumerate() {
        if joint(&atom.meaning) {
            let before = out.iter().rev().map(|atom| &atom.meaning).find(|meaning| !light(meaning));
            let next = atoms[at + 1..]
                .iter()
                .take(8)
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
