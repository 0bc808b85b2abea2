//! How pictures look: filters, adjustments and what is hidden, on all of a picture or on parts of it.

use super::heads::Head;
use super::marks::cannot_find;
use super::meaning::{Meaning, Unit, Way};
use super::measures::{number, size};
use super::places::{Place, numbers, places};
use super::say::{did_to, joined};
use super::steps::{Reading, with};
use serde_json::{Map, Value, json};

/// What "brighter" comes to, of 100.
const USUAL: f64 = 30.0;

pub fn region([left, top, right, bottom]: [u32; 4]) -> Value {
    json!({"left": left, "top": top, "right": right, "bottom": bottom})
}

impl Reading<'_> {
    /// "make it a small black and white square"
    pub fn along_with_looks(&mut self) {
        if self.clause.has(|m| matches!(m, Meaning::Aspect(_) | Meaning::Ratio(..))) {
            self.crop();
        }
        if self.clause.has(|m| matches!(m, Meaning::Angle(_) | Meaning::Spin(_))) {
            self.rotate();
        }
        let resized = self.clause.has(|m| matches!(m, Meaning::Scale(_) | Meaning::Longest(_)));
        if let Some((arguments, did)) = size(self.clause).filter(|_| resized) {
            self.edit("resize_image", arguments, did);
        }
    }

    /// "a bit" is a half, "much" is double.
    fn much(&self) -> Option<f64> {
        self.clause.atoms().find_map(|atom| match atom.meaning {
            Meaning::Much(much) => Some(much),
            _ => None,
        })
    }

    /// The parts a look is meant for, none meaning all of the picture; or `None` if that has to be asked first.
    fn parts(&mut self, aims: bool) -> Option<Vec<Place>> {
        let mut parts = match places(&self.flat()) {
            Ok(parts) => parts,
            Err(reason) => {
                self.note(reason);
                return None;
            }
        };
        let sided = self.clause.has(|m| matches!(m, Meaning::Side(_)));
        if self.clause.has(|m| *m == Meaning::Edge) && !sided && (aims || self.clause.head == Head::Adjust) {
            self.note("Which edge do you mean? Say “the left edge” or “the top edge”.");
            return None;
        }
        let unknown = self.unknown();
        if parts.is_empty() && aims && !unknown.is_empty() {
            self.note(cannot_find(self.source, &unknown));
            return None;
        }
        parts.retain(|part| !part.is_whole());
        Some(self.or_around(parts))
    }

    /// "everything but the middle"
    fn or_around(&self, parts: Vec<Place>) -> Vec<Place> {
        match parts.as_slice() {
            [only] if self.clause.has(|m| *m == Meaning::Except) => only.around(),
            _ => parts,
        }
    }

    /// The same look on every part.
    fn on_parts(&mut self, tool: &'static str, arguments: &Map<String, Value>, did: &str, parts: &[Place]) {
        if parts.is_empty() {
            return self.edit(tool, arguments.clone(), did_to(did, None));
        }
        let mut names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
        names.dedup();
        let did = did_to(did, Some(&joined(&names)));
        for part in parts {
            let mut arguments = arguments.clone();
            arguments.insert("region".to_owned(), region(part.region));
            self.edit(tool, arguments, did.clone());
        }
    }

    /// Filters go along with any other request: "crop to a square in black and white".
    pub fn filters(&mut self) {
        let head = self.clause.head;
        // "undo the black and white", "write sepia"
        if matches!(head, Head::Undo | Head::Redo | Head::Original | Head::Write | Head::Sign | Head::Redact)
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
        if names.is_empty() && head == Head::Filter {
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
        let here = self.clause.head == Head::Filter;
        let Some(parts) = (if here { self.parts(filter.aims) } else { Some(Vec::new()) }) else {
            return;
        };
        let mut arguments = with("filter", name);
        let percent = numbers(&self.flat()).into_iter().find(|(_, unit)| *unit == Some(Unit::Percent));
        let percent = percent.map(|(value, _)| value).filter(|_| here && parts.is_empty());
        let strength = percent.or(self.much().map(|much| filter.usual * much));
        if let Some(strength) = strength.map(|strength| strength.round().clamp(1.0, 100.0))
            && strength != filter.usual
        {
            arguments.insert("strength".to_owned(), number(strength));
        }
        let colours: Vec<&String> = self.clause.atoms().filter_map(|atom| colour(&atom.meaning)).collect();
        if let ("duotone", [dark, light]) = (name, colours.as_slice()) {
            arguments.insert("colors".to_owned(), json!([dark, light]));
        }
        self.on_parts("filter_image", &arguments, &filter.did, &parts);
    }

    /// All that a clause says about light and colour, in one call.
    pub fn adjustments(&mut self) {
        let head = self.clause.head;
        let wanted = |m: &Meaning| matches!(m, Meaning::Adjust(..) | Meaning::AutoLevels);
        let along =
            head.edits() && !matches!(head, Head::Write | Head::Sign | Head::Redact | Head::Highlight);
        if !(along || head == Head::Collage) || !self.clause.has(wanted) {
            return;
        }
        let here = matches!(head, Head::Adjust | Head::Filter);
        let Some(parts) = (if here { self.parts(false) } else { Some(Vec::new()) }) else {
            return;
        };
        let (arguments, did) = self.amounts(head == Head::Adjust && parts.is_empty());
        if !arguments.is_empty() {
            self.on_parts("adjust_image", &arguments, &joined(&did), &parts);
        }
    }

    /// Each thing to adjust and by how much; a number belongs to what it stands beside.
    fn amounts(&self, counted: bool) -> (Map<String, Value>, Vec<String>) {
        let mut arguments = Map::new();
        let mut did: Vec<String> = Vec::new();
        let mut way = 1.0;
        let much = self.much();
        let how = match much {
            Some(much) if much < 1.0 => "a bit ",
            Some(_) => "much ",
            None => "",
        };
        for (at, group) in self.clause.groups.iter().enumerate() {
            let named = |atom: &&super::atoms::Atom| matches!(atom.meaning, Meaning::Adjust(..));
            let beside = match self.clause.groups.get(at + 1) {
                // "contrast +20": the plus reads as "and".
                Some(next) if !next.iter().any(|atom| named(&atom)) => [group.clone(), next.clone()].concat(),
                _ => group.clone(),
            };
            let mut said = numbers(&beside).into_iter().filter(|_| counted).map(|(value, _)| value);
            for atom in group {
                let (name, sign) = match &atom.meaning {
                    Meaning::AutoLevels => {
                        arguments.insert("auto_levels".to_owned(), json!(true));
                        did.push("balanced the light and colours{of}".to_owned());
                        continue;
                    }
                    Meaning::Adjust(name, Way::Up) => (name, 1.0),
                    Meaning::Adjust(name, Way::Down) => (name, -1.0),
                    // "reduce the brightness and contrast"
                    Meaning::Adjust(name, Way::Unsaid) => (name, way),
                    _ => continue,
                };
                way = sign;
                let amount = said.next().unwrap_or(USUAL * much.unwrap_or(1.0)) * sign;
                let amount = amount.round().clamp(-100.0, 100.0);
                let Some(words) = self.grammar.adjustment(name).filter(|_| amount != 0.0) else {
                    continue;
                };
                let told = if amount > 0.0 { &words.up } else { &words.down };
                if arguments.insert(name.clone(), number(amount)).is_none() {
                    did.push(told.replace("{how}", how));
                }
            }
        }
        (arguments, did)
    }

    pub fn redact(&mut self) {
        let mut parts = match places(&self.flat()) {
            Ok(parts) => parts,
            Err(reason) => return self.note(reason),
        };
        if parts.is_empty() {
            let unknown = self.unknown();
            if unknown.is_empty() {
                return self.note(
                    "Which part should I hide? Say “hide the bottom right” or “black out the left third”.",
                );
            }
            return self.note(cannot_find(self.source, &unknown));
        }
        parts = self.or_around(parts);
        let named = |wanted: &str| self.clause.has(|m| matches!(m, Meaning::Filter(name) if name == wanted));
        let style = match () {
            () if named("pixelate") => "pixelate",
            () if named("blur") => "blur",
            () => "fill",
        };
        let regions: Vec<Value> = parts.iter().map(|part| region(part.region)).collect();
        let mut arguments = with("regions", regions);
        arguments.insert("style".to_owned(), json!(style));
        if let Some(colour) = self.clause.atoms().find_map(|atom| colour(&atom.meaning))
            && style == "fill"
        {
            arguments.insert("color".to_owned(), json!(colour));
        }
        let mut names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
        names.dedup();
        self.edit("redact_image", arguments, format!("hid {}", joined(&names)));
    }
}

pub fn colour(meaning: &Meaning) -> Option<&String> {
    match meaning {
        Meaning::Colour(name) => Some(name),
        _ => None,
    }
}
