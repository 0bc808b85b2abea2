//! `generate_image` and `transform_image`: pictures that a service makes from words, or from a picture and an instruction.
//! Their recipe gives another picture each time, so each is stored at once. `providers::image_generation` sends the requests.

use super::{
    Output, PaidRequest, Tool, ToolContext, ToolError, ToolResult,
    arguments::{self, bad_argument, id_list, object},
    edits::derived_name,
    outcome::{Failure, gather},
    schema::{CORNERS, Corners, region_properties},
    sources::{check_image, find_all},
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
use imaging::{self, EditContext, EditCost, Encoded, Footprint, ImagingError, Region, ops};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const GENERATE: &str = "generate_image";
const TRANSFORM: &str = "transform_image";
/// The tools that need an image generation service.
pub const GENERATIVE_TOOLS: [&str; 2] = [GENERATE, TRANSFORM];

const MAX_PROMPT_CHARS: u64 = 4000;
const MAX_IMAGES_PER_CALL: u64 = 4;
/// The services scale larger pictures down themselves.
const MAX_UPLOAD_SIDE: u32 = 1536;
/// Longer than `providers::image_generation` waits for one picture, so that its error reaches the model.
const TOOL_TIMEOUT: Duration = Duration::from_secs(180);
const MAX_DESCRIPTION_CHARS: usize = 300;

/// How much of a picture a service made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generated {
    /// A region of it; the rest is the original.
    Part,
    FromWords,
    Whole,
}

impl Generated {
    /// Reads a recipe: how much was generated, and the model. `None` for an exact edit.
    pub fn from_recipe(recipe: &Recipe) -> Option<(Self, &str)> {
        let how = match recipe.tool.as_str() {
            GENERATE => Self::FromWords,
            TRANSFORM if recipe.arguments["mask_region"].is_object() => Self::Part,
            TRANSFORM => Self::Whole,
            _ => return None,
        };
        Some((how, recipe.arguments["model"].as_str().unwrap_or("a model")))
    }
}

pub(super) fn tools(generator: &Arc<ImageGenerator>) -> Vec<Box<dyn Tool>> {
    vec![Box::new(GenerateImage(generator.clone())), Box::new(TransformImage(generator.clone()))]
}

fn prompt_schema(what_for: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": MAX_PROMPT_CHARS, "description": what_for})
}

/// The text without the space around it; refuses an empty one.
fn not_empty<'a>(name: &str, text: &'a str) -> Result<&'a str, ToolError> {
    match text.trim() {
        "" => Err(bad_argument(format!("{name} is empty. Say in words what the picture is to show."))),
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
                    "prompt": prompt_schema("What the image shows: subject, setting, style, light, any text in it."),
                    "size": {
                        "type": "string",
                        "enum": Shape::ALL.map(Shape::as_str),
                        "default": Shape::Square.as_str(),
                    },
                    "count": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MAX_IMAGES_PER_CALL,
                        "default": 1,
                        "description": "How many different images. Each costs money: more than one only if asked for.",
                    },
                }),
                &["prompt"],
            ),
        }
    }

    fn timeout(&self) -> Option<Duration> {
        Some(TOOL_TIMEOUT)
    }

    fn paid_request(&self, arguments: &Value) -> Option<PaidRequest<'_>> {
        let count = arguments["count"].as_f64().unwrap_or(1.0) as u64;
        Some(PaidRequest { model: self.0.model(), pictures: count.clamp(1, MAX_IMAGES_PER_CALL) })
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        #[derive(Deserialize)]
        struct GenerateArguments {
            prompt: String,
            size: Option<Shape>,
            // Models write 2.0 for 2.
            count: Option<f64>,
        }
        async move {
            let asked: GenerateArguments = arguments::read(&self.spec().parameters, &arguments)?;
            let prompt = not_empty("prompt", &asked.prompt)?.to_owned();
            let count = asked.count.map_or(1, |count| count as u32);
            let shape = asked.size.unwrap_or(Shape::Square);
            check_room(context).await?;
            let model = self.0.model();
            let recipe = Recipe {
                tool: GENERATE.to_owned(),
                arguments: json!({"prompt": prompt, "size": shape, "model": model}),
            };
            let request = ImageRequest { prompt, shape, count };
            let GeneratedImages { mut pictures, usage, shortfall } =
                self.0.generate(&request).await.map_err(to_tool_error)?;
            context.usage.add(usage);
            pictures.truncate(count as usize);
            let mut outcomes = Vec::new();
            for (index, picture) in pictures.into_iter().enumerate() {
                let stem =
                    if count == 1 { "generated".to_owned() } else { format!("generated-{}", index + 1) };
                let stored = store_generated(context, picture.bytes, &stem, &request, &recipe).await;
                let stored = stored.map_err(|error| Failure::without_file(error.describe()));
                outcomes.push(stored.map(Output::Made));
            }
            let why = shortfall.map_or_else(
                || "The service gave fewer images.".to_owned(),
                |error| to_tool_error(error).describe(),
            );
            outcomes.resize_with(count as usize, || Err(Failure::without_file(why.clone())));
            let mut result = gather("Generated", outcomes)?;
            let note = format!("\nMade by {model} from words alone; the answer will say so by itself.");
            result.text.push_str(&note);
            Ok(result)
        }
        .boxed()
    }
}

async fn store_generated(
    context: &ToolContext,
    bytes: Bytes,
    stem: &str,
    request: &ImageRequest,
    recipe: &Recipe,
) -> Result<Attachment, ToolError> {
    let extension = check_picture(context, &bytes).await?;
    let file = NewFile {
        bytes,
        filename: Some(format!("{stem}.{extension}")),
        description: Some(describe("generated", &request.prompt)),
        source: AttachmentSource::Tool,
        parents: Vec::new(),
        recipe: Some(recipe.clone()),
    };
    Ok(context.renderer.attachments.store_file(&context.scope, file).await?)
}

struct TransformImage(Arc<ImageGenerator>);

impl Tool for TransformImage {
    fn spec(&self) -> ToolSpec {
        let mut images =
            id_list("Attachment ids of the images; each gives one new image, in the same order.");
        images["maxItems"] = MAX_IMAGES_PER_CALL.into();
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
                    "instruction": prompt_schema("What to change, and what must stay as it is."),
                    "mask_region": mask_region,
                }),
                &["images", "instruction"],
            ),
        }
    }

    fn timeout(&self) -> Option<Duration> {
        Some(TOOL_TIMEOUT)
    }

    fn paid_request(&self, arguments: &Value) -> Option<PaidRequest<'_>> {
        let count = arguments["images"].as_array().map_or(1, Vec::len) as u64;
        Some(PaidRequest { model: self.0.model(), pictures: count.max(1) })
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        #[derive(Deserialize)]
        struct TransformArguments {
            images: Vec<String>,
            instruction: String,
            mask_region: Option<Corners>,
        }
        async move {
            let asked: TransformArguments = arguments::read(&self.spec().parameters, &arguments)?;
            let ids = arguments::ids("images", &asked.images)?;
            let instruction = not_empty("instruction", &asked.instruction)?.to_owned();
            let part = asked.mask_region.map(|corners| corners.region("mask_region")).transpose()?;
            let files = find_all(context, &ids).await?;
            check_room(context).await?;
            let mut recipe = json!({"instruction": instruction, "model": self.0.model()});
            if let Some(part) = part {
                recipe["mask_region"] = json!(part);
            }
            let recipe = Recipe { tool: TRANSFORM.to_owned(), arguments: recipe };
            let transformation = Transformation { context, generator: &self.0, instruction, part, recipe };
            let outcomes: Vec<_> = stream::iter(files.into_iter().map(|file| transformation.one(file)))
                .buffered(MAX_IMAGES_PER_CALL as usize)
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
            result.text.push_str(&transformation.note());
            if still {
                result.text.push_str("\nAn animation gave one still image: only its first frame was taken.");
            }
            Ok(result)
        }
        .boxed()
    }
}

/// One instruction that a service follows for each picture.
struct Transformation<'a> {
    context: &'a ToolContext,
    generator: &'a ImageGenerator,
    instruction: String,
    part: Option<Region>,
    recipe: Recipe,
}

impl Transformation<'_> {
    /// The new picture, and whether the original was an animation.
    async fn one(&self, file: Result<Attachment, Failure>) -> Result<(Output, bool), Failure> {
        let file = file?;
        let made = match (check_image(self.context.pool().limits(), &file), self.part) {
            (Err(error), _) => Err(error),
            (Ok(_), Some(part)) => self.transform_region(&file, part).await,
            (Ok(_), None) => self.transform_whole(&file).await,
        };
        made.map(|(made, was_animated)| (Output::Made(made), was_animated))
            .map_err(|error| Failure::of(&file, &error))
    }

    /// The service's picture is the result. Also tells whether the original is an animation.
    async fn transform_whole(&self, file: &Attachment) -> Result<(Attachment, bool), ToolError> {
        let scale_down = move |bytes: Bytes, work: &EditContext| {
            let view = imaging::view_file(&bytes, &imaging::View::whole(MAX_UPLOAD_SIDE), work)?;
            Ok((to_loaded_file(view), imaging::is_animated(&bytes)))
        };
        let (picture, was_animated) = self.run_on_file(file, scale_down).await?;
        let redrawn = self.request(picture, None).await?;
        let extension = check_picture(self.context, &redrawn).await?;
        Ok((self.store(file, redrawn, extension).await?, was_animated))
    }

    /// Only the region of the service's picture is pasted into the original; every other pixel stays. The file is not in
    /// memory for the minutes that a service takes.
    async fn transform_region(
        &self,
        file: &Attachment,
        part: Region,
    ) -> Result<(Attachment, bool), ToolError> {
        let prepare = move |bytes: Bytes, work: &EditContext| {
            Ok((prepare_region(&bytes, part, work)?, imaging::is_animated(&bytes)))
        };
        let ((picture, only, layout), was_animated) = self.run_on_file(file, prepare).await?;
        let redrawn = self.request(picture, Some(only)).await?;
        check_picture(self.context, &redrawn).await?;
        let paste = move |bytes: Bytes, work: &EditContext| {
            let canvas = imaging::decode(&redrawn, work)?;
            let original = imaging::decode(&bytes, work)?;
            imaging::encode(&ops::paste_region(original, canvas, &layout, part, work)?)
        };
        let Encoded { bytes, extension, .. } = self.run_on_file(file, paste).await?;
        Ok((self.store(file, bytes.into(), extension).await?, was_animated))
    }

    /// With memory for the original and for a picture of the service.
    async fn run_on_file<T: Send + 'static>(
        &self,
        file: &Attachment,
        work: impl FnOnce(Bytes, &EditContext) -> Result<T, ImagingError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let (width, height) = Shape::Landscape.size();
        let of_service = u64::from(width) * u64::from(height);
        let side = |side: Option<i64>| side.unwrap_or_default().unsigned_abs();
        let result_pixels = side(file.width).saturating_mul(side(file.height)).saturating_add(of_service);
        Ok(self.context.renderer.run_on_file(file, EditCost::Resample, result_pixels, work).await?)
    }

    async fn request(&self, picture: LoadedFile, only: Option<EditArea>) -> Result<Bytes, ToolError> {
        let edit = ImageEdit { picture, instruction: self.instruction.clone(), only };
        let redrawn = self.generator.edit(&edit).await.map_err(to_tool_error)?;
        self.context.usage.add(redrawn.usage);
        redrawn.pictures.into_iter().next().map(|picture| picture.bytes).ok_or_else(unusable)
    }

    async fn store(&self, file: &Attachment, bytes: Bytes, extension: &str) -> Result<Attachment, ToolError> {
        let made = NewFile {
            bytes,
            filename: Some(derived_name(file, "transformed", extension)),
            description: Some(describe("transformed", &self.instruction)),
            source: AttachmentSource::Tool,
            parents: vec![file.attachment_id],
            recipe: Some(self.recipe.clone()),
        };
        Ok(self.context.renderer.attachments.store_file(&self.context.scope, made).await?)
    }

    fn note(&self) -> String {
        let how = match self.part {
            Some(_) => "inside mask_region; outside of it every pixel is the original's",
            None => "as a whole: details may differ from the original, so look at the result",
        };
        format!("\nRedrawn by {} {how}. The answer will say so by itself.", self.generator.model())
    }
}

/// Draws the picture on a canvas of a shape that the service accepts, and the mask of what may change.
fn prepare_region(
    bytes: &[u8],
    part: Region,
    work: &EditContext,
) -> Result<(LoadedFile, EditArea, ops::CanvasLayout), ImagingError> {
    let picture = imaging::decode(bytes, work)?;
    let shape = Shape::nearest(picture.width(), picture.height());
    let layout = ops::CanvasLayout::new((picture.width(), picture.height()), shape.size());
    let mask = ops::draw_mask(&layout, part)?.bytes.into();
    let canvas = to_loaded_file(ops::draw_on_canvas(&picture, &layout, work)?);
    picture.recycle();
    Ok((canvas, EditArea { part: layout.on_canvas(part), mask, shape }, layout))
}

fn to_loaded_file(encoded: Encoded) -> LoadedFile {
    LoadedFile { mime: encoded.mime.to_owned(), bytes: encoded.bytes.into() }
}

/// Checks the quota before anything is paid for.
async fn check_room(context: &ToolContext) -> Result<(), ToolError> {
    Ok(context.renderer.attachments.check_limits(&context.scope, "the new image", 1, 0).await?)
}

/// Decodes what a service sent and returns its extension.
async fn check_picture(context: &ToolContext, bytes: &Bytes) -> Result<&'static str, ToolError> {
    let refuse = |error: &dyn std::fmt::Display| {
        tracing::warn!(%error, op = "generate_image", "the image service sent a file that cannot be decoded");
        unusable()
    };
    let probe = imaging::probe(bytes).map_err(|error| refuse(&error))?;
    context.pool().limits().check(probe.width, probe.height).map_err(|error| refuse(&error))?;
    let (file, size) = (bytes.clone(), (probe.width, probe.height));
    let memory = Footprint::read(probe.format, size, bytes.len() as u64, bytes).decoding();
    let place = context.pool().reserve_edit(context.scope.conversation(), memory).await?;
    let open = move |work: &EditContext| imaging::decode(&file, work).map(imaging::Picture::recycle);
    match context.pool().run_edit(&place, open).await {
        Ok(()) => Ok(probe.format.extension()),
        Err(RenderError::Imaging(error)) => Err(refuse(&error)),
        Err(other) => Err(other.into()),
    }
}

fn describe(done: &str, words: &str) -> String {
    wording::shortened(&format!("{done}: {words}"), MAX_DESCRIPTION_CHARS)
}

fn unusable() -> ToolError {
    ToolError::Failed(
        "The image service sent something that is not a usable picture. Try once more, or say that it did not work."
            .to_owned(),
    )
}

/// The sentence for the model. Details that only the operator can use go to the log.
fn to_tool_error(error: ProviderError) -> ToolError {
    tracing::warn!(%error, op = "generate_image", "the image service returned no picture");
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
    ToolError::Failed(text)
}
