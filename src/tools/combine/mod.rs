//! The tools that make one thing out of several images, as the model sees them, one per file. The path from
//! arguments to files is in `combining`.

mod animate;
mod collage;
mod compare;

use super::{Tool, combining::CombineTool};
use serde_json::{Value, json};

pub(super) fn tools() -> Vec<Box<dyn Tool>> {
    let tools = [
        CombineTool { spec: collage::spec, plan: collage::plan },
        CombineTool { spec: compare::spec, plan: compare::plan },
        CombineTool { spec: animate::spec, plan: animate::plan },
    ];
    tools.map(|tool| Box::new(tool) as Box<dyn Tool>).into()
}

fn images(least: u64, most: u64, what_for: &str) -> Value {
    json!({
        "type": "array",
        "items": {"type": "string"},
        "minItems": least,
        "maxItems": most,
        "description": what_for,
    })
}
