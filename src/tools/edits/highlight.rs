//! `highlight_image`: outlines, arrows, spotlights and labels on regions.

use super::execute::{EditKind, EditPlan};
use crate::{
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, object},
        schema::{CORNERS, Corners, color, images, looked_for, read_color, region_properties},
        wording,
    },
};
use imaging::ops::{self, Highlight, HighlightShape};
use serde::Deserialize;
use serde_json::{Value, json};

const MAX_LABEL_CHARS: u64 = 80;
const MAX_HIGHLIGHTS: u64 = 50;

pub(super) fn highlight_spec() -> ToolSpec {
    let mut region = region_properties();
    region["label"] = json!({
        "type": "string",
        "maxLength": MAX_LABEL_CHARS,
        "description": "A few words written beside the mark.",
    });
    region["color"] = color("red");
    region["shape"] = json!({
        "type": "string",
        "enum": ["rectangle", "ellipse", "spotlight"],
        "default": "rectangle",
        "description": "spotlight darkens everything else.",
    });
    region["thickness"] = json!({
        "type": "number",
        "minimum": 1,
        "maximum": 100,
        "default": Highlight::DEFAULT_THICKNESS,
        "description": "Of the outline, in thousandths of the shorter side.",
    });
    ToolSpec {
        name: "highlight_image",
        progress: "marking {photos}",
        description: "Marks parts of images with an outline or a spotlight and, if wanted, labels or numbers. Regions are in \
                      thousandths (0-1000) of the upright image: look at the image first to know where things are.",
        parameters: object(
            json!({
                "images": images(),
                "regions": {
                    "type": "array",
                    "items": object(region, &CORNERS),
                    "minItems": 1,
                    "maxItems": MAX_HIGHLIGHTS,
                    "description": "The parts to mark, the same on every image.",
                },
                "looked_for": looked_for(),
                "numbered": {
                    "type": "boolean",
                    "default": false,
                    "description": "Numbers the regions 1, 2, 3 in their order, before the label if there is one.",
                },
            }),
            &["images", "regions"],
        ),
    }
}

pub(super) fn highlight(spec: &ToolSpec, arguments: &Value) -> Result<EditPlan, ToolError> {
    #[derive(Deserialize)]
    struct HighlightArguments {
        images: Vec<String>,
        regions: Vec<RegionArguments>,
        #[serde(default)]
        numbered: bool,
    }
    #[derive(Deserialize)]
    struct RegionArguments {
        #[serde(flatten)]
        corners: Corners,
        label: Option<String>,
        color: Option<String>,
        #[serde(default)]
        shape: HighlightShape,
        thickness: Option<f64>,
    }
    let asked: HighlightArguments = arguments::read(&spec.parameters, arguments)?;
    let mut marks = Vec::new();
    for (number, (index, marked)) in (1..).zip(asked.regions.into_iter().enumerate()) {
        let at = format!("regions[{index}]");
        marks.push(Highlight {
            region: marked.corners.region(&at)?,
            number: asked.numbered.then_some(number),
            label: marked.label.filter(|label| !label.trim().is_empty()),
            color: read_color(&format!("{at}.color"), marked.color.as_deref())?.unwrap_or_default(),
            shape: marked.shape,
            thickness: marked.thickness,
        });
    }
    let labels: Vec<_> = marks.iter().filter_map(|mark| mark.label.clone()).collect();
    let description = if labels.is_empty() {
        format!("{} highlighted", wording::count(marks.len(), "region"))
    } else {
        wording::shortened(&format!("highlighted: {}", labels.join(", ")), 200)
    };
    Ok(EditPlan {
        done: "Highlighted",
        suffix: "highlighted",
        description,
        writes: labels,
        ..EditPlan::new(
            asked.images,
            EditKind::pixels(move |picture, work| ops::highlight(picture, &marks, work)),
        )
    })
}
