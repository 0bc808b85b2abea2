//! Sentences about what was found in a picture, and what was not.

use super::text::{join_and, quote};
use crate::providers::offline::parse::things::NamedThing;
use vision::Which;

/// A label, how sure the detector is in percent, and the center in thousandths.
type Sight<'a> = (&'a str, u32, (f64, f64));

/// The thing was not found, or not the one that was asked for; `many` of its kind were.
pub fn not_found(thing: &NamedThing, many: usize, pictures: usize) -> String {
    let place = if pictures == 1 { "there" } else { "in one of them" };
    if many > 0 && thing.which != Which::Any {
        return format!("I found only {many} {place}, and not the one you mean.");
    }
    format!(
        "I looked, but I couldn't find {} {place}, so I left it as it was. Tell me the place instead: “top left” or \
         “the middle third”.",
        quote(&thing.said)
    )
}

pub fn which_one(thing: &NamedThing, many: usize) -> String {
    format!(
        "I found {many} of {}. Which one? Say “the left one”, “the biggest” or “the second”, or “all of them”.",
        quote(&thing.said)
    )
}

/// Faces can be missed, and people rely on them being covered.
pub fn check_faces() -> String {
    "Small, hidden or turned-away faces can slip through, so please check.".into()
}

pub fn how_many(thing: &NamedThing, found: &[Sight]) -> String {
    match found.len() {
        0 => format!("I see none of {}.", quote(&thing.said)),
        1 => format!("I see one, {}.", sureness(found[0].1)),
        n => {
            let least = found.iter().map(|(_, sure, _)| *sure).min().unwrap_or_default();
            format!("I see {n}; I'm {least}% sure of the least clear one.")
        }
    }
}

pub fn where_is(thing: &NamedThing, found: &[Sight]) -> String {
    if found.is_empty() {
        return format!("I can't see {} in it.", quote(&thing.said));
    }
    let places: Vec<String> =
        found.iter().map(|(_, sure, at)| format!("{} ({})", place(*at), sureness(*sure))).collect();
    format!("I see {} {}.", quote(&thing.said), join_and(&places))
}

pub fn what_is_there(found: &[Sight]) -> String {
    if found.is_empty() {
        return "I can't see anything in it that I know by name. I know people, faces, animals, vehicles and common \
                things."
            .into();
    }
    let mut kinds: Vec<(&str, usize, u32)> = Vec::new();
    for (label, sure, _) in found {
        match kinds.iter_mut().find(|(kind, ..)| kind == label) {
            Some((_, count, best)) => (*count, *best) = (*count + 1, (*best).max(*sure)),
            None => kinds.push((label, 1, *sure)),
        }
    }
    let named: Vec<String> = kinds
        .iter()
        .map(|(kind, count, best)| match count {
            1 => format!("{} ({best}%)", with_article(kind)),
            _ => format!("{count} × {kind} (up to {best}%)"),
        })
        .collect();
    format!("I see {}.", join_and(&named))
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

fn sureness(percent: u32) -> String {
    format!("{percent}% sure")
}

fn place((x, y): (f64, f64)) -> String {
    let across = match x {
        x if x < 333.0 => "left",
        x if x > 667.0 => "right",
        _ => "",
    };
    let down = match y {
        y if y < 333.0 => "top",
        y if y > 667.0 => "bottom",
        _ => "",
    };
    match (down, across) {
        ("", "") => "in the middle".to_owned(),
        ("", across) => format!("on the {across}"),
        (down, "") => format!("at the {down}"),
        (down, across) => format!("at the {down} {across}"),
    }
}
