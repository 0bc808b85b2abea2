//! Several pictures made into one: collage, comparison, animation.

use super::planner::{ClausePlanner, StepKind, argument, json_number};
use crate::providers::offline::parse::meaning::{AnimationKind, FlipAxis, Meaning, MeasureUnit};
use crate::providers::offline::parse::measures::measures;
use crate::providers::offline::reply::actions;
use crate::providers::offline::targets::combine::RequiredPictures;
use serde_json::{Map, json};

const MIN_SECONDS_PER_IMAGE: f64 = 0.02;
const MAX_SECONDS_PER_IMAGE: f64 = 10.0;
const DEFAULT_SLIDESHOW_SECONDS: f64 = 2.0;

impl ClausePlanner<'_> {
    pub fn collage(&mut self) {
        // "a collage, side by side": "grid" is the least specific layout.
        let layout = self.clause.atoms().find_map(|atom| match &atom.meaning {
            Meaning::Layout(layout) if layout != "grid" => Some(layout.as_str()),
            _ => None,
        });
        let axis = self.clause.atoms().find_map(|atom| match atom.meaning {
            Meaning::Axis(FlipAxis::Horizontal) => Some("row"),
            Meaning::Axis(FlipAxis::Vertical) => Some("column"),
            _ => None,
        });
        let layout = layout.or(axis).unwrap_or("grid");
        let required = match layout {
            "before_after" => RequiredPictures::ExactlyTwo,
            _ => RequiredPictures::TwoOrMore,
        };
        let mut arguments = argument("layout", layout);
        // "a black and white collage" is a filter, "on black" a background.
        if let Some(colour) = self.colour() {
            arguments.insert("background".to_owned(), json!(colour));
        }
        let did = actions::collage(layout);
        self.step(StepKind::Combine(required), "collage_images", arguments, did);
    }

    pub fn compare(&mut self) {
        self.step(StepKind::Combine(RequiredPictures::ExactlyTwo), "compare_images", Map::new(), "");
    }

    pub fn animate(&mut self) {
        let webp = self.clause.has(|m| matches!(m, Meaning::Format(format) if format == "webp"));
        let slideshow = self.clause.has(|m| *m == Meaning::Animation(AnimationKind::Slideshow));
        let seconds = measures(&self.atoms()).into_iter().find(|measure| measure.is(MeasureUnit::Seconds));
        let seconds = seconds
            .map(|measure| measure.value.clamp(MIN_SECONDS_PER_IMAGE, MAX_SECONDS_PER_IMAGE))
            .or(slideshow.then_some(DEFAULT_SLIDESHOW_SECONDS));
        let mut arguments = argument("format", if webp { "webp" } else { "gif" });
        if let Some(seconds) = seconds {
            arguments.insert("seconds_per_image".to_owned(), json_number(seconds));
        }
        let kind = StepKind::Combine(RequiredPictures::TwoOrMore);
        self.step(kind, "animate_images", arguments, actions::animated(slideshow));
    }
}
