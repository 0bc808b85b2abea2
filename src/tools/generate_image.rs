//! Pictures made by a service and not by us: from words, or from a picture and an instruction. They can never be made
//! again from their recipe, so each becomes a file at once. How the service is asked is in `providers::image_generation`.

use super::{
    Output, Tool, ToolContext, ToolError, ToolResult,
    arguments::{self, id_list, object, refused},
    edits::derived_name,
    outcome::{Failure, gather},
    schema::{CORNERS, Corners, region_properties},
    sources::{find_all, load_image},
    wording,
};
use crate::{
    attachments::NewFile,
    domain::{Attachment, AttachmentSource, Recipe},
    providers::{
        EditArea, ImageEdit, ImageGenerator, ImageRequest, LoadedFile, ProviderError, ProviderErrorKind,
        Shape, ToolSpec, image_generation::GeneratedImages,
    },
    rendering::RenderError,
};
use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use imaging::{self, EditContext, Encoded, ImagingError, Region, ops};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const GENERATE: &str = "generate_image";
const TRANSFORM: &str = "transform_image";
/// These tools, whether or not there is a service for them.
pub const GENERATIVE: [&str; 2] = [GENERATE, TRANSFORM];

const MOST_WORDS: u64 = 4000;
const MOST_AT_ONCE: u64 = 4;
/// More is scaled down by the services themselves.
const LONGEST_SIDE: u32 = 1536;
/// A service takes up to two minutes for a picture.
const GENERATION_TIMEOUT: Duration = Duration::from_secs(180);
const LONGEST_DESCRIPTION: usize = 300;

/// How much of a picture came from a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generated {
    /// A part of it; the rest is what it was made from.
    Part,
    FromWords,
    Whole,
}

impl Generated {
    /// What a recipe tells of it, and by which model. `None` is an exact edit.
    pub fn by(recipe: &Recipe) -> Option<(Self, &str)> {
        let how = match recipe.tool.as_str() {
            GENERATE => Self::FromWords,
            TRANSFORM if recipe.arguments["mask_region"].is_object() => Self::Part,
            TRANSFORM => Self::Whole,
            _ => return None,
        };
        Some((how, recipe.arguments["model"].as_str().unwrap_or("a model")))
    }
}

pub(super) fn tools(painter: &Arc<ImageGenerator>) -> Vec<Box<dyn Tool>> {
    vec![Box::new(GenerateImage(painter.clone())), Box::new(TransformImage(painter.clone()))]
}

fn words_schema(what_for: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": MOST_WORDS, "description": what_for})
}

/// What the model writes, without the space around it.
fn said<'a>(name: &str, text: &'a str) -> Result<&'a str, ToolError> {
    match text.trim() {
        "" => Err(refused(format!("{name} is empty. Say in words what the picture is to show."))),
        text => Ok(text),
    }
}

struct GenerateImage(Arc<ImageGenerator>);

impl Tool for GenerateImage {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: GENERATE,
            progress: "generating a picture",
            description: "Makes new images from words alone. It knows nothing of the conversation: describe everything \
                          that matters. To change an existing image, use the exact edits, or transform_image.",
            parameters: object(
                json!({
                    "prompt": words_schema("What the image shows: subject, setting, style, light, any text in it."),
                    "size": {
                        "type": "string",
                        "enum": Shape::ALL.map(Shape::as_str),
                        "default": Shape::Square.as_str(),
                    },
                    "count": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MOST_AT_ONCE,
                        "default": 1,
                        "description": "How many different images. Each costs money: more than one only if asked for.",
                    },
                }),
                &["prompt"],
            ),
        }
    }

    fn timeout(&self) -> Option<Duration> {
        Some(GENERATION_TIMEOUT)
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        #[derive(Deserialize)]
        struct Arguments {
            prompt: String,
            size: Option<Shape>,
            // Models write 2.0 for 2.
            count: Option<f64>,
        }
        async move {
            let asked: Arguments = arguments::read(&self.spec().parameters, &arguments)?;
            let prompt = said("prompt", &asked.prompt)?.to_owned();
            let count = asked.count.map_or(1, |count| count as u32);
            let shape = asked.size.unwrap_or(Shape::Square);
            check_room(context).await?;
            let model = self.0.model();
            let recipe = Recipe {
                tool: GENERATE.to_owned(),
                arguments: json!({"prompt": prompt, "size": shape, "model": model}),
            };
            let wish = ImageRequest { prompt, shape, count };
            let GeneratedImages { mut pictures, usage, shortfall: short } =
                self.0.generate(&wish).await.map_err(trouble)?;
            context.usage.add(usage);
            pictures.truncate(count as usize);
            let mut outcomes = Vec::new();
            for (index, picture) in pictures.into_iter().enumerate() {
                let stem =
                    if count == 1 { "generated".to_owned() } else { format!("generated-{}", index + 1) };
                let kept = keep_painted(context, picture.bytes, &stem, &wish, &recipe).await;
                outcomes.push(kept.map(Output::Made).map_err(|error| Failure::plain(error.told())));
            }
            let why =
                short.map_or_else(|| "The service gave fewer images.".to_owned(), |e| trouble(e).told());
            outcomes.resize_with(count as usize, || Err(Failure::plain(why.clone())));
            let mut result = gather("Generated", outcomes)?;
            let told = format!("\nMade by {model} from words alone; the answer will say so by itself.");
            result.text.push_str(&told);
            Ok(result)
        }
        .boxed()
    }
}

async fn keep_painted(
    context: &ToolContext,
    bytes: Bytes,
    stem: &str,
    wish: &ImageRequest,
    recipe: &Recipe,
) -> Result<Attachment, ToolError> {
    let extension = opened(context, &bytes).await?;
    let file = NewFile {
        bytes,
        filename: Some(format!("{stem}.{extension}")),
        description: Some(described("generated", &wish.prompt)),
        source: AttachmentSource::Tool,
        parents: Vec::new(),
        recipe: Some(recipe.clone()),
    };
    Ok(context.renderer.attachments.keep(&context.scope, file).await?)
}

struct TransformImage(Arc<ImageGenerator>);

impl Tool for TransformImage {
    fn spec(&self) -> ToolSpec {
        let mut images =
            id_list("Attachment ids of the images; each gives one new image, in the same order.");
        images["maxItems"] = MOST_AT_ONCE.into();
        let mut mask_region = object(region_properties(), &CORNERS);
        mask_region["description"] =
            "Only this part may change, in thousandths of the upright image; everything else stays exactly as it is."
                .into();
        ToolSpec {
            name: TRANSFORM,
            progress: "reworking {photos}",
            description: "Redraws images by an instruction, for what no exact edit can do: add or remove things, change \
                          a style or a season. Details may come out different, so prefer the exact edits, and give \
                          mask_region where only a part is to change.",
            parameters: object(
                json!({
                    "images": images,
                    "instruction": words_schema("What to change, and what must stay as it is."),
                    "mask_region": mask_region,
                }),
                &["images", "instruction"],
            ),
        }
    }

    fn timeout(&self) -> Option<Duration> {
        Some(GENERATION_TIMEOUT)
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        #[derive(Deserialize)]
        struct Arguments {
            images: Vec<String>,
            instruction: String,
            mask_region: Option<Corners>,
        }
        async move {
            let asked: Arguments = arguments::read(&self.spec().parameters, &arguments)?;
            let ids = arguments::ids("images", &asked.images)?;
            let instruction = said("instruction", &asked.instruction)?.to_owned();
            let part = asked.mask_region.map(|corners| corners.region("mask_region")).transpose()?;
            let files = find_all(context, &ids).await?;
            check_room(context).await?;
            let mut recipe = json!({"instruction": instruction, "model": self.0.model()});
            if let Some(part) = part {
                recipe["mask_region"] = json!(part);
            }
            let recipe = Recipe { tool: TRANSFORM.to_owned(), arguments: recipe };
            let change = Change { context, painter: &self.0, instruction, part, recipe };
            let outcomes: Vec<_> = stream::iter(files.into_iter().map(|file| change.one(file)))
                .buffered(MOST_AT_ONCE as usize)
                .collect()
                .await;
            let mut still = false;
            let outcomes = outcomes.into_iter().map(|outcome| {
                let (output, was_animated) = outcome?;
                still |= was_animated;
                Ok(output)
            });
            let outcomes = outcomes.collect();
            let mut result = gather("Transformed", outcomes)?;
            result.text.push_str(&change.told());
            if still {
                result.text.push_str("\nAn animation gave one still image: only its first frame was taken.");
            }
            Ok(result)
        }
        .boxed()
    }
}

/// A change that a service makes to each picture.
struct Change<'a> {
    context: &'a ToolContext,
    painter: &'a ImageGenerator,
    instruction: String,
    part: Option<Region>,
    recipe: Recipe,
}

impl Change<'_> {
    /// What it gave, and whether it was an animation before.
    async fn one(&self, file: Result<Attachment, Failure>) -> Result<(Output, bool), Failure> {
        let (file, bytes) = load_image(self.context, file?).await?;
        let was_animated = imaging::is_animated(&bytes);
        let made = match self.part {
            Some(part) => self.within(&file, bytes, part).await,
            None => self.whole(&file, bytes).await,
        };
        match made {
            Ok(made) => Ok((Output::Made(made), was_animated)),
            Err(error) => Err(Failure::of(&file, &error)),
        }
    }

    /// What comes back is the new picture.
    async fn whole(&self, file: &Attachment, bytes: Bytes) -> Result<Attachment, ToolError> {
        let look =
            move |work: &EditContext| imaging::view_file(&bytes, &imaging::View::whole(LONGEST_SIDE), work);
        let picture = loaded(self.context.pool().run_edit(pixels(file), look).await?);
        let painted = self.rework(picture, None).await?;
        let extension = opened(self.context, &painted).await?;
        self.keep(file, painted, extension).await
    }

    /// What comes back is set into the original, so that nothing else changes whatever the service did.
    async fn within(&self, file: &Attachment, bytes: Bytes, part: Region) -> Result<Attachment, ToolError> {
        let darkroom = &self.context.pool();
        let prepare = move |work: &EditContext| prepared(&bytes, part, work);
        let (picture, only, layout) = darkroom.run_edit(pixels(file), prepare).await?;
        let painted = self.rework(picture, Some(only)).await?;
        opened(self.context, &painted).await?;
        // Loaded anew: a file is not held in memory for the minutes that a service takes.
        let original = self.context.bytes(file).await?;
        let set_in = move |work: &EditContext| {
            let canvas = imaging::decode(&painted, work)?;
            let original = imaging::decode(&original, work)?;
            imaging::encode(&ops::paste_region(original, canvas, &layout, part, work)?)
        };
        let Encoded { bytes, extension, .. } = darkroom.run_edit(pixels(file), set_in).await?;
        self.keep(file, bytes.into(), extension).await
    }

    async fn rework(&self, picture: LoadedFile, only: Option<EditArea>) -> Result<Bytes, ToolError> {
        let rework = ImageEdit { picture, instruction: self.instruction.clone(), only };
        let painted = self.painter.edit(&rework).await.map_err(trouble)?;
        self.context.usage.add(painted.usage);
        painted.pictures.into_iter().next().map(|picture| picture.bytes).ok_or_else(unusable)
    }

    async fn keep(&self, file: &Attachment, bytes: Bytes, extension: &str) -> Result<Attachment, ToolError> {
        let made = NewFile {
            bytes,
            filename: Some(derived_name(file, "transformed", extension)),
            description: Some(described("transformed", &self.instruction)),
            source: AttachmentSource::Tool,
            parents: vec![file.attachment_id],
            recipe: Some(self.recipe.clone()),
        };
        Ok(self.context.renderer.attachments.keep(&self.context.scope, made).await?)
    }

    fn told(&self) -> String {
        let how = match self.part {
            Some(_) => "inside mask_region; outside of it every pixel is the original's",
            None => "as a whole: details may differ from the original, so look at the result",
        };
        format!("\nRedrawn by {} {how}. The answer will say so by itself.", self.painter.model())
    }
}

/// The picture on a canvas of a shape the service knows, with what may change.
fn prepared(
    bytes: &[u8],
    part: Region,
    work: &EditContext,
) -> Result<(LoadedFile, EditArea, ops::CanvasLayout), ImagingError> {
    let picture = imaging::decode(bytes, work)?;
    let shape = Shape::nearest(picture.width(), picture.height());
    let layout = ops::CanvasLayout::new((picture.width(), picture.height()), shape.size());
    let mask = ops::draw_mask(&layout, part)?.bytes.into();
    let canvas = loaded(ops::draw_on_canvas(&picture, &layout, work)?);
    picture.recycle();
    Ok((canvas, EditArea { part: layout.on_canvas(part), mask, shape }, layout))
}

fn loaded(encoded: Encoded) -> LoadedFile {
    LoadedFile { mime: encoded.mime.to_owned(), bytes: encoded.bytes.into() }
}

fn pixels(file: &Attachment) -> u64 {
    let side = |side: Option<i64>| side.unwrap_or_default().unsigned_abs();
    let (width, height) = Shape::Landscape.size();
    side(file.width).saturating_mul(side(file.height)).max(u64::from(width) * u64::from(height))
}

/// Asked before anything is paid for.
async fn check_room(context: &ToolContext) -> Result<(), ToolError> {
    Ok(context.renderer.attachments.check_room(context.scope.conversation(), "the new image", 1).await?)
}

/// The extension of what a service sent, once it has proved to be a picture.
async fn opened(context: &ToolContext, bytes: &Bytes) -> Result<&'static str, ToolError> {
    let told = |error: &dyn std::fmt::Display| {
        tracing::warn!(%error, "a service sent something that cannot be opened as a picture");
        unusable()
    };
    let probe = imaging::probe(bytes).map_err(|error| told(&error))?;
    let (file, pixels) = (bytes.clone(), u64::from(probe.width) * u64::from(probe.height));
    context.pool().limits().check(probe.width, probe.height).map_err(|error| told(&error))?;
    let open = move |work: &EditContext| imaging::decode(&file, work).map(imaging::Picture::recycle);
    match context.pool().run_edit(pixels, open).await {
        Ok(()) => Ok(probe.format.extension()),
        Err(RenderError::Imaging(error)) => Err(told(&error)),
        Err(other) => Err(other.into()),
    }
}

fn described(done: &str, words: &str) -> String {
    wording::shortened(&format!("{done}: {words}"), LONGEST_DESCRIPTION)
}

fn unusable() -> ToolError {
    ToolError::Trouble(
        "The image service sent something that is not a usable picture. Try once more, or say that it did not work."
            .to_owned(),
    )
}

/// What the model reads; what only whoever runs the bot can use goes to the log.
fn trouble(error: ProviderError) -> ToolError {
    tracing::warn!(%error, "the image service gave no picture");
    let text = match error.kind {
        ProviderErrorKind::RetryAfter(Some(wait)) => format!(
            "The image service is rate-limited; it takes new requests in about {} seconds. Tell the person.",
            wait.as_secs().max(1)
        ),
        ProviderErrorKind::RetryAfter(None) => {
            "The image service is rate-limited just now. Tell the person to ask again in a minute.".to_owned()
        }
        ProviderErrorKind::Unreachable(_) => {
            "The image service cannot be reached just now. Tell the person to ask again in a minute.".to_owned()
        }
        ProviderErrorKind::TooLong => "This is too long for the image service. Say it in fewer words.".to_owned(),
        ProviderErrorKind::Refused => {
            "The image service declined this by its content rules. Tell the person so; ask for something else only if \
             they agree."
                .to_owned()
        }
        ProviderErrorKind::Misconfigured(_) => {
            "The image service is not set up right: whoever runs this bot finds in its log what to change.".to_owned()
        }
        ProviderErrorKind::InvalidResponse(_) => return unusable(),
    };
    ToolError::Trouble(text)
}
