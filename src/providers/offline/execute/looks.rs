//! What `find_in_image` found: read from its results, and chosen from for the edit that follows.

use super::calls::PlannedCall;
use super::turn_state::TurnState;
use crate::domain::AttachmentId;
use crate::providers::offline::parse::things::NamedThing;
use crate::providers::offline::plan::planner::{LookQuestion, PlannedStep, TakeRegions, json_number};
use crate::providers::offline::reply::{actions, sights};
use imaging::Region;
use serde_json::{Value, json};
use vision::{Which, choose};

/// The most regions one edit takes.
const MAX_REGIONS: usize = 50;

/// One line of a result: `- bird 98% {"left":…}`, of text and codes with what they say.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundThing {
    pub label: String,
    /// Percent.
    pub sure: u32,
    pub region: Region,
    /// What is written there.
    pub text: String,
}

impl FoundThing {
    fn read(line: &str) -> Option<Self> {
        let (label, region) = line.strip_prefix("- ")?.split_once(" {")?;
        let (label, sure) = label.rsplit_once(' ')?;
        let (region, text) = region.split_once('}')?;
        let region = serde_json::from_str(&format!("{{{region}}}")).ok()?;
        let sure = sure.trim_end_matches('%').parse().ok()?;
        Some(Self { label: label.to_owned(), sure, region, text: text.trim().to_owned() })
    }

    pub fn center(&self) -> (f64, f64) {
        let region = self.region;
        ((region.left() + region.right()) / 2.0, (region.top() + region.bottom()) / 2.0)
    }
}

impl TurnState<'_> {
    pub fn record_look(&mut self, inputs: &[AttachmentId], text: &str) {
        let found: Vec<FoundThing> = text.lines().filter_map(FoundThing::read).collect();
        self.found.extend(inputs.iter().map(|id| (*id, found.clone())));
    }

    /// One edit per picture in which the thing was found. Pictures without it are reported.
    pub fn edits_of_found(
        &mut self,
        step: &PlannedStep,
        thing: &NamedThing,
        take: &TakeRegions,
        ids: &[AttachmentId],
    ) -> Vec<PlannedCall> {
        let mut calls = Vec::new();
        for id in ids {
            let found = self.found.get(id).cloned().unwrap_or_default();
            let many = found.len();
            let chosen = choose_of(&found, thing);
            if chosen.is_empty() {
                self.remark(sights::not_found(thing, many, ids.len()));
                continue;
            }
            let one_of_many = *take == TakeRegions::Around && chosen.len() > 1 && !thing.plural;
            if one_of_many {
                self.remark(sights::which_one(thing, chosen.len()));
                continue;
            }
            let mut arguments = step.arguments.clone();
            arguments.insert("images".to_owned(), json!([id]));
            match take {
                TakeRegions::Around => {
                    arguments
                        .insert("region".to_owned(), json!(around(&chosen).map(|region| exact(&region))));
                }
                TakeRegions::Each(details) => {
                    let with_details = |thing: &FoundThing| {
                        let mut region = exact(&thing.region);
                        details.iter().for_each(|(key, value)| region[key] = value.clone());
                        region
                    };
                    let regions: Vec<Value> = chosen.iter().take(MAX_REGIONS).map(with_details).collect();
                    arguments.insert("regions".to_owned(), json!(regions));
                }
            }
            self.taken.insert(*id, chosen.len());
            let arguments = Value::Object(arguments);
            calls.push(PlannedCall { tool: step.tool, inputs: vec![*id], arguments });
        }
        calls
    }

    fn remark(&mut self, remark: String) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// Fills in what was found, and adds how far it can be relied on.
    pub fn with_found(&mut self, step: &PlannedStep, inputs: &[AttachmentId], did: String) -> String {
        let Some(thing) = &step.thing else { return did };
        let count = inputs.iter().filter_map(|id| self.taken.get(id)).sum();
        if thing.what == "faces" && thing.which == Which::Any && step.tool == "redact_image" {
            self.remark(sights::check_faces());
        }
        did.replace("{found}", &actions::found(thing, count))
    }

    /// Answers a question about the things in a picture.
    pub fn tell_found(
        &mut self,
        step: &PlannedStep,
        question: LookQuestion,
        inputs: &[AttachmentId],
        text: &str,
    ) {
        self.record_look(inputs, text);
        let found = inputs.iter().filter_map(|id| self.found.get(id)).flatten();
        let found: Vec<&FoundThing> = found.collect();
        let things: Vec<(&str, u32, (f64, f64))> =
            found.iter().map(|thing| (thing.label.as_str(), thing.sure, thing.center())).collect();
        let answer = match (question, &step.thing) {
            (LookQuestion::HowMany, Some(thing)) => sights::how_many(thing, &things),
            (LookQuestion::Where, Some(thing)) => sights::where_is(thing, &things),
            _ => sights::what_is_there(&things),
        };
        self.sections.push(answer);
    }
}

/// A region as JSON, its numbers without a fraction where they have none.
fn exact(region: &Region) -> Value {
    json!({
        "left": json_number(region.left()),
        "top": json_number(region.top()),
        "right": json_number(region.right()),
        "bottom": json_number(region.bottom()),
    })
}

/// The smallest region around all of them.
fn around(found: &[FoundThing]) -> Option<Region> {
    let least =
        |side: fn(&Region) -> f64| found.iter().map(|thing| side(&thing.region)).fold(1000.0, f64::min);
    let most = |side: fn(&Region) -> f64| found.iter().map(|thing| side(&thing.region)).fold(0.0, f64::max);
    Region::new(least(Region::left), least(Region::top), most(Region::right), most(Region::bottom)).ok()
}

/// The ones that the words mean, in the order they were found in.
fn choose_of(found: &[FoundThing], thing: &NamedThing) -> Vec<FoundThing> {
    let regions: Vec<Region> = found.iter().map(|thing| thing.region).collect();
    choose(&regions, thing.which, thing.number()).into_iter().map(|index| found[index].clone()).collect()
}
