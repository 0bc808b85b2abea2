//! Rotate, straighten and flip.

use super::planner::{ClausePlanner, argument, json_number};
use crate::providers::offline::parse::clauses::Clause;
use crate::providers::offline::parse::meaning::{FlipAxis, Meaning, Side, SpinDirection};
use crate::providers::offline::parse::measures::measures;
use crate::providers::offline::reply::{actions, questions};
use serde_json::json;

const DEFAULT_DEGREES: f64 = 90.0;

impl ClausePlanner<'_> {
    pub fn rotate(&mut self) {
        let degrees = self.degrees_clockwise();
        if degrees == 0.0 {
            return self.ask(questions::FULL_TURN);
        }
        self.edit("rotate_image", argument("degrees", json_number(degrees)), actions::rotated(degrees));
    }

    pub fn straighten(&mut self) {
        if !self.clause.has(|m| matches!(m, Meaning::Number(_))) {
            return self.ask(questions::STRAIGHTEN_BY);
        }
        let degrees = self.degrees_clockwise();
        if degrees == 0.0 {
            return self.ask(questions::FULL_TURN);
        }
        let degrees = if degrees > 180.0 { degrees - 360.0 } else { degrees };
        let mut arguments = argument("degrees", json_number(degrees));
        arguments.insert("straighten".to_owned(), json!(true));
        self.edit("rotate_image", arguments, actions::straightened(degrees));
    }

    pub fn flip(&mut self) {
        for axis in flip_axes(self.clause) {
            let direction = match axis {
                FlipAxis::Horizontal => "horizontal",
                FlipAxis::Vertical => "vertical",
            };
            self.edit("flip_image", argument("direction", direction), actions::flipped(axis));
        }
    }

    /// From 0 up to, but not including, 360.
    fn degrees_clockwise(&self) -> f64 {
        let atoms = self.atoms();
        let find = |read: fn(&Meaning) -> Option<f64>| atoms.iter().find_map(|atom| read(&atom.meaning));
        let direction = find(|m| match m {
            Meaning::Spin(SpinDirection::Clockwise) | Meaning::Side(Side::Right) => Some(1.0),
            Meaning::Spin(SpinDirection::Counterclockwise) | Meaning::Side(Side::Left) => Some(-1.0),
            _ => None,
        });
        let angle = find(|m| if let Meaning::Angle(degrees) = m { Some(*degrees) } else { None });
        let number = measures(&atoms).first().map(|measure| measure.value);
        let degrees = number.or(angle).unwrap_or(DEFAULT_DEGREES);
        let times = find(|m| if let Meaning::Repeat(times) = m { Some(*times as f64) } else { None });
        (degrees * direction.unwrap_or(1.0) * times.unwrap_or(1.0)).rem_euclid(360.0)
    }
}

/// The axes to flip about, one after the other; left to right by default.
fn flip_axes(clause: &Clause) -> Vec<FlipAxis> {
    let mut axes: Vec<FlipAxis> = Vec::new();
    for atom in clause.atoms() {
        let axis = match atom.meaning {
            Meaning::Axis(axis) => axis,
            Meaning::Side(Side::Top | Side::Bottom) | Meaning::Angle(180.0) => FlipAxis::Vertical,
            Meaning::Side(Side::Left | Side::Right) => FlipAxis::Horizontal,
            _ => continue,
        };
        if !axes.contains(&axis) {
            axes.push(axis);
        }
    }
    if axes.is_empty() {
        axes.push(FlipAxis::Horizontal);
    }
    axes
}
