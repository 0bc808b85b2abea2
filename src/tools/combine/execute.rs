//! Executes a combination: reads the arguments, finds and loads the files within the scope, runs the work on the render
//! pool, and stores the result with all its parents. An image that cannot be used is left out and reported.

use crate::{
    attachments::{NewFile, format_size},
    domain::{Attachment, AttachmentSource, Recipe},
    providers::ToolSpec,
    rendering::RenderPool,
    tools::{
        Output, Tool, ToolContext, ToolError, ToolResult, arguments, missing_glyphs,
        outcome::Failure,
        sources::{find_all, load_image, side},
        wording,
    },
};
use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use imaging::{EditContext, Encoded, ImagingError, Limits, SourceError, Sources};
use serde_json::Value;

type Make = dyn Fn(&Sources, &[NamedImage], &EditContext) -> Result<Combined, SourceError> + Send;

pub(super) struct CombineTool {
    pub spec: fn() -> ToolSpec,
    pub plan: fn(&ToolSpec, &Value) -> Result<CombinePlan, ToolError>,
}

/// A combination whose arguments are checked: from here on only the images can make it fail.
pub(super) struct CombinePlan {
    pub images: Vec<String>,
    /// What it makes, as in "A collage needs at least 2 images."
    pub thing: &'static str,
    pub min_images: usize,
    /// Text that is drawn, to report characters without a glyph.
    pub writes: Vec<String>,
    /// Pixels in memory besides one source.
    pub pixels: u64,
    pub make: Box<Make>,
}

/// One of the images, as the call named it.
#[derive(Debug, Clone)]
pub(super) struct NamedImage {
    /// Position in the call, from 0. Images that were left out count.
    pub position: usize,
    pub filename: String,
}

pub(super) struct Combined {
    pub text: String,
    pub files: Vec<CombinedFile>,
}

pub(super) struct CombinedFile {
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
            let glyph_note = missing_glyphs::note(context.pool().fonts(), &plan.writes)?;
            let found = find_all(context, &ids).await?;
            check_total_size(&found, context)?;
            let mut left_out = Vec::new();
            let mut usable = Vec::new();
            for (position, found) in found.into_iter().enumerate() {
                let loaded = match found {
                    Ok(file) => load_image(context, file).await,
                    Err(failure) => Err(failure),
                };
                match loaded {
                    Ok((file, bytes)) => usable.push((position, file, bytes)),
                    Err(failure) => left_out.push((position, failure)),
                }
            }
            if usable.len() < plan.min_images {
                return Err(too_few(plan.thing, plan.min_images, left_out));
            }
            let pixels = pixels_needed(&usable, plan.pixels, context.pool().limits());
            let mut files = Vec::new();
            let mut bytes = Vec::new();
            for (position, file, content) in usable {
                files.push((position, file));
                bytes.push(content);
            }
            let images = files
                .iter()
                .map(|(position, file)| NamedImage { position: *position, filename: file.filename.clone() });
            let work = Combination {
                sources: Sources::new(bytes),
                images: images.collect(),
                min_images: plan.min_images,
            };
            let make = plan.make;
            let outcome = context
                .pool()
                .run_edit(context.scope.conversation(), pixels, move |at| work.make(&*make, at))
                .await?;
            for (position, error) in outcome.damaged {
                if let Some((_, file)) = files.iter().find(|(at, _)| *at == position) {
                    left_out.push((position, Failure::of(file, &error.into())));
                }
            }
            let Some(combined) = outcome.combined else {
                return Err(too_few(plan.thing, plan.min_images, left_out));
            };
            files.retain(|(position, _)| left_out.iter().all(|(out, _)| out != position));
            let recipe = arguments::to_recipe(spec.name, &arguments);
            let mut result = store(context, combined, &files, recipe, left_out).await?;
            if let Some(note) = glyph_note {
                result.text = format!("{}\n{note}", result.text);
            }
            Ok(result)
        }
        .boxed()
    }
}

/// All files of a combination are in memory at once, so their total size is bounded by the memory for edits.
fn check_total_size(found: &[Result<Attachment, Failure>], context: &ToolContext) -> Result<(), ToolError> {
    let total: u64 = found.iter().flatten().map(|file| file.size.unsigned_abs()).sum();
    let limit = context.pool().memory();
    if total <= limit {
        return Ok(());
    }
    Err(ToolError::BadArgument(format!(
        "These images are {} together, but at most {} can be combined at once. Use fewer, or make them smaller with \
         resize_image first.",
        format_size(total),
        format_size(limit)
    )))
}

/// The pixel count to reserve memory for. One source is decoded at a time; the others are in memory as files, which count
/// as pixels of the same size.
fn pixels_needed(usable: &[(usize, Attachment, Bytes)], besides: u64, limits: &Limits) -> u64 {
    let pixels = |file: &Attachment| u64::from(side(file.width)) * u64::from(side(file.height));
    let largest = usable.iter().map(|(_, file, _)| pixels(file)).max().unwrap_or(0);
    let waiting: u64 = usable.iter().map(|(.., bytes)| bytes.len() as u64).sum();
    largest + besides.min(limits.max_pixels) + waiting / RenderPool::BYTES_PER_PIXEL
}

struct Combination {
    sources: Sources,
    images: Vec<NamedImage>,
    min_images: usize,
}

#[derive(Default)]
struct CombineOutcome {
    /// `None` if too few images could be opened.
    combined: Option<Combined>,
    /// By position in the call.
    damaged: Vec<(usize, ImagingError)>,
}

impl Combination {
    /// Combines the images, leaving out those that turn out to be damaged.
    fn make(mut self, make: &Make, work: &EditContext) -> Result<CombineOutcome, ImagingError> {
        let mut outcome = CombineOutcome::default();
        while self.sources.len() >= self.min_images {
            let (index, error) = match make(&self.sources, &self.images, work) {
                Ok(combined) => {
                    outcome.combined = Some(combined);
                    break;
                }
                Err(SourceError { index: Some(index), error }) => (index, error),
                Err(SourceError { index: None, error }) => return Err(error),
            };
            let mut damaged = vec![(index, error)];
            damaged.extend(self.sources.damaged(index + 1, work)?);
            for (index, error) in damaged.into_iter().rev() {
                self.sources.remove(index);
                outcome.damaged.push((self.images.remove(index).position, error));
            }
        }
        Ok(outcome)
    }
}

fn too_few(thing: &str, min_images: usize, left_out: Vec<(usize, Failure)>) -> ToolError {
    let mut text =
        format!("{thing} needs at least {} that can be opened.", wording::count(min_images, "image"));
    push_failures(&mut text, left_out);
    ToolError::Failed(text)
}

fn push_failures(text: &mut String, mut left_out: Vec<(usize, Failure)>) {
    left_out.sort_by_key(|(position, _)| *position);
    for (position, failure) in left_out {
        text.push('\n');
        text.push_str(&failure.describe_at(position + 1));
    }
}

async fn store(
    context: &ToolContext,
    combined: Combined,
    used: &[(usize, Attachment)],
    recipe: Recipe,
    left_out: Vec<(usize, Failure)>,
) -> Result<ToolResult, ToolError> {
    let mut result = ToolResult::text_only(combined.text);
    if !left_out.is_empty() {
        result.text.push_str(&format!(" {} left out:", wording::count(left_out.len(), "image")));
        push_failures(&mut result.text, left_out);
    }
    for file in combined.files {
        let new = NewFile {
            bytes: Bytes::from(file.encoded.bytes),
            filename: Some(format!("{}.{}", file.stem, file.encoded.extension)),
            description: Some(file.description),
            source: AttachmentSource::Tool,
            parents: used.iter().map(|(_, file)| file.attachment_id).collect(),
            recipe: Some(recipe.clone()),
        };
        result
            .outputs
            .push(Output::Made(context.renderer.attachments.store_file(&context.scope, new).await?));
    }
    Ok(result)
}
