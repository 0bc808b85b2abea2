//! Executes an edit: reads the arguments, finds the files within the scope, runs the edit on the render pool, and keeps the
//! result in the pixel cache with its parent and its recipe. The file is rendered when it is needed.

use crate::tools::{
    Output, Tool, ToolContext, ToolError, ToolResult, arguments, missing_glyphs,
    outcome::{Failure, gather},
    sources::{check_image, find_all},
};
use crate::{
    attachments::{NewFile, NewPicture},
    domain::{Attachment, AttachmentId, AttachmentSource, Recipe},
    providers::ToolSpec,
    rendering::{FileEdit, LastEdit, PixelEdit, Rendered, ResultArea},
};
use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use imaging::{self, EditContext, EditCost, Encoded, ImagingError, Picture};
use serde_json::Value;
use std::sync::Arc;

const MAX_STEM_CHARS: usize = 80;

type Convert = dyn Fn(Source, &EditContext) -> Result<Encoded, ImagingError> + Send + Sync;

/// A tool that makes one picture from each picture it is given.
pub(super) struct EditTool {
    pub spec: fn() -> ToolSpec,
    pub plan: fn(&ToolSpec, &Value) -> Result<EditPlan, ToolError>,
}

/// What a conversion reads.
pub(in crate::tools) enum Source {
    File(Bytes),
    /// A picture in the middle of a chain. It has no file; encoding one only to decode it again would be slow.
    Picture(Picture),
}

/// An edit whose arguments are checked: from here on only the pictures can make it fail.
pub(in crate::tools) struct EditPlan {
    pub images: Vec<String>,
    /// As in "Cropped 2 images."
    pub done: &'static str,
    /// Added to the file's name. An edit of an edit replaces it, so that names do not grow with every step.
    pub suffix: &'static str,
    /// What was done, in a few words.
    pub description: String,
    pub canvas: Box<ResultArea>,
    pub cost: EditCost,
    /// Text that the edit draws, to report characters without a glyph.
    pub writes: Vec<String>,
    /// Other files that the edit uses, such as the image of a watermark.
    pub extra_parents: Vec<AttachmentId>,
    /// A sentence added to the result, such as a limit of this edit.
    pub note: Option<&'static str>,
    pub kind: EditKind,
    pub from_file: Option<Arc<FileEdit>>,
}

impl EditPlan {
    /// An edit that does not enlarge the picture and draws no text.
    pub(super) fn new(images: Vec<String>, kind: EditKind) -> Self {
        Self {
            images,
            done: "Edited",
            suffix: "edited",
            description: String::new(),
            canvas: Box::new(|width, height| width * height),
            cost: EditCost::InPlace,
            writes: Vec::new(),
            extra_parents: Vec::new(),
            note: None,
            kind,
            from_file: None,
        }
    }
}

/// What an edit works on.
#[derive(Clone)]
pub(in crate::tools) enum EditKind {
    /// From pixels to pixels. An animation is edited frame by frame.
    Pixels(Arc<PixelEdit>),
    /// From a file to a file, for what is more than pixels: format, quality, metadata.
    File(Arc<Convert>),
}

impl EditKind {
    pub(super) fn pixels(
        edit: impl Fn(Picture, &EditContext) -> Result<Picture, ImagingError> + Send + Sync + 'static,
    ) -> Self {
        Self::Pixels(Arc::new(edit))
    }
}

impl Tool for EditTool {
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
            let files = find_all(context, &ids).await?;
            execute(context, plan, arguments::to_recipe(spec.name, &arguments), files).await
        }
        .boxed()
    }
}

/// Makes one new picture per file, in the same order. A file that fails does not stop the others.
pub(in crate::tools) async fn execute(
    context: &ToolContext,
    plan: EditPlan,
    recipe: Recipe,
    files: Vec<Result<Attachment, Failure>>,
) -> Result<ToolResult, ToolError> {
    let glyph_note = missing_glyphs::note(context.pool().fonts(), &plan.writes)?;
    // The file may be stored much later; the quota is checked now, while the person waits for the answer.
    context.renderer.attachments.check_limits(&context.scope, "the new image", 1, 0).await?;
    let edit = EditRun {
        context,
        recipe,
        canvas: plan.canvas,
        cost: plan.cost,
        kind: plan.kind,
        from_file: plan.from_file,
        suffix: plan.suffix,
        description: plan.description,
        extra_parents: plan.extra_parents,
    };
    // As many at a time as there are workers: more would only wait.
    let outcomes: Vec<_> = stream::iter(files.into_iter().map(|file| edit.edit_one(file)))
        .buffered(context.pool().worker_count())
        .collect()
        .await;
    let mut notes: Vec<String> = plan.note.map(str::to_owned).into_iter().chain(glyph_note).collect();
    let outcomes = outcomes.into_iter().map(|outcome| {
        let (output, note) = outcome?;
        notes.extend(note.filter(|note| !notes.contains(note)));
        Ok(output)
    });
    let outcomes = outcomes.collect();
    let mut result = gather(plan.done, outcomes)?;
    for note in notes {
        result.text = format!("{}\n{note}", result.text);
    }
    Ok(result)
}

/// A result, and a note about it for the caller.
type WithNote<T> = (T, Option<String>);

struct EditRun<'a> {
    context: &'a ToolContext,
    recipe: Recipe,
    canvas: Box<ResultArea>,
    cost: EditCost,
    kind: EditKind,
    from_file: Option<Arc<FileEdit>>,
    suffix: &'static str,
    description: String,
    extra_parents: Vec<AttachmentId>,
}

impl EditRun<'_> {
    async fn edit_one(&self, file: Result<Attachment, Failure>) -> Result<WithNote<Output>, Failure> {
        let file = file?;
        let made = self.run_edit(&file).await;
        made.map(|(made, note)| (Output::Made(made), note)).map_err(|error| Failure::of(&file, &error))
    }

    async fn run_edit(&self, file: &Attachment) -> Result<WithNote<Attachment>, ToolError> {
        let result_pixels = self.result_pixels(file)?;
        let (renderer, pool) = (&self.context.renderer, self.context.pool());
        let conversation = self.context.scope.conversation();
        let plan = renderer.plan_chain(file).await?;
        let mut memory = plan.memory_with(self.cost, result_pixels);
        if result_pixels > pool.limits().max_pixels {
            // The edit itself will say that its result would be too large.
            memory = plan.memory().max(memory.min(pool.memory()));
        }
        let place = pool.reserve_edit(conversation, memory).await?;
        let rendered = match self.kind.clone() {
            EditKind::Pixels(edit) => {
                let chain = plan.load(&renderer.attachments).await?;
                let last = LastEdit { edit, from_file: self.from_file.clone() };
                pool.run_edit(&place, move |work| chain.apply(Some(last), work)).await?
            }
            EditKind::File(convert) if file.is_stored() => {
                let bytes = renderer.attachments.bytes(file).await?;
                let convert =
                    move |work: &EditContext| convert(Source::File(bytes), work).map(Rendered::File);
                pool.run_edit(&place, convert).await?
            }
            EditKind::File(convert) => {
                let chain = plan.load(&renderer.attachments).await?;
                let convert = move |work: &EditContext| {
                    let source = match chain.apply(None, work)? {
                        Rendered::Picture(picture) => Source::Picture(picture),
                        Rendered::File(encoded) => Source::File(Bytes::from(encoded.bytes)),
                    };
                    convert(source, work).map(Rendered::File)
                };
                pool.run_edit(&place, convert).await?
            }
        };
        match rendered {
            Rendered::Picture(picture) => match self.cache(file, picture) {
                Ok(attachment) => Ok((attachment, None)),
                // The reserved memory covers encoding.
                Err(picture) => {
                    let encoded = pool.run_edit(&place, move |_| imaging::encode(&picture)).await?;
                    drop(place);
                    self.store(file, encoded).await
                }
            },
            Rendered::File(encoded) => self.store(file, encoded).await,
        }
    }

    /// Keeps the pixels in the cache, so that the next edit need not decode. Gives the picture back if the cache is full.
    fn cache(&self, file: &Attachment, picture: Picture) -> Result<Attachment, Picture> {
        let renderer = &self.context.renderer;
        let format = picture.output_format();
        let new = NewPicture {
            filename: derived_name(file, self.suffix, format.extension()),
            mime_type: format.mime(),
            width: picture.width(),
            height: picture.height(),
            description: self.description.clone(),
            parent: file.attachment_id,
            recipe: self.recipe.clone(),
        };
        let attachment = renderer.attachments.new_unrendered(&self.context.scope, new);
        self.context.pixels.insert(attachment.attachment_id, picture).map(|()| attachment)
    }

    async fn store(&self, file: &Attachment, encoded: Encoded) -> Result<WithNote<Attachment>, ToolError> {
        let new = NewFile {
            bytes: Bytes::from(encoded.bytes),
            filename: Some(derived_name(file, self.suffix, encoded.extension)),
            description: Some(self.description.clone()),
            source: AttachmentSource::Tool,
            parents: [&[file.attachment_id], self.extra_parents.as_slice()].concat(),
            recipe: Some(self.recipe.clone()),
        };
        Ok((self.context.renderer.attachments.store_file(&self.context.scope, new).await?, encoded.note))
    }

    /// The pixel count of the result. Refuses what is not a picture, or is too large, before it is loaded.
    fn result_pixels(&self, file: &Attachment) -> Result<u64, ToolError> {
        let (width, height) = check_image(self.context.pool().limits(), file)?;
        Ok((self.canvas)(f64::from(width), f64::from(height)) as u64)
    }
}

/// `eagle.jpg` highlighted → `eagle-highlighted.jpg`; that cropped → `eagle-cropped.jpg`.
pub(in crate::tools) fn derived_name(parent: &Attachment, suffix: &str, extension: &str) -> String {
    let name = parent.filename.trim();
    let stem = match name.rsplit_once('.') {
        Some((stem, end)) if end.len() <= 5 && end.chars().all(|c| c.is_ascii_alphanumeric()) => stem,
        _ => name,
    };
    let stem = match stem.rsplit_once('-') {
        // Only names given by an edit lose their suffix: a person's "hair-cropped.jpg" stays.
        Some((before, last))
            if parent.recipe().is_some() && parent.parents.len() == 1 && !last.is_empty() =>
        {
            before
        }
        _ => stem,
    };
    let stem: String = stem.chars().take(MAX_STEM_CHARS).collect();
    let stem = if stem.trim().is_empty() { "image" } else { stem.trim() };
    format!("{stem}-{suffix}.{extension}")
}
