//! Planner: clauses → steps. A step is one tool, its arguments and the words that select its pictures; nothing is
//! called here. One file per family of edits; `planner` holds what they share.

mod adjustments;
mod combine;
mod crop;
pub mod files;
mod highlights;
mod history;
pub mod planner;
mod redact;
mod resize;
mod rotate;
mod sights;
mod text;

pub use sights::FIND_TOOL;

use super::parse::clauses::ParsedMessage;
use super::parse::grammar::Grammar;
use super::parse::intent::Intent;
use super::parse::meaning::{Meaning, Verb};
use super::parse::things::Things;
use super::reply::questions;
use planner::{ClausePlanner, MessagePlan, StepKind};
use serde_json::Map;

const MAX_STEPS: usize = 20;

/// `things` are the words for things in pictures, if the turn has the tools to look for them.
pub fn plan(grammar: &Grammar, message: &ParsedMessage, things: Option<&Things>) -> MessagePlan {
    let mut plan = MessagePlan::default();
    for clause in &message.clauses {
        let mut planner = ClausePlanner { grammar, source: &message.source, clause, plan: &mut plan, things };
        planner.plan_clause();
    }
    if plan.steps.len() > MAX_STEPS {
        plan.steps.truncate(MAX_STEPS);
        plan.questions.push(questions::too_many_steps(MAX_STEPS));
    }
    plan
}

impl ClausePlanner<'_> {
    fn plan_clause(&mut self) {
        if self.plan_with_eyes() {
            return;
        }
        let original = self.clause.has(|m| *m == Meaning::Verb(Verb::Original));
        // "crop the original to a square"
        if original && self.clause.intent.is_edit() {
            self.restore_original();
        }
        match self.clause.intent {
            Intent::Highlight => self.highlight(),
            Intent::Crop => self.crop(),
            Intent::CutOff => self.cut_off(),
            Intent::CutOut => self.cut_out_blindly(),
            Intent::Erase => self.erase_blindly(),
            Intent::Trim => self.trim(),
            Intent::Rotate => self.rotate(),
            Intent::Straighten => self.straighten(),
            Intent::Flip => self.flip(),
            Intent::Resize => self.resize(),
            Intent::Filter | Intent::Adjust => self.geometry_of_adjustment(),
            Intent::Redact => self.redact(),
            Intent::Write => self.write(),
            Intent::Watermark => self.watermark(),
            Intent::Collage => self.collage(),
            Intent::Compare => self.compare(),
            Intent::Animate => self.animate(),
            Intent::Convert => self.convert(),
            Intent::Undo => self.undo(),
            Intent::Redo => self.redo(),
            Intent::Original => self.restore_original(),
            Intent::Repeat => self.repeat_edits(),
            Intent::Send => self.step(StepKind::Send, "attach_to_response", Map::new(), ""),
            Intent::List => self.step(StepKind::List, "list_attachments", Map::new(), ""),
            Intent::Info => self.info(),
            Intent::See => self.see_blindly(),
            Intent::Read => self.step(StepKind::Read, "read_text_attachment", Map::new(), ""),
            Intent::Find => self.find(),
        }
        // These may come along with another request: "crop to a square in black and white, as png".
        self.filters();
        self.adjustments();
        self.accompanying_format();
    }

    /// The geometry in a clause about filters: "make it a small black and white square".
    fn geometry_of_adjustment(&mut self) {
        if self.clause.has(|m| matches!(m, Meaning::Aspect(_) | Meaning::Ratio(..))) {
            self.crop();
        }
        if self.clause.has(|m| matches!(m, Meaning::Angle(_) | Meaning::Spin(_))) {
            self.rotate();
        }
        if self.clause.has(|m| matches!(m, Meaning::Scale(_) | Meaning::Longest(_))) {
            self.resize_if_sized();
        }
    }
}
