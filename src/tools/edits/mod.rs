//! The edits as the model sees them, one file per family: what each takes, and which operation on pixels it
//! stands for. What families share (images, regions) is here; the path from arguments to files is in `editing`.

mod annotate;
mod framing;
mod highlight;
mod looks;
mod watermark;

use super::{
    Tool, ToolError,
    arguments::{id_list, refused},
    editing::EditTool,
};
use crate::imaging::{Color, Region, RegionError};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn tools() -> Vec<Box<dyn Tool>> {
    let edits = [
        EditTool { spec: highlight::highlight_spec, plan: highlight::highlight },
        EditTool { spec: annotate::annotate_spec, plan: annotate::annotate },
        EditTool { spec: framing::crop_spec, plan: framing::crop },
        EditTool { spec: framing::rotate_spec, plan: framing::rotate },
        EditTool { spec: framing::flip_spec, plan: framing::flip },
        EditTool { spec: framing::resize_spec, plan: framing::resize },
        EditTool { spec: looks::filter_spec, plan: looks::filter },
    ];
    let mut tools: Vec<_> = edits.map(|edit| Box::new(edit) as Box<dyn Tool>).into();
    tools.push(Box::new(watermark::WatermarkImage));
    tools
}

pub(super) fn images() -> Value {
    id_list("Attachment ids of the images to edit; each gives one new image, in the same order.")
}

pub(super) fn region_properties() -> Value {
    let side = |what: &str| json!({"type": "number", "minimum": 0, "maximum": 1000, "description": what});
    json!({
        "left": side("Left edge, in thousandths of the width."),
        "top": side("Top edge, in thousandths of the height."),
        "right": side("Right edge; greater than left."),
        "bottom": side("Bottom edge; greater than top."),
    })
}

pub(super) fn color(usual: &str) -> Value {
    json!({"type": "string", "default": usual, "description": "A color name, #rrggbb or rgb(r, g, b)."})
}

/// What was asked for, if anything was.
pub(super) fn read_color(at: &str, text: Option<&str>) -> Result<Option<Color>, ToolError> {
    text.map(Color::parse).transpose().map_err(|error| refused(format!("{at}: {error}")))
}

pub(super) const CORNERS: [&str; 4] = ["left", "top", "right", "bottom"];

#[derive(Deserialize)]
pub(super) struct Corners {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Corners {
    pub(super) fn region(&self, at: &str) -> Result<Region, ToolError> {
        Region::new(self.left, self.top, self.right, self.bottom)
            .map_err(|error: RegionError| refused(format!("{at}: {error}")))
    }
}
