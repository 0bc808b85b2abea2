//! Going along the edits already made: undo, redo, back to the original, and the same edits on other pictures.

use super::planner::{ClausePlanner, StepKind};
use crate::providers::offline::parse::meaning::Meaning;
use crate::providers::offline::reply::actions;
use serde_json::Map;

const MAX_UNDO_STEPS: i32 = 10;

impl ClausePlanner<'_> {
    pub fn undo(&mut self) {
        (0..self.repetitions()).for_each(|_| self.edit("undo_edit", Map::new(), actions::UNDONE));
    }

    pub fn redo(&mut self) {
        (0..self.repetitions()).for_each(|_| self.edit("redo_edit", Map::new(), actions::REDONE));
    }

    pub fn restore_original(&mut self) {
        self.edit("revert_to_original", Map::new(), actions::ORIGINAL_RESTORED);
    }

    pub fn repeat_edits(&mut self) {
        self.step(StepKind::Repeat, "repeat_edits", Map::new(), actions::REPEATED);
    }

    /// "undo twice", "undo the last two"
    fn repetitions(&self) -> usize {
        let times = self.clause.atoms().find_map(|atom| match atom.meaning {
            Meaning::Repeat(times) => Some(times),
            Meaning::LastFew(times) => Some(times.clamp(1, MAX_UNDO_STEPS) as usize),
            Meaning::Number(times) if (1.0..=f64::from(MAX_UNDO_STEPS)).contains(&times) => {
                Some(times as usize)
            }
            _ => None,
        });
        times.unwrap_or(1)
    }
}
