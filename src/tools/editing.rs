//! The path all edits share: arguments first, then files within the scope, then pixels in the darkroom, then
//! what was made waits there, with its parent and its recipe, for the next edit or for being sent. What an edit does
//! to the pixels is in `edits`.

use super::{
    Output, Tool, ToolContext, ToolError, ToolResult, arguments,
    outcome::{Failure, find_all, gather},
    prints::{Developed, Last},
    words, writing,
};
use crate::{
    attachments::{NewFile, NewPicture},
    domain::{Attachment, AttachmentId, AttachmentSource, Recipe},
    providers::ToolSpec,
};
use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use imaging::{self, Encoded, ImagingError, Picture, Work};
use serde_json::Value;
use std::sync::Arc;

const LONGEST_STEM: usize = 80;

/// From a file to pixels, where that is quicker than decoding it and then editing the picture.
pub(super) type FromFile = dyn Fn(&[u8], &Work) -> Result<Picture, ImagingError> + Send + Sync;
pub(super) type Each = dyn Fn(Picture, &Work) -> Result<Picture, ImagingError> + Send + Sync;
type Whole = dyn Fn(Source, &Work) -> Result<Encoded, ImagingError> + Send + Sync;
/// How many pixels come of a picture of this width and height.
type Canvas = dyn Fn(f64, f64) -> f64 + Send + Sync;

/// A tool that makes one picture out of each it is given.
pub(super) struct EditTool {
    pub spec: fn() -> ToolSpec,
    pub plan: fn(&ToolSpec, &Value) -> Result<Plan, ToolError>,
}

/// What a file is made from.
pub(super) enum Source {
    File(Bytes),
    /// A picture in the middle of a chain: there is no file, and none is made just to be decoded again.
    Picture(Picture),
}

/// An edit whose arguments are all checked: only the pictures can fail it now.
pub(super) struct Plan {
    pub images: Vec<String>,
    /// As in "Cropped 2 images."
    pub done: &'static str,
    /// Added to the file's name. An edit of an edit swaps it, so that names do not grow with every step.
    pub suffix: &'static str,
    /// What was done, in a few words.
    pub description: String,
    pub canvas: Box<Canvas>,
    /// What it writes into the pictures, so that what no font has can be told.
    pub writes: Vec<String>,
    /// Other files that go into every picture.
    pub beside: Vec<AttachmentId>,
    /// What whoever asked should know, whatever comes of it.
    pub note: Option<&'static str>,
    pub making: Making,
    pub from_file: Option<Arc<FromFile>>,
}

impl Plan {
    /// Of an edit that does not enlarge and writes nothing.
    pub(super) fn new(images: Vec<String>, making: Making) -> Self {
        Self {
            images,
            done: "Edited",
            suffix: "edited",
            description: String::new(),
            canvas: Box::new(|width, height| width * height),
            writes: Vec::new(),
            beside: Vec::new(),
            note: None,
            making,
            from_file: None,
        }
    }
}

/// How an edit makes its picture.
#[derive(Clone)]
pub(super) enum Making {
    /// From pixels to pixels. An animation is edited frame by frame.
    Each(Arc<Each>),
    /// From a file to a file, for what is more than pixels: a format, a quality, metadata.
    Whole(Arc<Whole>),
}

impl Making {
    pub(super) fn each(
        edit: impl Fn(Picture, &Work) -> Result<Picture, ImagingError> + Send + Sync + 'static,
    ) -> Self {
        Self::Each(Arc::new(edit))
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
            carry_out(context, plan, recipe(spec.name, &arguments), files).await
        }
        .boxed()
    }
}

/// One new picture for each file, in the same order.
pub(super) async fn carry_out(
    context: &ToolContext,
    plan: Plan,
    recipe: Recipe,
    files: Vec<Result<Attachment, Failure>>,
) -> Result<ToolResult, ToolError> {
    let unwritten = writing::note(context.darkroom.fonts(), &plan.writes)?;
    // What is made may become a file much later; whether there is room for one is asked now.
    context.attachments.check_room(context.scope.conversation(), "the new image", 1).await?;
    let edit = Edit {
        context,
        recipe,
        canvas: plan.canvas,
        making: plan.making,
        from_file: plan.from_file,
        suffix: plan.suffix,
        description: plan.description,
        beside: plan.beside,
    };
    // No more at a time than the darkroom takes: each holds its file in memory while it waits.
    let outcomes: Vec<_> = stream::iter(files.into_iter().map(|file| edit.one(file)))
        .buffered(context.darkroom.at_once())
        .collect()
        .await;
    let mut notes: Vec<String> = plan.note.map(str::to_owned).into_iter().chain(unwritten).collect();
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

/// What one file gave, and what whoever asked should know of it.
type Made<T> = (T, Option<String>);

pub(super) fn recipe(tool: &str, arguments: &Value) -> Recipe {
    let mut arguments = arguments::without_nulls(arguments);
    if let Some(fields) = arguments.as_object_mut() {
        fields.remove("images");
    }
    Recipe { tool: tool.to_owned(), arguments }
}

struct Edit<'a> {
    context: &'a ToolContext,
    recipe: Recipe,
    canvas: Box<Canvas>,
    making: Making,
    from_file: Option<Arc<FromFile>>,
    suffix: &'static str,
    description: String,
    beside: Vec<AttachmentId>,
}

impl Edit<'_> {
    async fn one(&self, file: Result<Attachment, Failure>) -> Result<Made<Output>, Failure> {
        let file = file?;
        let made = self.develop(&file).await;
        made.map(|(made, note)| (Output::Made(made), note)).map_err(|error| Failure::of(&file, &error))
    }

    async fn develop(&self, file: &Attachment) -> Result<Made<Attachment>, ToolError> {
        let pixels = self.pixels(file)?;
        let darkroom = &self.context.darkroom;
        let developed = match self.making.clone() {
            Making::Each(edit) => {
                let start = self.context.prints().start(file).await?;
                let last = Last { edit, from_file: self.from_file.clone() };
                let pixels = pixels.max(start.pixels);
                darkroom.develop(pixels, move |work| start.develop(Some(last), work)).await?
            }
            Making::Whole(convert) if file.is_printed() => {
                let bytes = self.context.bytes(file).await?;
                let convert = move |work: &Work| convert(Source::File(bytes), work).map(Developed::File);
                darkroom.develop(pixels, convert).await?
            }
            Making::Whole(convert) => {
                let start = self.context.prints().start(file).await?;
                let pixels = pixels.max(start.pixels);
                let convert = move |work: &Work| {
                    let source = match start.develop(None, work)? {
                        Developed::Picture(picture) => Source::Picture(picture),
                        Developed::File(encoded) => Source::File(Bytes::from(encoded.bytes)),
                    };
                    convert(source, work).map(Developed::File)
                };
                darkroom.develop(pixels, convert).await?
            }
        };
        match developed {
            Developed::Picture(picture) => match self.hold(file, picture) {
                Ok(promise) => Ok((promise, None)),
                Err(picture) => {
                    let encoded = darkroom.develop(pixels, move |_| imaging::encode(&picture)).await?;
                    self.keep(file, encoded).await
                }
            },
            Developed::File(encoded) => self.keep(file, encoded).await,
        }
    }

    /// The pixels stay in memory: another edit may follow, and then there is nothing to decode again. Without
    /// room for them the picture comes back.
    fn hold(&self, file: &Attachment, picture: Picture) -> Result<Attachment, Picture> {
        let format = picture.target();
        let promised = NewPicture {
            filename: derived_name(file, self.suffix, format.extension()),
            mime_type: format.mime(),
            width: picture.width(),
            height: picture.height(),
            description: self.description.clone(),
            parent: file.attachment_id,
            recipe: self.recipe.clone(),
        };
        let promise = self.context.attachments.promise(&self.context.scope, promised);
        self.context.shelf.hold(promise.attachment_id, picture).map(|()| promise)
    }

    async fn keep(&self, file: &Attachment, encoded: Encoded) -> Result<Made<Attachment>, ToolError> {
        let made = NewFile {
            bytes: Bytes::from(encoded.bytes),
            filename: Some(derived_name(file, self.suffix, encoded.extension)),
            description: Some(self.description.clone()),
            source: AttachmentSource::Tool,
            parents: [&[file.attachment_id], self.beside.as_slice()].concat(),
            recipe: Some(self.recipe.clone()),
        };
        Ok((self.context.attachments.keep(&self.context.scope, made).await?, encoded.note))
    }

    /// How many pixels the darkroom must make room for. What is not a picture, or too large a one, is refused
    /// here, before it is loaded or anybody has to wait for it.
    fn pixels(&self, file: &Attachment) -> Result<u64, ToolError> {
        if !file.is_image() {
            return Err(ToolError::BadArgument(format!(
                "{} is {} file, not a picture.",
                file.filename,
                words::with_article(&file.mime_type)
            )));
        }
        let side = |side: Option<i64>| u32::try_from(side.unwrap_or_default()).unwrap_or(u32::MAX);
        let (width, height) = (side(file.width), side(file.height));
        let limits = self.context.darkroom.limits();
        limits.check(width, height)?;
        let before = u64::from(width) * u64::from(height);
        let after = (self.canvas)(f64::from(width), f64::from(height)) as u64;
        Ok(before.max(after.min(limits.max_pixels)))
    }
}

/// `eagle.jpg` highlighted → `eagle-highlighted.jpg`; that cropped → `eagle-cropped.jpg`.
pub(super) fn derived_name(parent: &Attachment, suffix: &str, extension: &str) -> String {
    let name = parent.filename.trim();
    let stem = match name.rsplit_once('.') {
        Some((stem, end)) if end.len() <= 5 && end.chars().all(|c| c.is_ascii_alphanumeric()) => stem,
        _ => name,
    };
    let stem = match stem.rsplit_once('-') {
        // A person's own "hair-cropped.jpg" keeps its name.
        Some((before, last)) if parent.recipe.is_some() && parent.parents.len() == 1 && !last.is_empty() => {
            before
        }
        _ => stem,
    };
    let stem: String = stem.chars().take(LONGEST_STEM).collect();
    let stem = if stem.trim().is_empty() { "image" } else { stem.trim() };
    format!("{stem}-{suffix}.{extension}")
}
