//! Framing: crop to an aspect ratio or to a region, cut off a side, trim borders.

use super::planner::{ClausePlanner, argument, json_region};
use super::resize::exact_size;
use crate::providers::offline::parse::intent::{MIN_PIXEL_RATIO, is_position};
use crate::providers::offline::parse::meaning::{Meaning, RegionBounds};
use crate::providers::offline::reply::{actions, questions};

impl ClausePlanner<'_> {
    pub fn crop(&mut self) {
        let aspect = self.clause.atoms().find_map(|atom| match &atom.meaning {
            Meaning::Aspect(aspect) => Some((aspect.clone(), None)),
            Meaning::Ratio(width, height) if width.min(*height) >= 1.0 => {
                let in_pixels = width.min(*height) >= MIN_PIXEL_RATIO;
                Some((reduced_ratio(*width, *height), in_pixels.then(|| exact_size(*width, *height))))
            }
            _ => None,
        });
        let Some(mut regions) = self.regions_or_ask() else {
            return;
        };
        regions.retain(|region| !region.is_whole());
        if regions.is_empty() && aspect.is_none() {
            return self.ask_for_position(questions::CROP_HOW);
        }
        if let Some(first) = regions.first() {
            let union = regions.iter().fold(first.region, |a, region| {
                let b = region.region;
                [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]
            });
            let names: Vec<String> = regions.iter().map(|region| region.name.clone()).collect();
            self.crop_to(union, actions::cropped_to_regions(&names));
        }
        if let Some((aspect, size)) = aspect {
            let did = actions::cropped_to_aspect(&aspect);
            self.edit("crop_image", argument("aspect", aspect), did);
            if let Some((arguments, did)) = size {
                self.edit("resize_image", arguments, did);
            }
        }
    }

    fn crop_to(&mut self, region: RegionBounds, did: String) {
        self.edit("crop_image", argument("region", json_region(region)), did);
    }

    /// "cut off the top third"
    pub fn cut_off(&mut self) {
        let Some(regions) = self.regions_or_ask() else {
            return;
        };
        match regions.first().and_then(|region| Some((region, region.remainder()?))) {
            Some((region, remainder)) => self.crop_to(remainder, actions::cut_off(&region.name)),
            None => self.ask(questions::CUT_OFF_ONE_SIDE),
        }
    }

    /// "cut out the left half" is a crop; everything else needs the models that see.
    pub fn cut_out_blindly(&mut self) {
        if self.clause.has(is_position) {
            return self.crop();
        }
        self.ask(questions::CANNOT_CUT_OUT);
    }

    /// Without the models that see, nothing can be erased.
    pub fn erase_blindly(&mut self) {
        self.ask_for_position(questions::CANNOT_ERASE);
    }

    pub fn trim(&mut self) {
        self.edit("crop_image", argument("trim", true), actions::TRIMMED);
    }
}

/// "16:9", in lowest terms.
fn reduced_ratio(width: f64, height: f64) -> String {
    let (width, height) = (width.round().max(1.0) as u64, height.round().max(1.0) as u64);
    let (mut a, mut b) = (width, height);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    format!("{}:{}", width / a, height / a)
}
