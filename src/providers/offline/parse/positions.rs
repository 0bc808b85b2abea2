//! Words for positions → regions. A side is half of the picture, a corner a quarter, the middle the middle half;
//! a fraction, a percentage or four numbers are more exact.

use super::atoms::Atom;
use super::meaning::{Meaning, MeasureUnit, RegionBounds, Side};
use super::measures::{Measure, measures};

/// Width of "the left edge", as a share of the picture.
const EDGE_FRACTION: f64 = 0.15;
const WHOLE_PICTURE: RegionBounds = [0, 0, 1000, 1000];

/// A region and its name in the reply, such as "the top left".
#[derive(Debug, Clone, PartialEq)]
pub struct NamedRegion {
    pub region: RegionBounds,
    pub name: String,
}

/// Why four numbers make no region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PositionError {
    /// In pixels, or not from 0 to 1000.
    OutOfRange,
    /// No width or no height.
    Empty,
}

impl NamedRegion {
    pub fn whole() -> Self {
        Self { region: WHOLE_PICTURE, name: "the whole picture".into() }
    }

    pub fn is_whole(&self) -> bool {
        self.region == WHOLE_PICTURE
    }

    /// The rest of the picture, as up to four strips.
    pub fn complement(&self) -> Vec<Self> {
        let [left, top, right, bottom] = self.region;
        let strips =
            [[0, 0, 1000, top], [0, bottom, 1000, 1000], [0, top, left, bottom], [right, top, 1000, bottom]];
        let name = format!("everything but {}", self.name);
        let strips = strips.into_iter().filter(|[left, top, right, bottom]| left < right && top < bottom);
        strips.map(|region| Self { region, name: name.clone() }).collect()
    }

    /// The picture that remains when this region is cut off. `None` unless the region is a strip along one side.
    pub fn remainder(&self) -> Option<RegionBounds> {
        match self.region {
            WHOLE_PICTURE => None,
            [0, 0, right, 1000] => Some([right, 0, 1000, 1000]),
            [left, 0, 1000, 1000] => Some([0, 0, left, 1000]),
            [0, 0, 1000, bottom] => Some([0, bottom, 1000, 1000]),
            [0, top, 1000, 1000] => Some([0, 0, 1000, top]),
            _ => None,
        }
    }
}

/// All regions the atoms name, in order.
pub fn named_regions(atoms: &[Atom]) -> Result<Vec<NamedRegion>, PositionError> {
    let measures = measures(atoms);
    if measures.len() >= 4 {
        return measures.chunks_exact(4).map(region_from_corners).collect();
    }
    let percent =
        measures.iter().find(|measure| measure.is(MeasureUnit::Percent)).map(|measure| measure.value);
    let mut found = Vec::new();
    let mut sides = PendingSides::default();
    for atom in atoms {
        match &atom.meaning {
            Meaning::Side(side) => {
                if sides.clashes(*side) {
                    found.extend(std::mem::take(&mut sides).finish(percent));
                }
                let fraction = sides.leading.take();
                sides.named.push((*side, fraction));
            }
            Meaning::Fraction(of, name) => match sides.named.last_mut() {
                Some((_, fraction)) => *fraction = Some((*of, name.clone())),
                None => sides.leading = Some((*of, name.clone())),
            },
            Meaning::Edge => match sides.named.last_mut() {
                Some((_, fraction)) => *fraction = Some((EDGE_FRACTION, "edge".into())),
                None => sides.leading = Some((EDGE_FRACTION, "edge".into())),
            },
            // "the upper left and lower right corners"
            Meaning::Regions(_, regions) if regions.len() > 1 && !sides.named.is_empty() => {}
            Meaning::Regions(name, regions) => {
                found.extend(std::mem::take(&mut sides).finish(percent));
                found
                    .extend(regions.iter().map(|region| NamedRegion { region: *region, name: name.clone() }));
            }
            Meaning::Unknown | Meaning::Colour(_) | Meaning::Label | Meaning::Shape(_) => {
                found.extend(std::mem::take(&mut sides).finish(percent));
            }
            _ => {}
        }
    }
    found.extend(sides.finish(percent));
    Ok(found)
}

/// "from 100,200 to 400,500": the numbers are corners and select no photos.
pub fn has_corners(atoms: &[Atom]) -> bool {
    let first = atoms.iter().position(|atom| matches!(atom.meaning, Meaning::Number(_)));
    let led_to = first.and_then(|at| at.checked_sub(1)).map(|at| &atoms[at].meaning);
    led_to == Some(&Meaning::Preposition) && measures(atoms).len() >= 4
}

fn region_from_corners(four: &[Measure]) -> Result<NamedRegion, PositionError> {
    let percent = four.iter().any(|measure| measure.is(MeasureUnit::Percent));
    let scale = if percent { 10.0 } else { 1.0 };
    let scaled: Vec<f64> = four.iter().map(|measure| measure.value * scale).collect();
    let pixels = four.iter().any(|measure| measure.is(MeasureUnit::Pixels));
    if pixels || scaled.iter().any(|value| !(0.0..=1000.0).contains(value)) {
        return Err(PositionError::OutOfRange);
    }
    let [a, b, c, d] = [scaled[0], scaled[1], scaled[2], scaled[3]].map(|value| value.round() as u32);
    let region = [a.min(c), b.min(d), a.max(c), b.max(d)];
    if region[0] == region[2] || region[1] == region[3] {
        return Err(PositionError::Empty);
    }
    let name = format!("the area from {},{} to {},{}", region[0], region[1], region[2], region[3]);
    Ok(NamedRegion { region, name })
}

/// The share of a side, and its name in the reply.
type NamedFraction = (f64, String);

/// The sides of the region being read, each with the fraction after it.
#[derive(Default)]
struct PendingSides {
    named: Vec<(Side, Option<NamedFraction>)>,
    /// A fraction before any side: "half of the left".
    leading: Option<NamedFraction>,
}

fn is_vertical(side: Side) -> bool {
    matches!(side, Side::Top | Side::Bottom)
}

impl PendingSides {
    /// Whether a new side starts a new region: "left, right".
    fn clashes(&self, new: Side) -> bool {
        let same_kind = |side: Side| match new {
            Side::Middle => side == Side::Middle,
            _ => side != Side::Middle && is_vertical(side) == is_vertical(new),
        };
        self.named.len() >= 2 || self.named.iter().any(|(side, _)| same_kind(*side))
    }

    fn finish(mut self, percent: Option<f64>) -> Option<NamedRegion> {
        if let (Some(percent), Some((_, fraction))) = (percent, self.named.last_mut()) {
            *fraction = Some(((percent / 100.0).clamp(0.01, 1.0), format!("{percent}%")));
        }
        let shared = self.named.last()?.1.clone();
        let corner = self.named.iter().all(|(side, _)| *side != Side::Middle) && self.named.len() == 2;
        let (mut across, mut down) = ((0.0, 1.0), (0.0, 1.0));
        let only_middle = self.named.iter().all(|(side, _)| *side == Side::Middle);
        let middle_is_across = self.named.iter().any(|(side, _)| is_vertical(*side));
        for (side, own) in &self.named {
            let mut of = own.as_ref().or(shared.as_ref()).map_or(0.5, |(of, _)| *of);
            if corner && of == 0.25 {
                // A quarter of the picture in a corner is half of each side.
                of = 0.5;
            }
            let middle = ((1.0 - of) / 2.0, (1.0 + of) / 2.0);
            match side {
                Side::Left => across = (0.0, of),
                Side::Right => across = (1.0 - of, 1.0),
                Side::Top => down = (0.0, of),
                Side::Bottom => down = (1.0 - of, 1.0),
                Side::Middle if only_middle => (across, down) = (middle, middle),
                Side::Middle if middle_is_across => across = middle,
                Side::Middle => down = middle,
            }
        }
        let thousandths = |part: f64| (part * 1000.0).round() as u32;
        let region = [across.0, down.0, across.1, down.1].map(thousandths);
        Some(NamedRegion { region, name: self.name() })
    }

    fn name(&self) -> String {
        let mut words = vec!["the".to_owned()];
        for (side, fraction) in &self.named {
            words.push(format!("{side:?}").to_lowercase());
            words.extend(fraction.as_ref().map(|(_, name)| name.to_lowercase()));
        }
        words.join(" ")
    }
}
