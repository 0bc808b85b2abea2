//! Numbers of a clause with their units.

use super::atoms::Atom;
use super::meaning::{Meaning, MeasureUnit};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    pub value: f64,
    pub unit: Option<MeasureUnit>,
}

impl Measure {
    pub fn is(&self, unit: MeasureUnit) -> bool {
        self.unit == Some(unit)
    }
}

/// All numbers in order, each with the unit that follows it.
pub fn measures(atoms: &[Atom]) -> Vec<Measure> {
    let unit = |at: usize| match atoms.get(at).map(|atom| &atom.meaning) {
        Some(Meaning::Unit(unit)) => Some(*unit),
        _ => None,
    };
    let measures = atoms.iter().enumerate().filter_map(|(at, atom)| match atom.meaning {
        Meaning::Number(value) => Some(Measure { value, unit: unit(at + 1) }),
        _ => None,
    });
    measures.collect()
}
