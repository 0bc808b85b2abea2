//! Runs recipes of edits: one again, or several as one ("do the same to the others").

use super::{
    execute::{EditKind, EditPlan},
    plain_edits, seeing, seeing_tools, tools, watermark,
};
use crate::{
    domain::{AttachmentId, Recipe},
    rendering::{PixelEdit, RecipeEdit, RenderError, Vision},
    tools::{ToolError, wording},
};
use imaging::EditCost;
use serde_json::json;
use std::sync::Arc;

/// The tool name of a recipe that holds several edits.
pub(in crate::tools) const REPEAT: &str = "repeat_edits";

/// True for a recipe that makes one picture from one picture. A collage is not one.
pub(in crate::tools) fn is_edit(recipe: &Recipe) -> bool {
    let mut tools = tools().into_iter().chain(seeing_tools());
    recipe.tool == REPEAT || tools.any(|tool| tool.spec().name == recipe.tool)
}

/// One recipe that runs these recipes in order. Nested sequences are flattened.
pub(in crate::tools) fn sequence(recipes: &[Recipe]) -> Recipe {
    let flat: Vec<Recipe> = recipes.iter().flat_map(parts).collect();
    Recipe { tool: REPEAT.to_owned(), arguments: json!({"edits": flat}) }
}

/// The single edits of a recipe.
fn parts(recipe: &Recipe) -> Vec<Recipe> {
    let nested = || serde_json::from_value(recipe.arguments["edits"].clone()).ok();
    let parts = if recipe.tool == REPEAT { nested() } else { None };
    parts.unwrap_or_else(|| vec![recipe.clone()])
}

/// Plans all edits of a sequence as one. The plan names no images: the caller passes the files.
pub(in crate::tools) fn plan_sequence(recipe: &Recipe, vision: &Vision) -> Result<EditPlan, ToolError> {
    let plans = parts(recipe).iter().map(|part| plan_recipe(part, vision)).collect::<Result<Vec<_>, _>>()?;
    let edits = plans.iter().map(pixel_edit).collect::<Result<Vec<_>, _>>()?;
    let writes = plans.iter().flat_map(|plan| plan.writes.clone()).collect();
    let note = plans.iter().find_map(|plan| plan.note);
    let descriptions: Vec<_> = plans.iter().map(|plan| plan.description.as_str()).collect();
    let description = wording::shortened(&descriptions.join(", then "), 300);
    let in_place = plans.iter().all(|plan| plan.cost == EditCost::InPlace);
    let cost = if in_place { EditCost::InPlace } else { EditCost::Resample };
    let canvases: Vec<_> = plans.into_iter().map(|plan| plan.canvas).collect();
    let canvas = move |width: f64, height: f64| {
        let (mut area, mut largest) = (width * height, width * height);
        for canvas in &canvases {
            // Each edit reports its own enlargement; a sequence multiplies them.
            area *= canvas(width, height) / (width * height).max(1.0);
            largest = largest.max(area);
        }
        largest
    };
    let kind = EditKind::pixels(move |picture, work| {
        edits.iter().try_fold(picture, |picture, edit| {
            work.check_stopped()?;
            edit(picture, work)
        })
    });
    let (done, suffix) = ("Edited", "edited");
    let canvas = Box::new(canvas);
    Ok(EditPlan { done, suffix, description, canvas, cost, writes, note, ..EditPlan::new(Vec::new(), kind) })
}

/// The pixel edit of a recipe. `Renderer` calls it to render an attachment again.
pub fn read_recipe(recipe: &Recipe, vision: &Vision) -> Result<RecipeEdit, RenderError> {
    let plan =
        if recipe.tool == REPEAT { plan_sequence(recipe, vision) } else { plan_recipe(recipe, vision) };
    let read =
        plan.and_then(|plan| Ok(RecipeEdit { edit: pixel_edit(&plan)?, cost: plan.cost, area: plan.canvas }));
    read.map_err(|error| RenderError::BadRecipe(error.describe()))
}

fn pixel_edit(plan: &EditPlan) -> Result<Arc<PixelEdit>, ToolError> {
    match &plan.kind {
        EditKind::Pixels(edit) => Ok(edit.clone()),
        EditKind::File(_) => Err(ToolError::BadArgument(format!(
            "One step was \"{}\", which makes a file and not an edit of pixels: it cannot be repeated along. Call that \
             tool itself for each image.",
            plan.description
        ))),
    }
}

fn plan_recipe(recipe: &Recipe, vision: &Vision) -> Result<EditPlan, ToolError> {
    let unknown = || {
        ToolError::BadArgument(format!(
            "What {} made cannot be made again from its parts alone: call the tool itself.",
            recipe.tool
        ))
    };
    let mut arguments = recipe.arguments.clone();
    // The schema requires an id; the edit does not use it.
    arguments["images"] = json!([AttachmentId::new()]);
    if let Some(edit) = seeing::edits().into_iter().find(|edit| (edit.spec)().name == recipe.tool) {
        let models = vision.models().ok_or_else(|| {
            ToolError::Failed("The on-device models that made this picture are turned off here.".to_owned())
        })?;
        return (edit.plan)(&(edit.spec)(), &arguments, models);
    }
    let mut edits = plain_edits().into_iter().chain([watermark::TEXT_WATERMARK]);
    let edit = edits.find(|edit| (edit.spec)().name == recipe.tool).ok_or_else(unknown)?;
    (edit.plan)(&(edit.spec)(), &arguments)
}
