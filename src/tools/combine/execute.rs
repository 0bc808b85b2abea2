//! Executes a combination: reads the arguments, finds and loads the files within the scope, runs the work on the render
//! pool, and stores the result with all its parents. An image that cannot be used is left out and reported.

use crate::{
    attachments::{NewFile, format_size},
    domain::{Attachment, AttachmentSource, Recipe},
    providers::ToolSpec,
    rendering::RenderError,
    tools::{
        Output, Tool, ToolContext, ToolError, ToolResult, arguments, missing_glyphs,
        outcome::Failure,
        sources::{check_image, find_all},
        wording,
    },
};
use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use imaging::{EditContext, EditCost, Encoded, Footprint, ImagingError, SourceError, Sources};
use serde_json::Value;

/// A canvas of four channels, its copies on the way, and the encoded file.
const CANVAS_BYTES_PER_PIXEL: u64 = 12;

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
            let mut left_out = Vec::new();
            let mut usable = Vec::new();
            for (position, found) in found.into_iter().enumerate() {
                match check_source(context, found).await {
                    Ok(source) => usable.push((position, source)),
                    Err(failure) => left_out.push((position, failure)),
                }
            }
            if usable.len() < plan.min_images {
                return Err(too_few(plan.thing, plan.min_images, left_out));
            }
            let memory = memory_needed(usable.iter().map(|(_, source)| source), plan.pixels);
            let place = context.pool().reserve_edit(context.scope.conversation(), memory).await;
            let place = place.map_err(|error| with_way_out(error, usable.len()))?;
            let mut files = Vec::new();
            let mut bytes = Vec::new();
            for (position, Source { file, .. }) in usable {
                bytes.push(context.renderer.attachments.bytes(&file).await?);
                files.push((position, file));
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
            let outcome = context.pool().run_edit(&place, move |at| work.make(&*make, at)).await?;
            drop(place);
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

/// One of the images, with its file stored but not loaded.
struct Source {
    file: Attachment,
    footprint: Footprint,
}

async fn check_source(context: &ToolContext, found: Result<Attachment, Failure>) -> Result<Source, Failure> {
    let file = found?;
    let checked = async {
        check_image(context.pool().limits(), &file)?;
        let stored = context.ensure_stored(&file).await?;
        let footprint = context.renderer.footprint(&stored).await?;
        Ok::<_, ToolError>(Source { file: stored, footprint })
    };
    checked.await.map_err(|error| Failure::of(&file, &error))
}

/// All files are in memory at once, and one of them is decoded at a time. `besides` are the pixels of the result.
fn memory_needed<'a>(sources: impl Iterator<Item = &'a Source> + Clone, besides: u64) -> u64 {
    let files: u64 = sources.clone().map(|source| source.file.size.unsigned_abs()).sum();
    let decoding = |source: &Source| {
        let footprint = source.footprint;
        footprint.decoding().max(footprint.editing(EditCost::Resample, besides.min(footprint.pixels())))
    };
    let largest = sources.map(decoding).max().unwrap_or_default();
    files.saturating_add(largest).saturating_add(besides.saturating_mul(CANVAS_BYTES_PER_PIXEL))
}

/// What a person can do about a combination that never fits.
fn with_way_out(error: RenderError, images: usize) -> ToolError {
    match error {
        RenderError::TooMuchMemory { needed, limit } => ToolError::BadArgument(format!(
            "These {} take about {} of memory together, but at most {} are set aside here. Use fewer, or make them \
             smaller with resize_image first.",
            wording::count(images, "image"),
            format_size(needed),
            format_size(limit)
        )),
        other => other.into(),
    }
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
