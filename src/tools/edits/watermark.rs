//! Signatures on images. A text goes the way of every edit; a mark that is an image itself is found and opened first.

use super::execute::{EditKind, EditPlan, EditTool, Source, execute, recipe};
use crate::{
    providers::ToolSpec,
    rendering::RenderError,
    tools::{
        Tool, ToolContext, ToolError, ToolResult,
        arguments::{self, object, refused},
        schema::{color, images, read_color},
        sources::find_all,
        wording,
    },
};
use futures::{FutureExt as _, future::BoxFuture};
use imaging::{
    self, Color,
    ops::{self, Watermark, WatermarkContent, WatermarkPosition},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

const LONGEST_TEXT: u64 = 200;
const USUAL_SIZE: f64 = 25.0;
const USUAL_OPACITY: f64 = 60.0;
/// All over the picture, a mark must be fainter to leave something to see.
const USUAL_TILE_OPACITY: f64 = 30.0;

pub(super) struct WatermarkImage;

/// The part of it that works like any other edit.
pub(super) const WITH_TEXT: EditTool = EditTool { spec: watermark_spec, plan: watermark };

#[derive(Deserialize)]
struct Arguments {
    images: Vec<String>,
    text: Option<String>,
    mark: Option<String>,
    color: Option<String>,
    #[serde(default)]
    position: WatermarkPosition,
    opacity: Option<f64>,
    size: Option<f64>,
}

pub(super) fn watermark_spec() -> ToolSpec {
    ToolSpec {
        name: "watermark_image",
        progress: "putting a watermark on {photos}",
        description: "Signs images with a faint text or with another image, such as a logo. Give text or mark, not \
                      both.",
        parameters: object(
            json!({
                "images": images(),
                "text": {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT},
                "mark": {
                    "type": "string",
                    "description": "Attachment id of an image of this conversation to sign with; its transparency is kept.",
                },
                "color": color("white"),
                "position": {
                    "type": "string",
                    "enum": ["top-left", "top-right", "bottom-left", "bottom-right", "center", "tile"],
                    "default": "bottom-right",
                    "description": "tile repeats it, slanted, over the whole image.",
                },
                "opacity": {
                    "type": "number",
                    "minimum": 1,
                    "maximum": 100,
                    "description": format!("In percent; {USUAL_OPACITY} by default, {USUAL_TILE_OPACITY} for tile."),
                },
                "size": {
                    "type": "number",
                    "minimum": 1,
                    "maximum": 100,
                    "default": USUAL_SIZE as u32,
                    "description": "Width of the mark in percent of the image's width.",
                },
            }),
            &["images"],
        ),
    }
}

impl Arguments {
    fn plan(&self, mark: WatermarkContent) -> EditPlan {
        let usual = if self.position == WatermarkPosition::Tile { USUAL_TILE_OPACITY } else { USUAL_OPACITY };
        let watermark = Watermark {
            content: mark,
            position: self.position,
            opacity: (self.opacity.unwrap_or(usual) / 100.0) as f32,
            size: (self.size.unwrap_or(USUAL_SIZE) / 100.0) as f32,
        };
        let description = match &self.text {
            Some(text) => wording::shortened(&format!("watermarked: {text}"), 200),
            None => "watermarked with another image".to_owned(),
        };
        let kind = EditKind::pixels(move |picture, work| ops::watermark(picture, &watermark, work));
        EditPlan {
            done: "Watermarked",
            suffix: "watermarked",
            description,
            writes: self.text.iter().cloned().collect(),
            ..EditPlan::new(self.images.clone(), kind)
        }
    }
}

fn watermark(spec: &ToolSpec, arguments: &Value) -> Result<EditPlan, ToolError> {
    let asked: Arguments = arguments::read(&spec.parameters, arguments)?;
    let color = read_color("color", asked.color.as_deref())?;
    match (&asked.text, &asked.mark) {
        (Some(text), None) if !text.trim().is_empty() => {
            Ok(asked
                .plan(WatermarkContent::Text { text: text.clone(), color: color.unwrap_or(Color::WHITE) }))
        }
        (Some(_), None) => Err(refused("text is blank. Write what the images are to be signed with.")),
        (Some(_), Some(_)) => Err(refused("text and mark were both given. Give one of them.")),
        (None, Some(_)) => Err(refused(
            "An image that was signed with another image cannot be made from its recipe alone: call watermark_image \
             again with the same mark.",
        )),
        (None, None) => Err(refused(
            "What to sign with is missing: give text, or mark with the attachment id of an image.",
        )),
    }
}

impl Tool for WatermarkImage {
    fn spec(&self) -> ToolSpec {
        watermark_spec()
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        async move {
            let spec = self.spec();
            let asked: Arguments = arguments::read(&spec.parameters, &arguments)?;
            match &asked.mark {
                Some(mark) if asked.text.is_none() => {
                    let recipe = recipe(spec.name, &arguments);
                    with_mark(context, &asked, mark, recipe).await
                }
                _ => WITH_TEXT.run(context, arguments).await,
            }
        }
        .boxed()
    }
}

async fn with_mark(
    context: &ToolContext,
    asked: &Arguments,
    mark: &str,
    recipe: crate::domain::Recipe,
) -> Result<ToolResult, ToolError> {
    if asked.color.is_some() {
        return Err(refused("color goes with text; an image used as mark keeps its own colors."));
    }
    let ids = arguments::ids("images", &asked.images)?;
    let mark = arguments::id("mark", mark)?;
    let file = context.renderer.attachments.find(&context.scope, mark).await?;
    let told = |error: RenderError| refused(format!("mark: {}", error.describe()));
    if !file.is_image() {
        return Err(refused(format!("mark: {} is not a picture.", file.filename)));
    }
    let pixels = file.width.unwrap_or_default().saturating_mul(file.height.unwrap_or_default());
    let bytes = context.bytes(&file).await?;
    let open =
        move |work: &imaging::EditContext| WatermarkContent::picture(imaging::decode(&bytes, work)?, work);
    let opened =
        context.pool().run_edit(u64::try_from(pixels).unwrap_or_default(), open).await.map_err(told)?;
    let mut plan = asked.plan(opened);
    plan.extra_parents.push(mark);
    if let EditKind::Pixels(sign) = plan.kind {
        // A recipe alone cannot make this again without the other image: it becomes a file at once.
        plan.kind = EditKind::File(Arc::new(move |source, work| {
            let picture = match source {
                Source::File(bytes) if imaging::is_animated(&bytes) => {
                    return imaging::edit_frames(&bytes, work, &*sign);
                }
                Source::File(bytes) => imaging::decode(&bytes, work)?,
                Source::Picture(picture) => picture,
            };
            imaging::encode(&sign(picture, work)?)
        }));
    }
    let files = find_all(context, &ids).await?;
    execute(context, plan, recipe, files).await
}
