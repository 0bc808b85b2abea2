//! Combinations: tools that make one thing from several images. One file per tool holds what the model sees; `execute` runs
//! them.

mod animate;
mod collage;
mod compare;
mod execute;

use super::Tool;
use execute::CombineTool;
use serde_json::{Value, json};

pub(super) fn tools() -> Vec<Box<dyn Tool>> {
    let tools = [
        CombineTool { spec: collage::spec, plan: collage::plan },
        CombineTool { spec: compare::spec, plan: compare::plan },
        CombineTool { spec: animate::spec, plan: animate::plan },
    ];
    tools.map(|tool| Box::new(tool) as Box<dyn Tool>).into()
}

fn images(min: u64, max: u64, what_for: &str) -> Value {
    json!({
        "type": "array",
        "items": {"type": "string"},
        "minItems": min,
        "maxItems": max,
        "description": what_for,
    })
}
