//! Requests about things in a picture: one step looks for the thing, the next edits where it was found.

use super::planner::{
    ClausePlanner, LookQuestion, StepKind, TakeRegions, argument, colour_of, json_region, region_names,
};
use crate::providers::offline::parse::intent::{Intent, is_position};
use crate::providers::offline::parse::labels::take_label;
use crate::providers::offline::parse::meaning::{HighlightShape, Meaning, Verb};
use crate::providers::offline::parse::positions::NamedRegion;
use crate::providers::offline::parse::things::{NamedThing, ThingRequest};
use crate::providers::offline::reply::{actions, questions};
use serde_json::{Map, Value, json};
use vision::Which;

pub const FIND_TOOL: &str = "find_in_image";

impl ClausePlanner<'_> {
    /// Plans the clause if it is about a thing in the picture. False leaves it to the other planners.
    pub(super) fn plan_with_eyes(&mut self) -> bool {
        if self.things.is_some() && self.clause.intent == Intent::See {
            self.see();
            return true;
        }
        if self.things.is_none() {
            return false;
        }
        match self.clause.intent {
            Intent::CutOut => return self.cut_out(),
            Intent::Resize => return self.enlarge(),
            Intent::Highlight | Intent::Crop | Intent::Redact | Intent::Filter | Intent::Erase => {}
            _ => return false,
        }
        if self.clause.intent == Intent::Erase && self.thing().is_none() {
            self.erase_place();
            return true;
        }
        let thing = match self.thing() {
            Some(ThingRequest::One(thing)) => thing,
            Some(ThingRequest::Unclear(words)) => {
                self.ask(questions::cannot_tell(&words));
                return true;
            }
            None => return false,
        };
        match self.clause.intent {
            Intent::Highlight => self.highlight_found(thing),
            Intent::Crop => self.edit_found(
                thing,
                "crop_image",
                Map::new(),
                TakeRegions::Around,
                actions::CROPPED_TO_FOUND,
            ),
            Intent::Redact => self.hide_found(thing, self.redaction_style("fill")),
            Intent::Erase => self.edit_found(
                thing,
                "erase_from_image",
                Map::new(),
                TakeRegions::Each(Map::new()),
                actions::ERASED_FOUND,
            ),
            Intent::Filter => {
                let blurs =
                    |m: &Meaning| matches!(m, Meaning::Filter(name) if name == "blur" || name == "pixelate");
                if !self.clause.has(blurs) {
                    return false;
                }
                self.hide_found(thing, self.redaction_style("blur"));
            }
            _ => return false,
        }
        true
    }

    /// "remove the background", "cut out the dog", "make the background white"
    fn cut_out(&mut self) -> bool {
        let says = |verb: Verb| self.clause.has(|m| *m == Meaning::Verb(verb));
        // "cut out the left half"
        if says(Verb::CutOut) && self.clause.has(is_position) && self.thing().is_none() {
            return false;
        }
        let blurs = says(Verb::BlurBackdrop)
            || (says(Verb::Backdrop)
                && self.clause.has(|m| matches!(m, Meaning::Filter(name) if name == "blur")));
        let (arguments, did) = match self.colour().cloned() {
            _ if blurs => (argument("background", "blur"), actions::BACKGROUND_BLURRED.to_owned()),
            Some(colour) => (argument("background", colour.clone()), actions::background_colored(&colour)),
            None if says(Verb::Backdrop) => {
                self.ask(questions::BACKDROP_WHAT);
                return true;
            }
            None => (Map::new(), actions::BACKGROUND_REMOVED.to_owned()),
        };
        match self.thing() {
            Some(ThingRequest::One(thing)) if says(Verb::CutOut) && thing.what != "people" => {
                self.edit_found(
                    thing,
                    "cut_out_image",
                    arguments,
                    TakeRegions::Around,
                    actions::CUT_OUT_FOUND,
                );
            }
            Some(ThingRequest::Unclear(words)) => self.ask(questions::cannot_tell(&words)),
            _ => self.edit("cut_out_image", arguments, did),
        }
        true
    }

    /// "make it twice as large"
    fn enlarge(&mut self) -> bool {
        let factor = self.clause.atoms().find_map(|atom| match atom.meaning {
            Meaning::Scale(percent) if [200.0, 300.0, 400.0].contains(&percent) => Some(percent / 100.0),
            _ => None,
        });
        let measured =
            self.clause.has(|m| matches!(m, Meaning::Number(_) | Meaning::Unit(_) | Meaning::Ratio(..)));
        match factor {
            Some(factor) if !measured => {
                self.edit(
                    "upscale_image",
                    argument("factor", factor as u32),
                    actions::enlarged(factor as u32),
                );
                true
            }
            _ => false,
        }
    }

    /// "erase the top left", "erase from 100,200 to 400,500"
    fn erase_place(&mut self) {
        let Some(regions) = self.regions_or_ask() else { return };
        if regions.is_empty() || regions.iter().any(NamedRegion::is_whole) {
            return self.ask_for_position(questions::ERASE_WHAT);
        }
        if !self.unknown_atoms().is_empty() {
            return self.ask_for_position(questions::ERASE_WHAT);
        }
        let bounds: Vec<Value> = regions.iter().map(|region| json_region(region.region)).collect();
        self.edit("erase_from_image", argument("regions", bounds), actions::erased(&region_names(&regions)));
    }

    /// Whether the clause names a thing that can be looked for.
    pub(super) fn names_thing(&self) -> bool {
        matches!(self.thing(), Some(ThingRequest::One(_)))
    }

    fn thing(&self) -> Option<ThingRequest> {
        let things = self.things?;
        let mut atoms = self.atoms();
        if self.clause.intent == Intent::Highlight {
            atoms = self.clause.groups.iter().flat_map(|group| take_label(self.source, group).1).collect();
        }
        things.read(self.source, &atoms)
    }

    fn redaction_style(&self, otherwise: &'static str) -> &'static str {
        let has_filter =
            |wanted: &str| self.clause.has(|m| matches!(m, Meaning::Filter(name) if name == wanted));
        match () {
            () if has_filter("pixelate") => "pixelate",
            () if has_filter("blur") => "blur",
            () => otherwise,
        }
    }

    fn highlight_found(&mut self, thing: NamedThing) {
        let mut details = Map::new();
        let labels = self.clause.groups.iter().map(|group| take_label(self.source, group).0);
        let label = labels.flatten().next();
        let colour = self.clause.atoms().find_map(|atom| colour_of(&atom.meaning).cloned());
        let shape = self.clause.atoms().find_map(|atom| match &atom.meaning {
            Meaning::Shape(shape) => Some(*shape),
            Meaning::Aspect(_) => Some(HighlightShape::Rectangle),
            _ => None,
        });
        let did = format!(
            "{} {{found}}{}",
            actions::highlighted(shape),
            actions::highlight_details(colour.as_deref(), label.as_deref())
        );
        details.extend(label.map(|label| ("label".to_owned(), json!(label))));
        details.extend(colour.map(|colour| ("color".to_owned(), json!(colour))));
        details.extend(shape.map(|shape| ("shape".to_owned(), json!(shape))));
        let mut arguments = Map::new();
        if self.clause.has(|m| *m == Meaning::Numbered) {
            arguments.insert("numbered".to_owned(), json!(true));
        }
        self.edit_found(thing, "highlight_image", arguments, TakeRegions::Each(details), &did);
    }

    fn hide_found(&mut self, thing: NamedThing, style: &'static str) {
        let mut arguments = argument("style", style);
        if let Some(colour) = self.colour()
            && style == "fill"
        {
            arguments.insert("color".to_owned(), json!(colour));
        }
        let did = actions::hid_found(style);
        self.edit_found(thing, "redact_image", arguments, TakeRegions::Each(Map::new()), did);
    }

    /// Looks for the thing, then edits where it is.
    fn edit_found(
        &mut self,
        thing: NamedThing,
        tool: &'static str,
        mut arguments: Map<String, Value>,
        take: TakeRegions,
        did: &str,
    ) {
        self.step(StepKind::Look, FIND_TOOL, argument("what", thing.what.clone()), "");
        self.name_thing(&thing);
        arguments.insert("looked_for".to_owned(), looked_for(&thing));
        self.edit(tool, arguments, did);
        if let Some(step) = self.plan.steps.last_mut() {
            step.thing = Some(thing);
            step.take = Some(take);
        }
    }

    fn name_thing(&mut self, thing: &NamedThing) {
        if let Some(step) = self.plan.steps.last_mut() {
            step.thing = Some(thing.clone());
        }
    }

    /// "what is in this picture?", "how many people are there?", "where is the dog?"
    fn see(&mut self) {
        let says = |verb: Verb| self.clause.has(|m| *m == Meaning::Verb(verb));
        if says(Verb::Who) {
            return self.ask(questions::KNOWS_NO_FACES);
        }
        let question = match () {
            () if says(Verb::Count) => LookQuestion::HowMany,
            () if says(Verb::Locate) => LookQuestion::Where,
            () => LookQuestion::What,
        };
        match self.thing() {
            Some(ThingRequest::One(thing)) => {
                // "what is the dog doing?" is more than a detector knows.
                let question = if question == LookQuestion::What { LookQuestion::Where } else { question };
                self.step(StepKind::Tell(question), FIND_TOOL, argument("what", thing.what.clone()), "");
                self.name_thing(&thing);
            }
            Some(ThingRequest::Unclear(words)) => self.ask(questions::cannot_tell(&words)),
            None if question == LookQuestion::What => {
                self.step(StepKind::Tell(question), FIND_TOOL, argument("what", "objects"), "");
            }
            None => self.ask_for_position(questions::LOOK_FOR_WHAT),
        }
    }
}

/// What the recipe notes, so that repeating the edit looks anew in each picture.
fn looked_for(thing: &NamedThing) -> Value {
    let mut noted = json!({"what": thing.what});
    if thing.which != Which::Any {
        noted["which"] = json!(thing.which.to_string());
    }
    if thing.plural {
        noted["all"] = json!(true);
    }
    noted
}
