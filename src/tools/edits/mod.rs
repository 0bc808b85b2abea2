//! Edits: tools that make one picture from one picture. One file per family holds the specs and the operations on pixels;
//! `execute` runs them; `recipes` runs them again.

mod adjustments;
mod annotate;
mod convert;
mod execute;
mod geometry;
mod highlight;
mod recipes;
mod redact;
mod seeing;
mod watermark;

pub(super) use execute::{derived_name, execute};
pub use recipes::read_recipe;
pub(super) use recipes::{REPEAT, is_edit, plan_sequence, sequence};

use super::Tool;
use execute::EditTool;

/// The edits that need only their arguments and the picture.
fn plain_edits() -> Vec<EditTool> {
    vec![
        EditTool { spec: highlight::highlight_spec, plan: highlight::highlight },
        EditTool { spec: annotate::annotate_spec, plan: annotate::annotate },
        EditTool { spec: geometry::crop_spec, plan: geometry::crop },
        EditTool { spec: geometry::rotate_spec, plan: geometry::rotate },
        EditTool { spec: geometry::flip_spec, plan: geometry::flip },
        EditTool { spec: geometry::resize_spec, plan: geometry::resize },
        EditTool { spec: adjustments::adjust_spec, plan: adjustments::adjust },
        EditTool { spec: adjustments::filter_spec, plan: adjustments::filter },
        EditTool { spec: redact::redact_spec, plan: redact::redact },
        EditTool { spec: convert::convert_spec, plan: convert::convert },
    ]
}

/// The edits that need the on-device models.
pub(super) fn seeing_tools() -> Vec<Box<dyn Tool>> {
    seeing::edits().into_iter().map(|edit| Box::new(edit) as Box<dyn Tool>).collect()
}

pub(super) fn tools() -> Vec<Box<dyn Tool>> {
    let mut tools: Vec<_> = plain_edits().into_iter().map(|edit| Box::new(edit) as Box<dyn Tool>).collect();
    tools.push(Box::new(watermark::WatermarkImage));
    tools
}
