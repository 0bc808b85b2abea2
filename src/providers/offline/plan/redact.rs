//! Redaction: regions filled, blurred or pixelated so that their content cannot be recovered.

use super::planner::{ClausePlanner, argument, json_region, region_names};
use crate::providers::offline::parse::meaning::Meaning;
use crate::providers::offline::reply::{actions, questions};
use serde_json::{Value, json};

impl ClausePlanner<'_> {
    pub fn redact(&mut self) {
        let Some(regions) = self.regions_or_ask() else {
            return;
        };
        if regions.is_empty() {
            return self.ask_for_position(questions::REDACT_WHICH);
        }
        let regions = self.apply_except(regions);
        let has_filter =
            |wanted: &str| self.clause.has(|m| matches!(m, Meaning::Filter(name) if name == wanted));
        let style = match () {
            () if has_filter("pixelate") => "pixelate",
            () if has_filter("blur") => "blur",
            () => "fill",
        };
        let bounds: Vec<Value> = regions.iter().map(|region| json_region(region.region)).collect();
        let mut arguments = argument("regions", bounds);
        arguments.insert("style".to_owned(), json!(style));
        if let Some(colour) = self.colour()
            && style == "fill"
        {
            arguments.insert("color".to_owned(), json!(colour));
        }
        self.edit("redact_image", arguments, actions::redacted(&region_names(&regions)));
    }
}
