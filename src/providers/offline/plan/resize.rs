//! Resize: pixels, percentages, factors and words like "smaller" → a new size.

use super::planner::{ClausePlanner, argument, json_number};
use crate::providers::offline::parse::atoms::Atom;
use crate::providers::offline::parse::clauses::Clause;
use crate::providers::offline::parse::meaning::{Dimension, Meaning, MeasureUnit, Verb};
use crate::providers::offline::parse::measures::measures;
use crate::providers::offline::reply::{actions, questions};
use serde_json::{Map, Value};

/// A bare number up to this is a factor, not a size in pixels.
const MAX_FACTOR: f64 = 10.0;

/// The arguments of `resize_image`, and the phrase for the reply.
pub type NewSize = (Map<String, Value>, String);

impl ClausePlanner<'_> {
    pub fn resize(&mut self) {
        if !self.resize_if_sized() {
            self.ask(questions::RESIZE_TO);
        }
    }

    /// Whether the clause names a size.
    pub fn resize_if_sized(&mut self) -> bool {
        let size = new_size(self.clause);
        let sized = size.is_some();
        if let Some((arguments, did)) = size {
            self.edit("resize_image", arguments, did);
        }
        sized
    }
}

/// Exact width and height in pixels.
pub fn exact_size(width: f64, height: f64) -> NewSize {
    let arguments = [("width", width), ("height", height)]
        .map(|(key, value)| (key.to_owned(), json_number(value.round())));
    let did = actions::resized(&format!("{} × {}", width.round(), height.round()));
    (Map::from_iter(arguments), did)
}

fn size_argument(key: &str, value: f64, size: &str) -> Option<NewSize> {
    let value = (value * 10.0).round() / 10.0;
    (value > 0.0).then(|| (argument(key, json_number(value)), actions::resized(size)))
}

fn percent_size(percent: f64) -> Option<NewSize> {
    size_argument("percent", percent, &format!("{percent:.0}%"))
}

/// The first of these the clause has: a ratio, a percentage, a factor, pixels, a word for a size.
fn new_size(clause: &Clause) -> Option<NewSize> {
    let atoms: Vec<Atom> = clause.atoms().cloned().collect();
    let has_verb = |verb: Verb| clause.has(|m| *m == Meaning::Verb(verb));
    let (shrink, grow) = (has_verb(Verb::Shrink), has_verb(Verb::Grow));
    let find = |read: fn(&Meaning) -> Option<f64>| atoms.iter().find_map(|atom| read(&atom.meaning));

    if let Some((width, height)) = atoms.iter().find_map(|atom| match atom.meaning {
        Meaning::Ratio(width, height) => Some((width, height)),
        _ => None,
    }) {
        return (width >= 1.0 && height >= 1.0).then(|| exact_size(width, height));
    }
    let scale = find(|m| if let Meaning::Scale(percent) = m { Some(*percent) } else { None });
    let measures = measures(&atoms);
    let with_unit = |unit: MeasureUnit| measures.iter().find(|measure| measure.is(unit));
    if let Some(percent) = with_unit(MeasureUnit::Percent).map(|measure| measure.value) {
        let to = clause.has(|m| *m == Meaning::To);
        let smaller = scale.is_some_and(|scale| scale < 100.0) || (shrink && !to);
        let bigger = scale.is_some_and(|scale| scale > 100.0) || (grow && !to);
        return percent_size(match () {
            () if smaller => 100.0 - percent,
            () if bigger => 100.0 + percent,
            () => percent,
        });
    }
    if let Some(factor) = with_unit(MeasureUnit::Times).map(|measure| measure.value) {
        let smaller = shrink || scale.is_some_and(|scale| scale < 100.0);
        return percent_size(if smaller { 100.0 / factor.max(0.01) } else { 100.0 * factor });
    }
    if !measures.is_empty() {
        return pixel_size(&atoms);
    }
    if let Some(longest) = find(|m| if let Meaning::Longest(pixels) = m { Some(*pixels) } else { None }) {
        return size_argument("longest", longest, &format!("{longest} px"));
    }
    if let Some(scale) = scale {
        return percent_size(scale);
    }
    if let Some(fraction) = find(|m| if let Meaning::Fraction(of, _) = m { Some(*of) } else { None }) {
        // "shrink by a third"
        let off = shrink && clause.has(|m| *m == Meaning::By);
        return percent_size((if off { 1.0 - fraction } else { fraction } * 100.0).round());
    }
    match () {
        () if shrink => percent_size(50.0),
        () if grow => percent_size(200.0),
        () => None,
    }
}

/// "800 px wide", "height 600", or a bare number for the longest side.
fn pixel_size(atoms: &[Atom]) -> Option<NewSize> {
    let significant =
        |m: &&Meaning| !matches!(m, Meaning::Unit(_) | Meaning::Filler | Meaning::To | Meaning::Preposition);
    let dimension = |m: Option<&Meaning>| match m {
        Some(Meaning::Dimension(dimension)) => Some(*dimension),
        _ => None,
    };
    let mut arguments = Map::new();
    let mut sizes = Vec::new();
    for (at, atom) in atoms.iter().enumerate() {
        let Meaning::Number(value) = atom.meaning else {
            continue;
        };
        let has_unit = atoms.get(at + 1).is_some_and(|atom| matches!(atom.meaning, Meaning::Unit(_)));
        let after = dimension(atoms[at + 1..].iter().map(|atom| &atom.meaning).find(significant));
        let before = dimension(atoms[..at].iter().rev().map(|atom| &atom.meaning).find(significant));
        // "scale by 2"
        if value <= MAX_FACTOR && after.or(before).is_none() && !has_unit {
            return percent_size(value * 100.0);
        }
        let (key, word) = match after.or(before) {
            Some(Dimension::Width) => ("width", " wide"),
            Some(Dimension::Height) => ("height", " high"),
            None => ("longest", ""),
        };
        let value = value.round();
        if value >= 1.0 && !arguments.contains_key(key) {
            arguments.insert(key.to_owned(), json_number(value));
            sizes.push(format!("{value} px{word}"));
        }
    }
    if arguments.len() > 1 {
        arguments.remove("longest");
    }
    (!arguments.is_empty()).then(|| (arguments, actions::resized(&sizes.join(" and "))))
}
