//! The edits as the model sees them, one file per family: what each takes, and which operation on pixels it
//! stands for. What families share (images, regions) is here; the path from arguments to files is in `editing`.

mod annotate;
mod convert;
mod framing;
mod highlight;
mod looks;
mod redact;
mod watermark;

use super::{
    Tool, ToolError,
    arguments::{id_list, refused},
    editing::{Each, EditTool, Making, Plan},
    words,
};
use crate::domain::{AttachmentId, Recipe};
use imaging::{Color, Region, RegionError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The edits that are nothing but their arguments and pixels.
fn plain() -> Vec<EditTool> {
    vec![
        EditTool { spec: highlight::highlight_spec, plan: highlight::highlight },
        EditTool { spec: annotate::annotate_spec, plan: annotate::annotate },
        EditTool { spec: framing::crop_spec, plan: framing::crop },
        EditTool { spec: framing::rotate_spec, plan: framing::rotate },
        EditTool { spec: framing::flip_spec, plan: framing::flip },
        EditTool { spec: framing::resize_spec, plan: framing::resize },
        EditTool { spec: looks::adjust_spec, plan: looks::adjust },
        EditTool { spec: looks::filter_spec, plan: looks::filter },
        EditTool { spec: redact::redact_spec, plan: redact::redact },
        EditTool { spec: convert::convert_spec, plan: convert::convert },
    ]
}

pub(super) fn tools() -> Vec<Box<dyn Tool>> {
    let mut tools: Vec<_> = plain().into_iter().map(|edit| Box::new(edit) as Box<dyn Tool>).collect();
    tools.push(Box::new(watermark::WatermarkImage));
    tools
}

/// Several edits of one picture, made as one.
pub(super) const REPEAT: &str = "repeat_edits";

/// Whether a recipe is of one picture made from one. A collage is not.
pub(super) fn is_edit(recipe: &Recipe) -> bool {
    recipe.tool == REPEAT || tools().iter().any(|tool| tool.spec().name == recipe.tool)
}

/// A recipe of recipes, flat.
pub(super) fn in_a_row(recipes: &[Recipe]) -> Recipe {
    let flat: Vec<Recipe> = recipes.iter().flat_map(parts).collect();
    Recipe { tool: REPEAT.to_owned(), arguments: json!({"edits": flat}) }
}

/// The single edits a recipe is made of.
fn parts(recipe: &Recipe) -> Vec<Recipe> {
    let nested = || serde_json::from_value(recipe.arguments["edits"].clone()).ok();
    let parts = if recipe.tool == REPEAT { nested() } else { None };
    parts.unwrap_or_else(|| vec![recipe.clone()])
}

/// The plan of a recipe of recipes. Which pictures it is for is not in it.
pub(super) fn repeat(recipe: &Recipe) -> Result<Plan, ToolError> {
    let plans = parts(recipe).iter().map(planned).collect::<Result<Vec<_>, _>>()?;
    let edits = plans.iter().map(each).collect::<Result<Vec<_>, _>>()?;
    let writes = plans.iter().flat_map(|plan| plan.writes.clone()).collect();
    let note = plans.iter().find_map(|plan| plan.note);
    let descriptions: Vec<_> = plans.iter().map(|plan| plan.description.as_str()).collect();
    let description = words::shortened(&descriptions.join(", then "), 300);
    let canvases: Vec<_> = plans.into_iter().map(|plan| plan.canvas).collect();
    let largest = move |width: f64, height: f64| {
        let (mut area, mut largest) = (width * height, width * height);
        for canvas in &canvases {
            // Each knows by how much it enlarges; together they multiply.
            area *= canvas(width, height) / (width * height).max(1.0);
            largest = largest.max(area);
        }
        largest
    };
    let making = Making::each(move |picture, work| {
        edits.iter().try_fold(picture, |picture, edit| {
            work.go_on()?;
            edit(picture, work)
        })
    });
    let (done, suffix) = ("Edited", "edited");
    let canvas = Box::new(largest);
    Ok(Plan { done, suffix, description, canvas, writes, note, ..Plan::new(Vec::new(), making) })
}

/// The edit that a recipe tells of, ready to be made again.
pub(super) fn again(recipe: &Recipe) -> Result<Arc<Each>, ToolError> {
    if recipe.tool == REPEAT { each(&repeat(recipe)?) } else { each(&planned(recipe)?) }
}

fn each(plan: &Plan) -> Result<Arc<Each>, ToolError> {
    match &plan.making {
        Making::Each(edit) => Ok(edit.clone()),
        Making::Whole(_) => Err(ToolError::BadArgument(format!(
            "One step was \"{}\", which makes a file and not an edit of pixels: it cannot be repeated along. Call that \
             tool itself for each image.",
            plan.description
        ))),
    }
}

fn planned(recipe: &Recipe) -> Result<Plan, ToolError> {
    let lost = || {
        ToolError::BadArgument(format!(
            "What {} made cannot be made again from its parts alone: call the tool itself.",
            recipe.tool
        ))
    };
    let mut edits = plain().into_iter().chain([watermark::WITH_TEXT]);
    let edit = edits.find(|edit| (edit.spec)().name == recipe.tool).ok_or_else(lost)?;
    let mut arguments = recipe.arguments.clone();
    // Which pictures it is for does not matter to the edit, but the schema asks.
    arguments["images"] = json!([AttachmentId::new()]);
    (edit.plan)(&(edit.spec)(), &arguments)
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
