//! The path of tools that make one thing out of several images: arguments first, then files within the scope, then
//! pixels in the darkroom, then what was made is kept with all its parents. An image that cannot be used is left
//! out and told; what is made of the others is in `combine`.

use super::{
    Output, Tool, ToolContext, ToolError, ToolResult, arguments,
    outcome::{Failure, find_all},
    words, writing,
};
use crate::{
    attachments::{NewFile, size},
    domain::{Attachment, AttachmentSource, Recipe},
    providers::ToolSpec,
};
use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use imaging::{Encoded, ImagingError, Limits, Sources, Unusable, Work};
use serde_json::Value;

/// What the darkroom counts per pixel; files waiting for their turn take room too.
const BYTES_PER_PIXEL: u64 = 12;

type Make = dyn Fn(&Sources, &[Piece], &Work) -> Result<Made, Unusable> + Send;

pub(super) struct CombineTool {
    pub spec: fn() -> ToolSpec,
    pub plan: fn(&ToolSpec, &Value) -> Result<Plan, ToolError>,
}

/// A combination whose arguments are all checked: only the images can fail it now.
pub(super) struct Plan {
    pub images: Vec<String>,
    /// What it makes, as in "A collage needs at least 2 images."
    pub thing: &'static str,
    pub least: usize,
    /// What it writes, so that what no font has can be told.
    pub writes: Vec<String>,
    /// How many pixels are in memory besides one source.
    pub pixels: u64,
    pub make: Box<Make>,
}

/// One of the images as the call named it.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// From 0, counting also those that were left out.
    pub position: usize,
    pub filename: String,
}

pub(super) struct Made {
    pub text: String,
    pub files: Vec<MadeFile>,
}

pub(super) struct MadeFile {
    pub encoded: Encoded,
    /// The file's name without its extension.
    pub stem: &'static str,
    pub description: String,
}

impl Tool for CombineTool {
    fn spec(&self) -> ToolSpec {
        (self.spec)()
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        async move {
            let spec = self.spec();
            let plan = (self.plan)(&spec, &arguments)?;
            let ids = arguments::ids("images", &plan.images)?;
            let unwritten = writing::note(context.darkroom.fonts(), &plan.writes)?;
            let found = find_all(context, &ids).await?;
            check_weight(&found, context)?;
            let mut left_out = Vec::new();
            let mut usable = Vec::new();
            for (position, found) in found.into_iter().enumerate() {
                let loaded = match found {
                    Ok(file) => load(context, file).await,
                    Err(failure) => Err(failure),
                };
                match loaded {
                    Ok((file, bytes)) => usable.push((position, file, bytes)),
                    Err(failure) => left_out.push((position, failure)),
                }
            }
            if usable.len() < plan.least {
                return Err(too_few(plan.thing, plan.least, left_out));
            }
            let pixels = room(&usable, plan.pixels, context.darkroom.limits());
            let mut files = Vec::new();
            let mut bytes = Vec::new();
            for (position, file, content) in usable {
                files.push((position, file));
                bytes.push(content);
            }
            let pieces = files
                .iter()
                .map(|(position, file)| Piece { position: *position, filename: file.filename.clone() });
            let work =
                Combination { sources: Sources::new(bytes), pieces: pieces.collect(), least: plan.least };
            let make = plan.make;
            let combined = context.darkroom.develop(pixels, move |at| work.make(&*make, at)).await?;
            for (position, error) in combined.damaged {
                if let Some((_, file)) = files.iter().find(|(at, _)| *at == position) {
                    left_out.push((position, Failure::of(file, &error.into())));
                }
            }
            let Some(made) = combined.made else {
                return Err(too_few(plan.thing, plan.least, left_out));
            };
            files.retain(|(position, _)| left_out.iter().all(|(out, _)| out != position));
            let recipe = recipe(spec.name, &arguments);
            let mut result = keep(context, made, &files, recipe, left_out).await?;
            if let Some(note) = unwritten {
                result.text = format!("{}\n{note}", result.text);
            }
            Ok(result)
        }
        .boxed()
    }
}

/// All files of a combination wait in memory, so that together they may not be heavier than what edits may take.
fn check_weight(found: &[Result<Attachment, Failure>], context: &ToolContext) -> Result<(), ToolError> {
    let weight: u64 = found.iter().flatten().map(|file| file.size.unsigned_abs()).sum();
    let most = context.darkroom.memory();
    if weight <= most {
        return Ok(());
    }
    Err(ToolError::BadArgument(format!(
        "These images are {} together, but at most {} can be combined at once. Use fewer, or make them smaller with \
         resize_image first.",
        size(weight),
        size(most)
    )))
}

/// What is not a picture, or too large a one, is refused before it is loaded.
pub(super) async fn load(context: &ToolContext, file: Attachment) -> Result<(Attachment, Bytes), Failure> {
    let check = || -> Result<(), ToolError> {
        if !file.is_image() {
            return Err(ToolError::BadArgument(format!(
                "{} is {} file, not a picture.",
                file.filename,
                words::with_article(&file.mime_type)
            )));
        }
        let (width, height) = (side(file.width), side(file.height));
        Ok(context.darkroom.limits().check(width, height)?)
    };
    check().map_err(|error| Failure::of(&file, &error))?;
    match context.bytes(&file).await {
        Ok(bytes) => Ok((file, bytes)),
        Err(error) => Err(Failure::of(&file, &error)),
    }
}

fn side(side: Option<i64>) -> u32 {
    u32::try_from(side.unwrap_or_default()).unwrap_or(u32::MAX)
}

/// One source at a time is open; the others wait as files.
fn room(usable: &[(usize, Attachment, Bytes)], besides: u64, limits: &Limits) -> u64 {
    let pixels = |file: &Attachment| u64::from(side(file.width)) * u64::from(side(file.height));
    let largest = usable.iter().map(|(_, file, _)| pixels(file)).max().unwrap_or(0);
    let waiting: u64 = usable.iter().map(|(.., bytes)| bytes.len() as u64).sum();
    largest + besides.min(limits.max_pixels) + waiting / BYTES_PER_PIXEL
}

fn recipe(tool: &str, arguments: &Value) -> Recipe {
    let mut arguments = arguments::without_nulls(arguments);
    if let Some(fields) = arguments.as_object_mut() {
        fields.remove("images");
    }
    Recipe { tool: tool.to_owned(), arguments }
}

struct Combination {
    sources: Sources,
    pieces: Vec<Piece>,
    least: usize,
}

#[derive(Default)]
struct Combined {
    /// `None` if too few images could be opened.
    made: Option<Made>,
    /// By position in the call.
    damaged: Vec<(usize, ImagingError)>,
}

impl Combination {
    /// Without those that turn out to be damaged.
    fn make(mut self, make: &Make, work: &Work) -> Result<Combined, ImagingError> {
        let mut combined = Combined::default();
        while self.sources.len() >= self.least {
            let (index, error) = match make(&self.sources, &self.pieces, work) {
                Ok(made) => {
                    combined.made = Some(made);
                    break;
                }
                Err(Unusable { index: Some(index), error }) => (index, error),
                Err(Unusable { index: None, error }) => return Err(error),
            };
            let mut damaged = vec![(index, error)];
            damaged.extend(self.sources.damaged(index + 1, work)?);
            for (index, error) in damaged.into_iter().rev() {
                self.sources.remove(index);
                combined.damaged.push((self.pieces.remove(index).position, error));
            }
        }
        Ok(combined)
    }
}

fn too_few(thing: &str, least: usize, left_out: Vec<(usize, Failure)>) -> ToolError {
    let mut text = format!("{thing} needs at least {} that can be opened.", words::count(least, "image"));
    tell(&mut text, left_out);
    ToolError::Trouble(text)
}

fn tell(text: &mut String, mut left_out: Vec<(usize, Failure)>) {
    left_out.sort_by_key(|(position, _)| *position);
    for (position, failure) in left_out {
        text.push('\n');
        text.push_str(&failure.at(position + 1));
    }
}

async fn keep(
    context: &ToolContext,
    made: Made,
    used: &[(usize, Attachment)],
    recipe: Recipe,
    left_out: Vec<(usize, Failure)>,
) -> Result<ToolResult, ToolError> {
    let mut result = ToolResult::says(made.text);
    if !left_out.is_empty() {
        result.text.push_str(&format!(" {} left out:", words::count(left_out.len(), "image")));
        tell(&mut result.text, left_out);
    }
    for file in made.files {
        let new = NewFile {
            bytes: Bytes::from(file.encoded.bytes),
            filename: Some(format!("{}.{}", file.stem, file.encoded.extension)),
            description: Some(file.description),
            source: AttachmentSource::Tool,
            parents: used.iter().map(|(_, file)| file.attachment_id).collect(),
            recipe: Some(recipe.clone()),
        };
        result.outputs.push(Output::Made(context.attachments.keep(&context.scope, new).await?));
    }
    Ok(result)
}
