//! Filters and adjustments of light and colour, on the whole picture or on regions of it.

use super::planner::{ClausePlanner, argument, colour_of, json_number, json_region, region_names};
use crate::providers::offline::parse::atoms::{Atom, source_text};
use crate::providers::offline::parse::intent::Intent;
use crate::providers::offline::parse::meaning::{AdjustDirection, Meaning, MeasureUnit};
use crate::providers::offline::parse::measures::measures;
use crate::providers::offline::parse::positions::NamedRegion;
use crate::providers::offline::reply::text::join_and;
use crate::providers::offline::reply::{actions, questions};
use serde_json::{Map, Value, json};

/// The amount of "brighter", from 0 to 100.
const DEFAULT_ADJUSTMENT: f64 = 30.0;

impl ClausePlanner<'_> {
    /// The factor of "a bit" (a half) or "much" (double).
    fn amount_factor(&self) -> Option<f64> {
        self.clause.atoms().find_map(|atom| match atom.meaning {
            Meaning::Amount(factor) => Some(factor),
            _ => None,
        })
    }

    /// The regions to edit, empty for the whole picture; `None` after asking the person which region is meant.
    fn regions_to_adjust(&mut self, targets_things: bool) -> Option<Vec<NamedRegion>> {
        let mut regions = self.regions_or_ask()?;
        let has_side = self.clause.has(|m| matches!(m, Meaning::Side(_)));
        let has_edge = self.clause.has(|m| *m == Meaning::Edge);
        if has_edge && !has_side && (targets_things || self.clause.intent == Intent::Adjust) {
            self.ask(questions::WHICH_EDGE);
            return None;
        }
        let unknown = self.unknown_atoms();
        if regions.is_empty() && targets_things && !unknown.is_empty() {
            self.ask(questions::cannot_see(&source_text(self.source, &unknown)));
            return None;
        }
        regions.retain(|region| !region.is_whole());
        Some(self.apply_except(regions))
    }

    /// One call per region, or one for the whole picture.
    fn edit_regions(
        &mut self,
        tool: &'static str,
        arguments: &Map<String, Value>,
        did: &str,
        regions: &[NamedRegion],
    ) {
        if regions.is_empty() {
            return self.edit(tool, arguments.clone(), actions::on_part(did, None));
        }
        let did = actions::on_part(did, Some(&join_and(&region_names(regions))));
        for region in regions {
            let mut arguments = arguments.clone();
            arguments.insert("region".to_owned(), json_region(region.region));
            self.edit(tool, arguments, did.clone());
        }
    }

    /// All filters of the clause. They may accompany another request: "crop to a square in black and white".
    pub fn filters(&mut self) {
        let intent = self.clause.intent;
        // "undo the black and white", "write sepia"
        if matches!(intent, Intent::Undo | Intent::Redo | Intent::Original)
            || matches!(intent, Intent::Write | Intent::Watermark | Intent::Redact)
        {
            return;
        }
        let mut names: Vec<String> = Vec::new();
        for atom in self.clause.atoms() {
            if let Meaning::Filter(name) = &atom.meaning
                && !names.contains(name)
            {
                names.push(name.clone());
            }
        }
        if names.is_empty() && intent == Intent::Filter {
            let named = self.clause.atoms().find_map(|atom| match &atom.meaning {
                Meaning::Colour(colour) => self.grammar.colours_as_filters.get(colour).cloned(),
                Meaning::Edge => Some("edges".to_owned()),
                _ => None,
            });
            names.extend(named);
        }
        for name in names {
            self.filter(&name);
        }
    }

    fn filter(&mut self, name: &str) {
        let Some(filter) = self.grammar.filter(name) else {
            return;
        };
        // Positions and percentages of another request are not meant for the filter.
        let own_clause = self.clause.intent == Intent::Filter;
        let regions =
            if own_clause { self.regions_to_adjust(filter.targets_things) } else { Some(Vec::new()) };
        let Some(regions) = regions else {
            return;
        };
        let mut arguments = argument("filter", name);
        let percent = measures(&self.atoms()).into_iter().find(|measure| measure.is(MeasureUnit::Percent));
        let percent = percent.map(|measure| measure.value).filter(|_| own_clause && regions.is_empty());
        let strength = percent.or(self.amount_factor().map(|factor| filter.default_strength * factor));
        if let Some(strength) = strength.map(|strength| strength.round().clamp(1.0, 100.0))
            && strength != filter.default_strength
        {
            arguments.insert("strength".to_owned(), json_number(strength));
        }
        let colours: Vec<&String> = self.clause.atoms().filter_map(|atom| colour_of(&atom.meaning)).collect();
        if let ("duotone", [dark, light]) = (name, colours.as_slice()) {
            arguments.insert("colors".to_owned(), json!([dark, light]));
        }
        self.edit_regions("filter_image", &arguments, &filter.did, &regions);
    }

    /// All adjustments of the clause in one call. They may accompany another request.
    pub fn adjustments(&mut self) {
        let intent = self.clause.intent;
        let is_adjustment = |m: &Meaning| matches!(m, Meaning::Adjust(..) | Meaning::AutoLevels);
        let may_accompany = intent.is_edit()
            && !matches!(intent, Intent::Write | Intent::Watermark | Intent::Redact | Intent::Highlight);
        if !(may_accompany || intent == Intent::Collage) || !self.clause.has(is_adjustment) {
            return;
        }
        let own_clause = matches!(intent, Intent::Adjust | Intent::Filter);
        let regions = if own_clause { self.regions_to_adjust(false) } else { Some(Vec::new()) };
        let Some(regions) = regions else {
            return;
        };
        let (arguments, did) = self.adjustment_amounts(intent == Intent::Adjust && regions.is_empty());
        if !arguments.is_empty() {
            self.edit_regions("adjust_image", &arguments, &join_and(&did), &regions);
        }
    }

    /// The amount of each adjustment, and the phrases for the reply. With `read_numbers`, a number is the amount of
    /// the adjustment it stands beside.
    fn adjustment_amounts(&self, read_numbers: bool) -> (Map<String, Value>, Vec<String>) {
        let mut arguments = Map::new();
        let mut did: Vec<String> = Vec::new();
        let mut last_sign = 1.0;
        let factor = self.amount_factor();
        let how = match factor {
            Some(factor) if factor < 1.0 => "a bit ",
            Some(_) => "much ",
            None => "",
        };
        for (at, group) in self.clause.groups.iter().enumerate() {
            let is_named = |atom: &Atom| matches!(atom.meaning, Meaning::Adjust(..));
            let beside = match self.clause.groups.get(at + 1) {
                // "contrast +20": the plus reads as "and".
                Some(next) if !next.iter().any(is_named) => [group.clone(), next.clone()].concat(),
                _ => group.clone(),
            };
            let mut numbers =
                measures(&beside).into_iter().filter(|_| read_numbers).map(|measure| measure.value);
            for atom in group {
                let (name, sign) = match &atom.meaning {
                    Meaning::AutoLevels => {
                        arguments.insert("auto_levels".to_owned(), json!(true));
                        did.push(actions::AUTO_LEVELLED.to_owned());
                        continue;
                    }
                    Meaning::Adjust(name, AdjustDirection::Up) => (name, 1.0),
                    Meaning::Adjust(name, AdjustDirection::Down) => (name, -1.0),
                    // "reduce the brightness and contrast": the direction before it counts.
                    Meaning::Adjust(name, AdjustDirection::Unspecified) => (name, last_sign),
                    _ => continue,
                };
                last_sign = sign;
                let amount = numbers.next().unwrap_or(DEFAULT_ADJUSTMENT * factor.unwrap_or(1.0)) * sign;
                let amount = amount.round().clamp(-100.0, 100.0);
                let Some(words) = self.grammar.adjustment(name).filter(|_| amount != 0.0) else {
                    continue;
                };
                let phrase = if amount > 0.0 { &words.up } else { &words.down };
                if arguments.insert(name.clone(), json_number(amount)).is_none() {
                    did.push(phrase.replace("{how}", how));
                }
            }
        }
        (arguments, did)
    }
}
