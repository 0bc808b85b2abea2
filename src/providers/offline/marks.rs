//! Highlights: which places get which colour, shape and label.

use super::atoms::{Atom, written};
use super::clauses::Clause;
use super::meaning::{Meaning, Shape};
use super::places::{Place, places, says_area};
use super::say::{joined, quoted};
use serde_json::{Value, json};

const MOST_MARKS: usize = 20;
const LONGEST_LABEL: usize = 80;

#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    place: Place,
    colour: Option<String>,
    shape: Option<Shape>,
    label: Option<String>,
}

impl Mark {
    fn new(place: Place) -> Self {
        Self { place, colour: None, shape: None, label: None }
    }

    pub fn argument(&self) -> Value {
        let [left, top, right, bottom] = self.place.region;
        let mut argument = json!({"left": left, "top": top, "right": right, "bottom": bottom});
        if let Some(label) = &self.label {
            argument["label"] = json!(label);
        }
        if let Some(colour) = &self.colour {
            argument["color"] = json!(colour);
        }
        if let Some(shape) = self.shape {
            argument["shape"] = json!(match shape {
                Shape::Rectangle => "rectangle",
                Shape::Ellipse => "ellipse",
                Shape::Spotlight => "spotlight",
            });
        }
        argument
    }

    fn details(&self) -> String {
        let colour = self.colour.as_ref().map(|colour| format!(" in {colour}"));
        let label = self.label.as_ref().map(|label| format!(" as {}", quoted(label)));
        format!("{}{}", colour.unwrap_or_default(), label.unwrap_or_default())
    }
}

/// "highlighted the top left in red as “eagle”"
pub fn did(marks: &[Mark]) -> String {
    let all = |shape: Shape| marks.iter().all(|mark| mark.shape == Some(shape));
    let verb = match () {
        () if all(Shape::Ellipse) => "circled",
        () if all(Shape::Spotlight) => "put a spotlight on",
        () => "highlighted",
    };
    let details = marks.first().map(Mark::details).unwrap_or_default();
    let alike = marks.iter().all(|mark| mark.details() == details);
    let mut names: Vec<String> = marks
        .iter()
        .map(|mark| if alike { mark.place.name.clone() } else { mark.place.name.clone() + &mark.details() })
        .collect();
    names.dedup();
    format!("{verb} {}{}", joined(&names), if alike { details } else { String::new() })
}

/// The marks a clause asks for, or what to tell the person if there are none to make.
pub fn marks(source: &[char], clause: &Clause) -> Result<Vec<Mark>, String> {
    let mut marks: Vec<Mark> = Vec::new();
    let (mut last_colour, mut last_shape, mut last_label) = (None, None, None);
    let mut sought: Vec<Atom> = Vec::new();
    for group in &clause.groups {
        let (label, rest) = take_label(source, group);
        let colour = rest.iter().find_map(|atom| match &atom.meaning {
            Meaning::Colour(name) => Some(name.clone()),
            _ => None,
        });
        let own_shape = rest.iter().find_map(|atom| match &atom.meaning {
            Meaning::Shape(shape) => Some(*shape),
            // "a red square around the door"
            Meaning::Aspect(_) => Some(Shape::Rectangle),
            _ => None,
        });
        let places = places(&rest)?;
        let older = marks.len();
        let placeless = places.is_empty();
        if placeless {
            sought.extend(rest.iter().filter(|atom| atom.meaning == Meaning::Unknown).cloned());
        }
        marks.extend(places.into_iter().map(Mark::new));
        for (at, mark) in marks.iter_mut().enumerate() {
            let own = placeless || at >= older;
            // "the top left and the bottom right in green": the colour is meant for both.
            if own || own_shape.is_none() {
                mark.colour = mark.colour.take().or_else(|| colour.clone());
            }
            if own {
                mark.shape = mark.shape.or(own_shape);
                mark.label = mark.label.take().or_else(|| label.clone());
            }
        }
        last_colour = colour.or(last_colour);
        last_shape = own_shape.or(last_shape);
        last_label = label.or(last_label);
    }
    if marks.is_empty() {
        if !sought.is_empty() {
            return Err(cannot_find(source, &sought));
        }
        marks.push(Mark { label: last_label, ..Mark::new(Place::whole()) });
    }
    for mark in &mut marks {
        mark.colour = mark.colour.take().or_else(|| last_colour.clone());
        mark.shape = mark.shape.or(last_shape);
    }
    marks.truncate(MOST_MARKS);
    Ok(marks)
}

/// We know places, not things.
pub fn cannot_find(source: &[char], sought: &[Atom]) -> String {
    format!(
        "I run offline, so I can't see where {} is. Tell me the place: “top left”, “the middle third” or \
         “from 100,200 to 400,500”.",
        quoted(&written(source, sought))
    )
}

/// The label of a group, and the group without it.
pub fn take_label(source: &[char], group: &[Atom]) -> (Option<String>, Vec<Atom>) {
    let meaning = |at: usize| group.get(at).map(|atom| &atom.meaning);
    if let Some(at) = group.iter().position(|atom| matches!(atom.meaning, Meaning::Quoted(_))) {
        let Some(Meaning::Quoted(text)) = meaning(at) else {
            return (None, group.to_vec());
        };
        let rest = group.iter().filter(|atom| !matches!(atom.meaning, Meaning::Label | Meaning::Quoted(_)));
        return (clip(text), rest.cloned().collect());
    }
    let Some(word) = group.iter().position(|atom| atom.meaning == Meaning::Label) else {
        return (None, group.to_vec());
    };
    let mut start = word + 1;
    let pronoun = matches!(meaning(start), Some(Meaning::It | Meaning::Them));
    if pronoun {
        start += 1;
    } else {
        // "label the top left as eagle": the place comes first, and is not the label.
        let place =
            |m: &Meaning| matches!(m, Meaning::Side(_) | Meaning::Fraction(..) | Meaning::Regions(..));
        let light = |m: &Meaning| matches!(m, Meaning::Filler | Meaning::Preposition | Meaning::Edge);
        let object =
            group[start..].iter().take_while(|atom| place(&atom.meaning) || light(&atom.meaning)).count();
        let named = group[start..start + object].iter().any(|atom| place(&atom.meaning));
        if named && object > 1 && start + object < group.len() {
            start += object;
        }
    }
    while matches!(meaning(start), Some(Meaning::Label)) && start + 1 < group.len() {
        start += 1;
    }
    let mut end = (start + 1).min(group.len());
    while end < group.len() && !leads_to_detail(&group[end..]) {
        end += 1;
    }
    let after = end;
    while end > start + 1 && group[end - 1].meaning == Meaning::Polite {
        end -= 1;
    }
    let label = clip(&written(source, group.get(start..end).unwrap_or_default()));
    let rest = group[..word].iter().chain(&group[word + 1..start.min(group.len())]).chain(&group[after..]);
    (label, rest.cloned().collect())
}

/// "… in red", "… at the top", "… from 100,200 to 400,500": the label is over.
fn leads_to_detail(atoms: &[Atom]) -> bool {
    let after = atoms.iter().skip(1).map(|atom| &atom.meaning).find(|meaning| **meaning != Meaning::Filler);
    let detail = |m: &Meaning| {
        matches!(m, Meaning::Colour(_) | Meaning::Side(_) | Meaning::Shape(_) | Meaning::Regions(..))
    };
    let area = || matches!(after, Some(Meaning::Number(_))) && says_area(atoms);
    atoms[0].meaning == Meaning::Preposition && (after.is_some_and(detail) || area())
}

fn clip(text: &str) -> Option<String> {
    let clipped: String = text.trim().chars().filter(|c| !c.is_control()).take(LONGEST_LABEL).collect();
    (!clipped.is_empty()).then_some(clipped)
}
