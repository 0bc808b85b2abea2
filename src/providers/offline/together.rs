//! Several pictures into one: which way, and which pictures if nobody says.

use super::looks::colour;
use super::meaning::{Axis, Film, Meaning, Unit};
use super::measures::number;
use super::places::numbers;
use super::steps::{Reading, Work, with};
use super::targets::{NoTarget, Pick, Wants, choose, newest_groups, origin, pictures};
use crate::domain::{Attachment, AttachmentId, AttachmentSource};
use crate::providers::Focus;
use serde_json::{Map, json};

/// How many pictures it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// One against the other; the first is the earlier one.
    Two,
    TwoOrMore,
}

impl Needs {
    fn met(self, count: usize) -> Result<(), NoTarget> {
        match self {
            _ if count < 2 => Err(NoTarget::TooFew),
            Self::Two if count > 2 => Err(NoTarget::TooMany { have: count }),
            Self::Two | Self::TwoOrMore => Ok(()),
        }
    }
}

impl Reading<'_> {
    pub fn collage(&mut self) {
        let layouts: Vec<String> = self.clause.atoms().filter_map(|atom| layout(&atom.meaning)).collect();
        let axis = self.clause.atoms().find_map(|atom| match atom.meaning {
            Meaning::Axis(Axis::Horizontal) => Some("row"),
            Meaning::Axis(Axis::Vertical) => Some("column"),
            _ => None,
        });
        // "a collage, side by side": the more exact word counts.
        let said = layouts.iter().map(String::as_str).find(|layout| *layout != "grid");
        let layout = said.or(axis).unwrap_or("grid");
        let (needs, did) = match layout {
            "row" => (Needs::TwoOrMore, "put {n} side by side"),
            "column" => (Needs::TwoOrMore, "put {n} one above the other"),
            "before_after" => (Needs::Two, "put before and after side by side"),
            "contact_sheet" => (Needs::TwoOrMore, "put {n} on a contact sheet"),
            _ => (Needs::TwoOrMore, "put {n} in a collage"),
        };
        let mut arguments = with("layout", layout);
        // "a black and white collage" is a filter, "on black" a background.
        if let Some(colour) = self.clause.atoms().find_map(|atom| colour(&atom.meaning)) {
            arguments.insert("background".to_owned(), json!(colour));
        }
        self.other(Work::Combine(needs), "collage_images", arguments, did.into());
    }

    pub fn compare(&mut self) {
        self.other(Work::Combine(Needs::Two), "compare_images", Map::new(), String::new());
    }

    pub fn animate(&mut self) {
        let webp = self.clause.has(|m| matches!(m, Meaning::Format(format) if format == "webp"));
        let slideshow = self.clause.has(|m| *m == Meaning::Film(Film::Slideshow));
        let seconds = numbers(&self.flat()).into_iter().find(|(_, unit)| *unit == Some(Unit::Seconds));
        let seconds = seconds.map(|(seconds, _)| seconds.clamp(0.02, 10.0)).or(slideshow.then_some(2.0));
        let mut arguments = with("format", if webp { "webp" } else { "gif" });
        if let Some(seconds) = seconds {
            arguments.insert("seconds_per_image".to_owned(), number(seconds));
        }
        let did = if slideshow { "made a slideshow of {n}" } else { "made an animation of {n}" };
        self.other(Work::Combine(Needs::TwoOrMore), "animate_images", arguments, did.into());
    }
}

fn layout(meaning: &Meaning) -> Option<String> {
    match meaning {
        Meaning::Layout(layout) => Some(layout.clone()),
        _ => None,
    }
}

/// The pictures that belong together, in order: those sent, those replied to, else the newest that came together.
pub fn several(focus: &Focus, pick: Option<&Pick>, needs: Needs) -> Result<Vec<AttachmentId>, NoTarget> {
    let whole = matches!(pick, None | Some(Pick::All | Pick::Them));
    if !whole {
        let chosen = choose(focus, pick, Wants::Pictures)?.ids;
        needs.met(chosen.len())?;
        return Ok(chosen);
    }
    let (sent, replied) = (pictures(&focus.sent), pictures(&focus.replied));
    let album = pictures(&focus.album);
    let around = if album.len() > replied.len() { &album } else { &replied };
    let recent = pictures(&focus.recent);
    let mut groups = vec![sent.clone()];
    // "compare this with it"
    groups.push([around.as_slice(), &sent].concat());
    if needs == Needs::Two {
        let edited = sent.is_empty().then(|| replied.first().or(recent.first())).flatten();
        groups.extend(edited.and_then(|edited| before(focus, edited)));
    }
    if sent.is_empty() {
        groups.extend(newest_groups(&recent));
        let by_people = recent.iter().rev().filter(|file| file.source == AttachmentSource::User);
        groups.push(by_people.cloned().collect());
    }
    let mut answer = Err(NoTarget::TooFew);
    for group in groups {
        match needs.met(group.len()) {
            Ok(()) => return Ok(group.iter().map(|file| file.attachment_id).collect()),
            Err(reason @ NoTarget::TooMany { .. }) if answer == Err(NoTarget::TooFew) => answer = Err(reason),
            Err(_) => {}
        }
    }
    if answer == Err(NoTarget::TooFew) && recent.is_empty() && sent.is_empty() && replied.is_empty() {
        return Err(NoTarget::Nothing);
    }
    answer
}

/// An edited picture after what it was made from.
fn before(focus: &Focus, edited: &Attachment) -> Option<Vec<Attachment>> {
    let first = origin(focus, edited)?;
    let mut before = edited.clone();
    before.attachment_id = first;
    Some(vec![before, edited.clone()])
}
