//! How images look: filters.

use super::images;
use crate::{
    imaging::ops::{self, Filter},
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, object},
        editing::{Making, Plan, same_canvas},
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn filter_spec() -> ToolSpec {
    ToolSpec {
        name: "filter_image",
        description: "Gives images another look: grayscale (black and white), sepia, or inverted colors.",
        parameters: object(
            json!({
                "images": images(),
                "filter": {"type": "string", "enum": ["grayscale", "sepia", "invert"]},
            }),
            &["images", "filter"],
        ),
    }
}

pub(super) fn filter(spec: &ToolSpec, arguments: &Value) -> Result<Plan, ToolError> {
    #[derive(Deserialize)]
    struct Arguments {
        images: Vec<String>,
        filter: Filter,
    }
    let asked: Arguments = arguments::read(&spec.parameters, arguments)?;
    let filter = asked.filter;
    let (suffix, description) = match filter {
        Filter::Grayscale => ("grayscale", "in shades of gray"),
        Filter::Sepia => ("sepia", "in sepia"),
        Filter::Invert => ("inverted", "with inverted colors"),
    };
    Ok(Plan {
        images: asked.images,
        done: "Filtered",
        suffix,
        description: description.to_owned(),
        canvas: same_canvas(),
        writes: Vec::new(),
        beside: Vec::new(),
        making: Making::each(move |picture, _| ops::filter(picture, filter)),
    })
}
