//! Highlights: regions with their colour, shape and label.

use super::planner::{ClausePlanner, argument, colour_of, json_region};
use crate::providers::offline::parse::atoms::{Atom, source_text};
use crate::providers::offline::parse::clauses::Clause;
use crate::providers::offline::parse::intent::is_position;
use crate::providers::offline::parse::labels::take_label;
use crate::providers::offline::parse::meaning::{HighlightShape, Meaning};
use crate::providers::offline::parse::positions::{NamedRegion, named_regions};
use crate::providers::offline::reply::text::join_and;
use crate::providers::offline::reply::{actions, questions};
use serde_json::{Value, json};

const MAX_HIGHLIGHTS: usize = 20;

#[derive(Debug, Clone, PartialEq)]
struct HighlightRegion {
    region: NamedRegion,
    colour: Option<String>,
    shape: Option<HighlightShape>,
    label: Option<String>,
}

impl ClausePlanner<'_> {
    pub fn highlight(&mut self) {
        let numbered = self.clause.has(|m| *m == Meaning::Numbered);
        let positioned = |m: &Meaning| is_position(m) || matches!(m, Meaning::Number(_));
        if numbered && !self.clause.has(positioned) {
            return self.ask(questions::NUMBER_WHAT);
        }
        match highlight_regions(self.source, self.clause) {
            Ok(highlights) => {
                let regions: Vec<Value> = highlights.iter().map(HighlightRegion::argument).collect();
                let mut arguments = argument("regions", regions);
                let mut did = describe(&highlights);
                if numbered {
                    arguments.insert("numbered".to_owned(), json!(true));
                    did += actions::NUMBERED;
                }
                self.edit("highlight_image", arguments, did);
            }
            Err(question) => self.ask(question),
        }
    }
}

impl HighlightRegion {
    fn new(region: NamedRegion) -> Self {
        Self { region, colour: None, shape: None, label: None }
    }

    fn argument(&self) -> Value {
        let mut argument = json_region(self.region.region);
        if let Some(label) = &self.label {
            argument["label"] = json!(label);
        }
        if let Some(colour) = &self.colour {
            argument["color"] = json!(colour);
        }
        if let Some(shape) = self.shape {
            argument["shape"] = json!(match shape {
                HighlightShape::Rectangle => "rectangle",
                HighlightShape::Ellipse => "ellipse",
                HighlightShape::Spotlight => "spotlight",
            });
        }
        argument
    }

    fn details(&self) -> String {
        actions::highlight_details(self.colour.as_deref(), self.label.as_deref())
    }
}

/// "highlighted the top left in red as “eagle”"
fn describe(highlights: &[HighlightRegion]) -> String {
    let shape = highlights.first().and_then(|first| first.shape);
    let same_shape = highlights.iter().all(|highlight| highlight.shape == shape);
    let verb = actions::highlighted(shape.filter(|_| same_shape));
    let details = highlights.first().map(HighlightRegion::details).unwrap_or_default();
    let same_details = highlights.iter().all(|highlight| highlight.details() == details);
    let name = |highlight: &HighlightRegion| {
        let own = if same_details { String::new() } else { highlight.details() };
        highlight.region.name.clone() + &own
    };
    let mut names: Vec<String> = highlights.iter().map(name).collect();
    names.dedup();
    format!("{verb} {}{}", join_and(&names), if same_details { details } else { String::new() })
}

/// The highlights a clause asks for, or the question to ask if it names a thing and no position.
fn highlight_regions(source: &[char], clause: &Clause) -> Result<Vec<HighlightRegion>, String> {
    let mut highlights: Vec<HighlightRegion> = Vec::new();
    let (mut last_colour, mut last_shape, mut last_label) = (None, None, None);
    let mut things: Vec<Atom> = Vec::new();
    for group in &clause.groups {
        let (label, rest) = take_label(source, group);
        let colour = rest.iter().find_map(|atom| colour_of(&atom.meaning).cloned());
        let shape = rest.iter().find_map(|atom| match &atom.meaning {
            Meaning::Shape(shape) => Some(*shape),
            // "a red square around the door"
            Meaning::Aspect(_) => Some(HighlightShape::Rectangle),
            _ => None,
        });
        let regions = named_regions(&rest).map_err(questions::position_error)?;
        let earlier = highlights.len();
        // A group without a position describes the highlights before it.
        let no_region = regions.is_empty();
        if no_region {
            things.extend(rest.iter().filter(|atom| atom.meaning == Meaning::Unknown).cloned());
        }
        highlights.extend(regions.into_iter().map(HighlightRegion::new));
        for (at, highlight) in highlights.iter_mut().enumerate() {
            let own = no_region || at >= earlier;
            // "the top left and the bottom right in green": the colour is meant for both.
            if own || shape.is_none() {
                highlight.colour = highlight.colour.take().or_else(|| colour.clone());
            }
            if own {
                highlight.shape = highlight.shape.or(shape);
                highlight.label = highlight.label.take().or_else(|| label.clone());
            }
        }
        last_colour = colour.or(last_colour);
        last_shape = shape.or(last_shape);
        last_label = label.or(last_label);
    }
    if highlights.is_empty() {
        if !things.is_empty() {
            return Err(questions::cannot_see(&source_text(source, &things)));
        }
        highlights.push(HighlightRegion { label: last_label, ..HighlightRegion::new(NamedRegion::whole()) });
    }
    for highlight in &mut highlights {
        highlight.colour = highlight.colour.take().or_else(|| last_colour.clone());
        highlight.shape = highlight.shape.or(last_shape);
    }
    highlights.truncate(MAX_HIGHLIGHTS);
    Ok(highlights)
}
