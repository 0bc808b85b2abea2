//! Words for places into regions: a side is half the picture, a corner a quarter, the middle the middle half;
//! a fraction, a percentage or four numbers say it more exactly.

use super::atoms::Atom;
use super::meaning::{Meaning, Region, Side, Unit};

const EDGE: f64 = 0.15;
const WHOLE: Region = [0, 0, 1000, 1000];

#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    pub region: Region,
    /// "the top left", as the answer says it.
    pub name: String,
}

impl Place {
    pub fn whole() -> Self {
        Self { region: WHOLE, name: "the whole picture".into() }
    }

    pub fn is_whole(&self) -> bool {
        self.region == WHOLE
    }

    /// All but this place, in strips.
    pub fn around(&self) -> Vec<Self> {
        let [left, top, right, bottom] = self.region;
        let strips =
            [[0, 0, 1000, top], [0, bottom, 1000, 1000], [0, top, left, bottom], [right, top, 1000, bottom]];
        let name = format!("everything but {}", self.name);
        let strips = strips.into_iter().filter(|[left, top, right, bottom]| left < right && top < bottom);
        strips.map(|region| Self { region, name: name.clone() }).collect()
    }

    /// What is left when this is cut off; only a strip along one side leaves a picture.
    pub fn rest(&self) -> Option<Region> {
        match self.region {
            WHOLE => None,
            [0, 0, right, 1000] => Some([right, 0, 1000, 1000]),
            [left, 0, 1000, 1000] => Some([0, 0, left, 1000]),
            [0, 0, 1000, bottom] => Some([0, bottom, 1000, 1000]),
            [0, top, 1000, 1000] => Some([0, 0, 1000, top]),
            _ => None,
        }
    }
}

/// All places named, in order; or what to tell the person about numbers that make none.
pub fn places(atoms: &[Atom]) -> Result<Vec<Place>, String> {
    let numbers = numbers(atoms);
    if numbers.len() >= 4 {
        return numbers.chunks_exact(4).map(from_numbers).collect();
    }
    let percent = numbers.iter().find(|(_, unit)| *unit == Some(Unit::Percent)).map(|(value, _)| *value);
    let mut found = Vec::new();
    let mut sides = Sides::default();
    for atom in atoms {
        match &atom.meaning {
            Meaning::Side(side) => {
                if sides.clashes(*side) {
                    found.extend(std::mem::take(&mut sides).place(percent));
                }
                let fraction = sides.leading.take();
                sides.named.push((*side, fraction));
            }
            Meaning::Fraction(of, name) => match sides.named.last_mut() {
                Some((_, fraction)) => *fraction = Some((*of, name.clone())),
                None => sides.leading = Some((*of, name.clone())),
            },
            Meaning::Edge => match sides.named.last_mut() {
                Some((_, fraction)) => *fraction = Some((EDGE, "edge".into())),
                None => sides.leading = Some((EDGE, "edge".into())),
            },
            // "the upper left and lower right corners"
            Meaning::Regions(_, regions) if regions.len() > 1 && !sides.named.is_empty() => {}
            Meaning::Regions(name, regions) => {
                found.extend(std::mem::take(&mut sides).place(percent));
                found.extend(regions.iter().map(|region| Place { region: *region, name: name.clone() }));
            }
            Meaning::Unknown | Meaning::Colour(_) | Meaning::Label | Meaning::Shape(_) => {
                found.extend(std::mem::take(&mut sides).place(percent));
            }
            _ => {}
        }
    }
    found.extend(sides.place(percent));
    Ok(found)
}

/// "from 100,200 to 400,500": these numbers are corners, and count no photos.
pub fn says_area(atoms: &[Atom]) -> bool {
    let first = atoms.iter().position(|atom| matches!(atom.meaning, Meaning::Number(_)));
    let led_to = first.and_then(|at| at.checked_sub(1)).map(|at| &atoms[at].meaning);
    led_to == Some(&Meaning::Preposition) && numbers(atoms).len() >= 4
}

/// Numbers with the unit that follows them.
pub fn numbers(atoms: &[Atom]) -> Vec<(f64, Option<Unit>)> {
    let unit = |at: usize| match atoms.get(at).map(|atom| &atom.meaning) {
        Some(Meaning::Unit(unit)) => Some(*unit),
        _ => None,
    };
    let numbers = atoms.iter().enumerate().filter_map(|(at, atom)| match atom.meaning {
        Meaning::Number(value) => Some((value, unit(at + 1))),
        _ => None,
    });
    numbers.collect()
}

fn from_numbers(four: &[(f64, Option<Unit>)]) -> Result<Place, String> {
    let percent = four.iter().any(|(_, unit)| *unit == Some(Unit::Percent));
    let scale = if percent { 10.0 } else { 1.0 };
    let scaled: Vec<f64> = four.iter().map(|(value, _)| value * scale).collect();
    let pixels = four.iter().any(|(_, unit)| *unit == Some(Unit::Pixels));
    if pixels || scaled.iter().any(|value| !(0.0..=1000.0).contains(value)) {
        return Err("I count places in thousandths of the picture, from 0 to 1000, or in percent: \
                    “from 100,200 to 400,500” or “from 10%,20% to 40%,50%”."
            .into());
    }
    let [a, b, c, d] = [scaled[0], scaled[1], scaled[2], scaled[3]].map(|value| value.round() as u32);
    let region = [a.min(c), b.min(d), a.max(c), b.max(d)];
    if region[0] == region[2] || region[1] == region[3] {
        return Err(
            "Those numbers leave no room: the first pair is one corner, the second the opposite one.".into(),
        );
    }
    let name = format!("the area from {},{} to {},{}", region[0], region[1], region[2], region[3]);
    Ok(Place { region, name })
}

type Part = (f64, String);

/// The sides of one place so far, each with the fraction said after it.
#[derive(Default)]
struct Sides {
    named: Vec<(Side, Option<Part>)>,
    leading: Option<Part>,
}

fn upright(side: Side) -> bool {
    matches!(side, Side::Top | Side::Bottom)
}

impl Sides {
    fn clashes(&self, new: Side) -> bool {
        let same_kind = |side: Side| match new {
            Side::Middle => side == Side::Middle,
            _ => side != Side::Middle && upright(side) == upright(new),
        };
        self.named.len() >= 2 || self.named.iter().any(|(side, _)| same_kind(*side))
    }

    fn place(mut self, percent: Option<f64>) -> Option<Place> {
        if let (Some(percent), Some((_, fraction))) = (percent, self.named.last_mut()) {
            *fraction = Some(((percent / 100.0).clamp(0.01, 1.0), format!("{percent}%")));
        }
        let shared = self.named.last()?.1.clone();
        let corner = self.named.iter().all(|(side, _)| *side != Side::Middle) && self.named.len() == 2;
        let (mut across, mut down) = ((0.0, 1.0), (0.0, 1.0));
        let only_middle = self.named.iter().all(|(side, _)| *side == Side::Middle);
        let middle_is_across = self.named.iter().any(|(side, _)| upright(*side));
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
        Some(Place { region, name: self.name() })
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
