//! Text on pictures: captions and watermarks.

use super::planner::{ClausePlanner, argument, colour_of, json_region};
use crate::providers::offline::parse::atoms::Atom;
use crate::providers::offline::parse::intent::contains;
use crate::providers::offline::parse::meaning::{Meaning, RegionBounds, Side};
use crate::providers::offline::parse::overlay_text::take_overlay_text;
use crate::providers::offline::parse::positions::named_regions;
use crate::providers::offline::reply::{actions, questions};
use serde_json::{Map, Value, json};

/// Height of a caption's line, in thousandths of the shorter side.
const CAPTION_SIZE: u32 = 70;

impl ClausePlanner<'_> {
    pub fn write(&mut self) {
        let (text, rest) = take_overlay_text(self.source, &self.atoms());
        let Some(text) = text else {
            return self.ask(questions::WRITE_WHAT);
        };
        let sides = named_sides(&rest);
        let (strip, align, position) = caption_strip(&sides);
        let region = match named_regions(&rest) {
            // Four numbers are more exact than a side.
            Ok(regions) if sides.is_empty() => {
                regions.first().filter(|region| !region.is_whole()).map_or(strip, |region| region.region)
            }
            _ => strip,
        };
        let mut item =
            json!({"type": "text", "text": text, "region": json_region(region), "size": CAPTION_SIZE});
        if align != "center" {
            item["align"] = json!(align);
        }
        if let Some(colour) = rest.iter().find_map(|atom| colour_of(&atom.meaning)) {
            item["color"] = json!(colour);
        }
        let did = actions::wrote(&text, &position);
        self.edit("annotate_image", argument("items", vec![item]), did);
    }

    pub fn watermark(&mut self) {
        let (text, rest) = take_overlay_text(self.source, &self.atoms());
        let Some(text) = text else {
            return self.ask(questions::WATERMARK_WHAT);
        };
        if text.to_lowercase().ends_with("logo") && !self.clause.has(|m| matches!(m, Meaning::Quoted(_))) {
            return self.ask(questions::WATERMARK_WORDS_ONLY);
        }
        let mut arguments: Map<String, Value> = argument("text", text.as_str());
        let tiled = contains(&rest, |m| matches!(m, Meaning::Regions(..)));
        let sides = named_sides(&rest);
        let position = match (sides.contains(&Side::Top), sides.contains(&Side::Left)) {
            _ if tiled => Some("tile"),
            _ if sides.is_empty() => None,
            _ if sides == [Side::Middle] => Some("center"),
            (true, true) => Some("top-left"),
            (true, false) => Some("top-right"),
            (false, true) => Some("bottom-left"),
            (false, false) => Some("bottom-right"),
        };
        if let Some(position) = position {
            arguments.insert("position".to_owned(), json!(position));
        }
        if let Some(colour) = rest.iter().find_map(|atom| colour_of(&atom.meaning)) {
            arguments.insert("color".to_owned(), json!(colour));
        }
        self.edit("watermark_image", arguments, actions::watermarked(&text));
    }
}

fn named_sides(atoms: &[Atom]) -> Vec<Side> {
    let side = |atom: &Atom| if let Meaning::Side(side) = atom.meaning { Some(side) } else { None };
    atoms.iter().filter_map(side).collect()
}

/// The strip a caption is written in, its alignment, and the position for the reply. The strip lies along a side, so
/// that the text covers little of the picture.
fn caption_strip(sides: &[Side]) -> (RegionBounds, &'static str, String) {
    let has = |side: Side| sides.contains(&side);
    let (left, right, align, across) = match () {
        () if has(Side::Left) => (30, 500, "left", Some("left")),
        () if has(Side::Right) => (500, 970, "right", Some("right")),
        () => (40, 960, "center", None),
    };
    let (top, bottom, down) = match () {
        () if has(Side::Top) => (30, 180, Some("top")),
        () if has(Side::Middle) || (across.is_some() && !has(Side::Bottom)) => (350, 650, None),
        () => (820, 970, Some("bottom")),
    };
    let position = match (down, across) {
        (Some(down), Some(across)) => format!("in the {down} {across}"),
        (Some(down), None) => format!("at the {down}"),
        (None, Some(across)) => format!("on the {across}"),
        (None, None) => "in the middle".to_owned(),
    };
    ([left, top, right, bottom], align, position)
}
