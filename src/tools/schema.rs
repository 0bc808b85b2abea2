//! Arguments that several tools share: ids of images, regions and colors. Each has its JSON schema and its reader.

use super::{
    ToolError,
    arguments::{bad_argument, id_list, object},
};
use imaging::{Color, Region, RegionError};
use serde::Deserialize;
use serde_json::{Value, json};

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

/// What an edit's regions are of, for "do the same to the others".
pub(super) fn looked_for() -> Value {
    let mut noted = object(
        json!({
            "what": {"type": "string", "description": "The argument what of find_in_image."},
            "which": {"type": "string", "description": "left, right, top, bottom, middle, biggest, smallest or a number."},
            "all": {"type": "boolean", "description": "All of that half, not only the nearest to that side."},
        }),
        &["what"],
    );
    noted["description"] =
        "If find_in_image gave the regions: what it looked for. repeat_edits then looks anew in each \
                            image."
            .into();
    noted
}

pub(super) fn color(default: &str) -> Value {
    json!({"type": "string", "default": default, "description": "A color name, #rrggbb or rgb(r, g, b)."})
}

/// The color named by the call; `None` if it names none.
pub(super) fn read_color(at: &str, text: Option<&str>) -> Result<Option<Color>, ToolError> {
    text.map(Color::parse).transpose().map_err(|error| bad_argument(format!("{at}: {error}")))
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
            .map_err(|error: RegionError| bad_argument(format!("{at}: {error}")))
    }
}
