//! Undo, redo, revert and repeat. Every edit knows its parent and its recipe: undo returns the parent, and repeat runs the
//! same recipes on other pictures. Nothing is deleted.

use super::{
    Output, Tool, ToolContext, ToolError, ToolResult,
    arguments::{self, id_list, object},
    edits,
    generate_image::Generated,
    outcome::{Failure, gather},
    sources::find_all,
    vision, wording,
};
use crate::{
    attachments::AttachmentError,
    domain::{Attachment, Recipe},
    providers::{ToolSpec, fence},
};
use futures::{FutureExt as _, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashSet;

const MAX_STEPS: u32 = 50;

pub(super) fn tools() -> Vec<Box<dyn Tool>> {
    let directions = [Direction::Undo, Direction::Redo, Direction::Revert];
    let mut tools: Vec<_> =
        directions.map(|direction| Box::new(StepThroughEdits(direction)) as Box<dyn Tool>).into();
    tools.push(Box::new(RepeatEdits));
    tools
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Undo,
    Redo,
    Revert,
}

/// Goes from a picture to an earlier or a later one of its chain of edits.
struct StepThroughEdits(Direction);

#[derive(Deserialize)]
struct StepArguments {
    images: Vec<String>,
    steps: Option<f64>,
}

impl Tool for StepThroughEdits {
    fn spec(&self) -> ToolSpec {
        let images = |what: &str| json!({"images": id_list(what)});
        let steps = json!({
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_STEPS,
            "default": 1,
            "description": "How many edits.",
        });
        let (name, progress, description, mut properties) = match self.0 {
            Direction::Undo => (
                "undo_edit",
                "undoing the last edit",
                "Goes back from edited images to what they were before their last edit.",
                images("Attachment ids of the edited images."),
            ),
            Direction::Redo => (
                "redo_edit",
                "bringing an edit back",
                "Goes forward again after an undo: to the newest edit that was made from each image.",
                images("Attachment ids of the images that an undo went back to."),
            ),
            Direction::Revert => (
                "revert_to_original",
                "going back to the original",
                "Goes back from edited images to the originals they were made from, whatever was done since.",
                images("Attachment ids of the edited images."),
            ),
        };
        if self.0 != Direction::Revert {
            properties["steps"] = steps;
        }
        ToolSpec { name, description, progress, parameters: object(properties, &["images"]) }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        async move {
            let asked: StepArguments = arguments::read(&self.spec().parameters, &arguments)?;
            let ids = arguments::ids("images", &asked.images)?;
            let steps = match self.0 {
                Direction::Revert => u32::MAX,
                _ => asked.steps.map_or(1, |steps| steps as u32),
            };
            let mut outcomes = Vec::new();
            for file in find_all(context, &ids).await? {
                outcomes.push(match file {
                    Ok(file) => take_steps(context, file, self.0, steps).await,
                    Err(unknown) => Err(unknown),
                });
            }
            let done = match self.0 {
                Direction::Undo => "Went back to the previous version of",
                Direction::Redo => "Went forward to the next version of",
                Direction::Revert => "Went back to the original of",
            };
            let mut result = gather(done, outcomes)?;
            // Two edits of one picture lead back to one picture.
            let mut seen = HashSet::new();
            result.outputs.retain(|output| seen.insert(output.id()));
            Ok(result)
        }
        .boxed()
    }
}

/// Takes as many of the steps as there are. Fails if there is none.
async fn take_steps(
    context: &ToolContext,
    file: Attachment,
    direction: Direction,
    steps: u32,
) -> Result<Output, Failure> {
    let mut at = file.clone();
    let mut seen = HashSet::from([file.attachment_id]);
    for step in 0..steps {
        let next = match direction {
            Direction::Redo => child(context, &at).await,
            Direction::Undo | Direction::Revert => parent(context, &at).await,
        };
        match next {
            Ok(Some(next)) if seen.insert(next.attachment_id) => at = next,
            Ok(_) | Err(ToolError::Failed(_)) if step > 0 => break,
            Ok(_) => {
                let why = match direction {
                    Direction::Redo => format!("nothing was made from {} yet.", file.filename),
                    _ => format!("{} is the original: it was never edited.", file.filename),
                };
                return Err(Failure::with_reason(&file, why));
            }
            Err(error) => return Err(Failure::of(&file, &error)),
        }
    }
    Ok(Output::Known(at.attachment_id))
}

/// The first parent of a picture; `None` if it was not made from another.
async fn parent(context: &ToolContext, file: &Attachment) -> Result<Option<Attachment>, ToolError> {
    let Some(id) = file.parents.first() else {
        return Ok(None);
    };
    match context.renderer.attachments.find(&context.scope, *id).await {
        Ok(parent) => Ok(Some(parent)),
        Err(AttachmentError::Unknown(_)) => {
            Err(ToolError::Failed(format!("What {} was made from has been deleted.", file.filename)))
        }
        Err(error) => Err(error.into()),
    }
}

/// The newest edit of this picture. A combination, such as a collage, is not an edit.
async fn child(context: &ToolContext, file: &Attachment) -> Result<Option<Attachment>, ToolError> {
    let children =
        context.renderer.store.children_of_attachment(file).await.map_err(AttachmentError::from)?;
    let edited = |child: &Attachment| {
        child.parents.first() == Some(&file.attachment_id)
            && child
                .recipe()
                .is_some_and(|made| edits::is_edit(made) || Generated::from_recipe(made).is_some())
    };
    Ok(children.into_iter().find(edited))
}

struct RepeatEdits;

impl Tool for RepeatEdits {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: edits::REPEAT,
            progress: "doing the same to {photos}",
            description: "Does to other images what was done to one, edit by edit: \"do the same to the others\".",
            parameters: object(
                json!({
                    "from": {
                        "type": "string",
                        "description": "Attachment id of the edited image whose edits to repeat.",
                    },
                    "images": id_list("Attachment ids of the images to edit the same way."),
                }),
                &["from", "images"],
            ),
        }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        #[derive(Deserialize)]
        struct RepeatArguments {
            from: String,
            images: Vec<String>,
        }
        async move {
            let asked: RepeatArguments = arguments::read(&self.spec().parameters, &arguments)?;
            let ids = arguments::ids("images", &asked.images)?;
            let from = arguments::id("from", &asked.from)?;
            let edited = context.renderer.attachments.find(&context.scope, from).await?;
            let recipes = recipes_of(context, &edited).await?;
            let files = find_all(context, &ids).await?;
            let mut result = if vision::looks(&recipes) {
                repeat_looking(context, &recipes, files).await?
            } else {
                repeat(context, &recipes, files).await?
            };
            let names: Vec<_> = recipes.iter().map(|recipe| recipe.tool.as_str()).collect();
            let edits = wording::count(names.len(), "edit");
            result.text = format!("{}\nRepeated {edits}: {}.", result.text, names.join(", then "));
            Ok(result)
        }
        .boxed()
    }
}

/// The recipe holds the edits themselves: the picture that they come from may be deleted later.
async fn repeat(
    context: &ToolContext,
    recipes: &[Recipe],
    files: Vec<Result<Attachment, Failure>>,
) -> Result<ToolResult, ToolError> {
    let recipe = edits::sequence(recipes);
    let plan = edits::plan_sequence(&recipe, &context.renderer.vision)?;
    edits::execute(context, plan, recipe, files).await
}

/// Repeats edits of things that were found: each picture has its own places.
async fn repeat_looking(
    context: &ToolContext,
    recipes: &[Recipe],
    files: Vec<Result<Attachment, Failure>>,
) -> Result<ToolResult, ToolError> {
    let mut outcomes = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    for file in files {
        let outcome = match file {
            Ok(file) => repeat_on_one(context, recipes, file, &mut notes).await,
            Err(unknown) => Err(unknown),
        };
        outcomes.push(outcome);
    }
    let mut result = gather("Edited", outcomes)?;
    for note in notes {
        result.text = format!("{}\n{note}", result.text);
    }
    Ok(result)
}

async fn repeat_on_one(
    context: &ToolContext,
    recipes: &[Recipe],
    file: Attachment,
    notes: &mut Vec<String>,
) -> Result<Output, Failure> {
    let repeated = async {
        let recipes = vision::look_again(context, recipes, &file).await?;
        repeat(context, &recipes, vec![Ok(file.clone())]).await
    };
    let result = repeated.await.map_err(|error| Failure::of(&file, &error))?;
    let new_notes = result.text.lines().skip(1).filter(|note| !notes.iter().any(|known| known == note));
    let new_notes: Vec<String> = new_notes.map(str::to_owned).collect();
    notes.extend(new_notes);
    result
        .outputs
        .into_iter()
        .next()
        .ok_or_else(|| Failure::with_reason(&file, "nothing was made".to_owned()))
}

/// The recipes of all edits of a picture since the person sent it, oldest first.
async fn recipes_of(context: &ToolContext, file: &Attachment) -> Result<Vec<Recipe>, ToolError> {
    let mut recipes = Vec::new();
    let mut at = file.clone();
    let mut seen = HashSet::from([file.attachment_id]);
    while let Some(recipe) = at.recipe().filter(|recipe| edits::is_edit(recipe)) {
        recipes.push(recipe.clone());
        match parent(context, &at).await? {
            Some(parent) if seen.insert(parent.attachment_id) => at = parent,
            _ => break,
        }
    }
    recipes.reverse();
    if let Some(recipe) = at.recipe().filter(|_| !at.parents.is_empty())
        && let Some((_, model)) = Generated::from_recipe(recipe)
    {
        return Err(cannot_repeat(&at, recipe, model));
    }
    if recipes.is_empty() {
        return Err(ToolError::BadArgument(format!(
            "from: {} was never edited, so there is nothing to repeat. Give the id of an edited image.",
            file.filename
        )));
    }
    Ok(recipes)
}

/// A service returns a different picture every time.
fn cannot_repeat(file: &Attachment, recipe: &Recipe, model: &str) -> ToolError {
    let instruction = recipe.arguments["instruction"].as_str().unwrap_or_default();
    ToolError::BadArgument(format!(
        "from: {} was redrawn by {model}, and what is generated cannot be repeated exactly. Call {} on the other images \
         with the same instruction ({}), and then the exact edits themselves; tell the person that details will \
         differ.",
        file.filename,
        recipe.tool,
        fence::fenced_inline(&wording::shortened(instruction, 300))
    ))
}
