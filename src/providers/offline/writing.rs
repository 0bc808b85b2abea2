//! Text on pictures: what is to be written, where, and in which colour.

use super::atoms::Atom;
use super::heads::{has, is_pick, leads_to_text};
use super::lex;
use super::looks::{colour, region};
use super::meaning::{Meaning, Region, Side, Verb};
use super::places::{numbers, places};
use super::say::quoted;
use super::steps::{Reading, with};
use serde_json::{Map, Value, json};

const LONGEST_TEXT: usize = 200;
/// Height of a line in thousandths of the shorter side: a caption, not a footnote.
const SIZE: u32 = 70;

impl Reading<'_> {
    pub fn write(&mut self) {
        let (text, rest) = text(self.source, &self.flat());
        let Some(text) = text else {
            return self.note("What should I write? Say write “Hello” at the top.");
        };
        let sides = sides(&rest);
        let (place, align, name) = spot(&sides);
        let place = match places(&rest) {
            // Numbers say it exactly.
            Ok(places) if sides.is_empty() => {
                places.first().filter(|place| !place.is_whole()).map_or(place, |p| p.region)
            }
            _ => place,
        };
        let mut item = json!({"type": "text", "text": text, "region": region(place), "size": SIZE});
        if align != "center" {
            item["align"] = json!(align);
        }
        if let Some(colour) = rest.iter().find_map(|atom| colour(&atom.meaning)) {
            item["color"] = json!(colour);
        }
        let did = format!("wrote {} {name}", quoted(&text));
        self.edit("annotate_image", with("items", vec![item]), did);
    }

    pub fn sign(&mut self) {
        let (text, rest) = text(self.source, &self.flat());
        let Some(text) = text else {
            return self.note("What should the watermark say? Say watermark it with “© Ann”.");
        };
        if text.to_lowercase().ends_with("logo") && !self.clause.has(|m| matches!(m, Meaning::Quoted(_))) {
            return self.note("I can sign with words only. Say watermark it with “© Ann”.");
        }
        let mut arguments: Map<String, Value> = with("text", text.as_str());
        let whole = has(&rest, |m| matches!(m, Meaning::Regions(..)));
        let sides = sides(&rest);
        let position = match (sides.contains(&Side::Top), sides.contains(&Side::Left)) {
            _ if whole => Some("tile"),
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
        if let Some(colour) = rest.iter().find_map(|atom| colour(&atom.meaning)) {
            arguments.insert("color".to_owned(), json!(colour));
        }
        self.edit("watermark_image", arguments, format!("signed {{it}} with {}", quoted(&text)));
    }
}

fn sides(atoms: &[Atom]) -> Vec<Side> {
    let side = |atom: &Atom| if let Meaning::Side(side) = atom.meaning { Some(side) } else { None };
    atoms.iter().filter_map(side).collect()
}

/// Where text goes: a strip along the side, so that it covers little of the picture.
fn spot(sides: &[Side]) -> (Region, &'static str, String) {
    let said = |side: Side| sides.contains(&side);
    let (left, right, align, across) = match () {
        () if said(Side::Left) => (30, 500, "left", Some("left")),
        () if said(Side::Right) => (500, 970, "right", Some("right")),
        () => (40, 960, "center", None),
    };
    let (top, bottom, down) = match () {
        () if said(Side::Top) => (30, 180, Some("top")),
        () if said(Side::Middle) || (across.is_some() && !said(Side::Bottom)) => (350, 650, None),
        () => (820, 970, Some("bottom")),
    };
    let name = match (down, across) {
        (Some(down), Some(across)) => format!("in the {down} {across}"),
        (Some(down), None) => format!("at the {down}"),
        (None, Some(across)) => format!("on the {across}"),
        (None, None) => "in the middle".to_owned(),
    };
    ([left, top, right, bottom], align, name)
}

/// The text of a clause, and the clause without it.
fn text(source: &[char], atoms: &[Atom]) -> (Option<String>, Vec<Atom>) {
    let quote = atoms.iter().find_map(|atom| match &atom.meaning {
        Meaning::Quoted(text) => Some(text.clone()),
        _ => None,
    });
    if let Some(quote) = quote {
        let rest = atoms.iter().filter(|atom| !matches!(atom.meaning, Meaning::Quoted(_)));
        return (clip(&quote), rest.cloned().collect());
    }
    let Some(lead) = atoms.iter().position(|atom| leads_to_text(&atom.meaning)) else {
        return (None, atoms.to_vec());
    };
    let start = start(atoms, lead);
    let mut end = start;
    while end < atoms.len() && !details(&atoms[end..], end > start) {
        end += 1;
    }
    let after = end;
    while end > start && atoms[end - 1].meaning == Meaning::Polite {
        end -= 1;
    }
    let from = atoms[start - 1].end;
    let to = match atoms.get(end) {
        Some(next) => next.start,
        None => lex::unread_after(source, atoms[end - 1].end),
    };
    let written: String = source[from..to.max(from)].iter().collect();
    let rest = atoms[..start].iter().chain(&atoms[after..]);
    (clip(&written), rest.cloned().collect())
}

/// "watermark all of them with …", "write …": past whom it is for.
fn start(atoms: &[Atom], lead: usize) -> usize {
    let light = |m: &Meaning| {
        matches!(m, Meaning::It | Meaning::Them | Meaning::Filler | Meaning::Noun(_) | Meaning::Except)
            || is_pick(m)
    };
    let placed = |m: &Meaning| matches!(m, Meaning::Side(_) | Meaning::Regions(..) | Meaning::Colour(_));
    let joint = |m: &Meaning| matches!(m, Meaning::Preposition | Meaning::Label);
    let signs = atoms[lead].meaning == Meaning::Verb(Verb::Sign);
    let mut at = lead + 1;
    let mut start = at;
    while let Some(atom) = atoms.get(at) {
        match &atom.meaning {
            m if joint(m) => {
                start = at + 1;
                // "sign it as Ann": what follows is the text, whatever it is.
                if !atoms.get(at + 1).is_some_and(|next| light(&next.meaning) || placed(&next.meaning)) {
                    break;
                }
            }
            m if light(m) => {
                // "caption it Summer": past the pronoun; but "write the end" keeps its article.
                if matches!(m, Meaning::It | Meaning::Them) || (signs && is_pick(m)) {
                    start = at + 1;
                }
            }
            m if signs && placed(m) => {}
            _ => break,
        }
        at += 1;
    }
    start.min(atoms.len())
}

/// "… in red", "… at the top", "… on all of them": the text is over.
fn details(atoms: &[Atom], after_text: bool) -> bool {
    let four = numbers(atoms).len() >= 4;
    let detail = |m: &Meaning| {
        matches!(
            m,
            Meaning::Colour(_) | Meaning::Side(_) | Meaning::Regions(..) | Meaning::It | Meaning::Them
        ) || matches!(m, Meaning::Noun(_) | Meaning::Fraction(..))
            || is_pick(m)
            || (four && matches!(m, Meaning::Number(_)))
    };
    let light = |m: &Meaning| {
        matches!(m, Meaning::Filler | Meaning::Polite | Meaning::Preposition | Meaning::To | Meaning::Comma)
    };
    let rest = &atoms[1..];
    let leads = match atoms[0].meaning {
        Meaning::Preposition => has(rest, detail),
        // "© Ann all over"
        Meaning::Regions(..) => after_text,
        _ => false,
    };
    leads && rest.iter().all(|atom| detail(&atom.meaning) || light(&atom.meaning))
}

fn clip(text: &str) -> Option<String> {
    let quotes: &[char] = &['"', '“', '”', '„', '«', '»'];
    let text = text.trim().trim_matches(quotes).trim_start_matches(':').trim_end_matches([',', ';']).trim();
    let clipped: String = text.chars().filter(|c| !c.is_control()).take(LONGEST_TEXT).collect();
    (!clipped.is_empty()).then_some(clipped)
}
