//! The edits as the model sees them, one file per family: what each takes, and which operation on pixels it
//! stands for. What families share (images, regions) is here; the path from arguments to files is in `editing`.

mod framing;
mod highlight;
mod looks;
mod redact;

use super::{
    Tool, ToolError,
    arguments::{id_list, refused},
    editing::EditTool,
};
use crate::imaging::{Region, RegionError};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn tools() -> Vec<Box<dyn Tool>> {
    let edits = [
        EditTool { spec: highlight::highlight_spec, plan: highlight::highlight },
        EditTool { spec: framing::crop_spec, plan: framing::crop },
        EditTool { spec: framing::rotate_spec, plan: framing::rotate },
        EditTool { spec: framing::flip_spec, plan: framing::flip },
        EditTool { spec: framing::resize_spec, plan: framing::resize },
        EditTool { spec: looks::adjust_spec, plan: looks::adjust },
        EditTool { spec: looks::filter_spec, plan: looks::filter },
        EditTool { spec: redact::redact_spec, plan: redact::redact },
    ];
    edits.map(|edit| Box::new(edit) as Box<dyn Tool>).into()
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
