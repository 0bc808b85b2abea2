//! Sizes and angles: what a clause of numbers, units and comparisons comes to.

use super::atoms::Atom;
use super::clauses::Clause;
use super::meaning::{Axis, Dimension, Meaning, Side, Spin, Unit, Verb};
use super::places::numbers;
use serde_json::{Map, Value, json};

/// A new size: the arguments of the tool, and how to say it.
pub type Size = (Map<String, Value>, String);

pub fn number(value: f64) -> Value {
    if value.fract() == 0.0 { json!(value as i64) } else { json!(value) }
}

fn sized(key: &str, value: f64, said: String) -> Option<Size> {
    let value = (value * 10.0).round() / 10.0;
    (value > 0.0).then(|| (Map::from_iter([(key.to_owned(), number(value))]), said))
}

/// Exact width and height in pixels.
pub fn exact(width: f64, height: f64) -> Size {
    let arguments =
        [("width", width), ("height", height)].map(|(key, value)| (key.to_owned(), number(value.round())));
    (Map::from_iter(arguments), format!("resized to {} × {}", width.round(), height.round()))
}

pub fn size(clause: &Clause) -> Option<Size> {
    let atoms: Vec<Atom> = clause.atoms().cloned().collect();
    let said = |verb: Verb| clause.has(|m| *m == Meaning::Verb(verb));
    let (shrink, grow) = (said(Verb::Shrink), said(Verb::Grow));
    let find = |pick: fn(&Meaning) -> Option<f64>| atoms.iter().find_map(|atom| pick(&atom.meaning));
    let percent = |value: f64| sized("percent", value, format!("resized to {value:.0}%"));

    if let Some((width, height)) = atoms.iter().find_map(|atom| match atom.meaning {
        Meaning::Ratio(width, height) => Some((width, height)),
        _ => None,
    }) {
        return (width >= 1.0 && height >= 1.0).then(|| exact(width, height));
    }
    let scale = find(|m| if let Meaning::Scale(percent) = m { Some(*percent) } else { None });
    let numbers = numbers(&atoms);
    if let Some((value, _)) = numbers.iter().find(|(_, unit)| *unit == Some(Unit::Percent)) {
        let to = clause.has(|m| *m == Meaning::To);
        let smaller = scale.is_some_and(|scale| scale < 100.0) || (shrink && !to);
        let bigger = scale.is_some_and(|scale| scale > 100.0) || (grow && !to);
        return percent(match () {
            () if smaller => 100.0 - value,
            () if bigger => 100.0 + value,
            () => *value,
        });
    }
    if let Some((value, _)) = numbers.iter().find(|(_, unit)| *unit == Some(Unit::Times)) {
        let smaller = shrink || scale.is_some_and(|scale| scale < 100.0);
        return percent(if smaller { 100.0 / value.max(0.01) } else { 100.0 * value });
    }
    if !numbers.is_empty() {
        return pixels(&atoms);
    }
    if let Some(longest) = find(|m| if let Meaning::Longest(pixels) = m { Some(*pixels) } else { None }) {
        return sized("longest", longest, format!("resized to {longest} px"));
    }
    if let Some(scale) = scale {
        return percent(scale);
    }
    if let Some(part) = find(|m| if let Meaning::Fraction(of, _) = m { Some(*of) } else { None }) {
        let off = shrink && clause.has(|m| *m == Meaning::By);
        return percent((if off { 1.0 - part } else { part } * 100.0).round());
    }
    match () {
        () if shrink => percent(50.0),
        () if grow => percent(200.0),
        () => None,
    }
}

/// "800 px wide", "height 600", or a bare number for the longest side.
fn pixels(atoms: &[Atom]) -> Option<Size> {
    let light =
        |m: &&Meaning| !matches!(m, Meaning::Unit(_) | Meaning::Filler | Meaning::To | Meaning::Preposition);
    let dimension = |m: Option<&Meaning>| match m {
        Some(Meaning::Dimension(dimension)) => Some(*dimension),
        _ => None,
    };
    let mut arguments = Map::new();
    let mut said = Vec::new();
    for (at, atom) in atoms.iter().enumerate() {
        let Meaning::Number(value) = atom.meaning else {
            continue;
        };
        let measured = atoms.get(at + 1).filter(|atom| matches!(atom.meaning, Meaning::Unit(_)));
        let after = dimension(atoms[at + 1..].iter().map(|atom| &atom.meaning).find(light));
        let before = dimension(atoms[..at].iter().rev().map(|atom| &atom.meaning).find(light));
        // "scale by 2": nobody wants two pixels.
        if value <= 10.0 && after.or(before).is_none() && measured.is_none() {
            return sized("percent", value * 100.0, format!("resized to {:.0}%", value * 100.0));
        }
        let (key, word) = match after.or(before) {
            Some(Dimension::Width) => ("width", " wide"),
            Some(Dimension::Height) => ("height", " high"),
            None => ("longest", ""),
        };
        let value = value.round();
        if value >= 1.0 && !arguments.contains_key(key) {
            arguments.insert(key.to_owned(), number(value));
            said.push(format!("{value} px{word}"));
        }
    }
    if arguments.len() > 1 {
        arguments.remove("longest");
    }
    (!arguments.is_empty()).then(|| (arguments, format!("resized to {}", said.join(" and "))))
}

/// Degrees clockwise, from 0 up to 360, and how to say it.
pub fn angle(clause: &Clause) -> (f64, String) {
    let atoms: Vec<Atom> = clause.atoms().cloned().collect();
    let find = |pick: fn(&Meaning) -> Option<f64>| atoms.iter().find_map(|atom| pick(&atom.meaning));
    let way = find(|m| match m {
        Meaning::Spin(Spin::Clockwise) | Meaning::Side(Side::Right) => Some(1.0),
        Meaning::Spin(Spin::Counterclockwise) | Meaning::Side(Side::Left) => Some(-1.0),
        _ => None,
    });
    let angle = find(|m| if let Meaning::Angle(degrees) = m { Some(*degrees) } else { None });
    let said = numbers(&atoms).first().map(|(value, _)| *value).or(angle).unwrap_or(90.0);
    let times = find(|m| if let Meaning::Repeat(times) = m { Some(*times as f64) } else { None });
    let degrees = (said * way.unwrap_or(1.0) * times.unwrap_or(1.0)).rem_euclid(360.0);
    let did = match degrees {
        90.0 => "rotated right".to_owned(),
        180.0 => "turned upside down".to_owned(),
        270.0 => "rotated left".to_owned(),
        degrees if degrees > 180.0 => format!("rotated {}° counterclockwise", 360.0 - degrees),
        degrees => format!("rotated {degrees}° clockwise"),
    };
    (degrees, did)
}

/// The ways to flip, one after the other.
pub fn axes(clause: &Clause) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for atom in clause.atoms() {
        let axis = match atom.meaning {
            Meaning::Axis(axis) => axis,
            Meaning::Side(Side::Top | Side::Bottom) | Meaning::Angle(180.0) => Axis::Vertical,
            Meaning::Side(Side::Left | Side::Right) => Axis::Horizontal,
            _ => continue,
        };
        if !axes.contains(&axis) {
            axes.push(axis);
        }
    }
    if axes.is_empty() {
        axes.push(Axis::Horizontal);
    }
    axes
}

/// "16:9", or both numbers in lowest terms.
pub fn aspect(width: f64, height: f64) -> String {
    let (width, height) = (width.round().max(1.0) as u64, height.round().max(1.0) as u64);
    let (mut a, mut b) = (width, height);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    format!("{}:{}", width / a, height / a)
}
