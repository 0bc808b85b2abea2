//! `watermark_image`. A text is an edit like any other. An image used as the mark is found and decoded first, and the
//! result is stored at once.

use super::execute::{EditKind, EditPlan, EditTool, Source, execute};
use crate::{
    providers::ToolSpec,
    rendering::RenderError,
    tools::{
        Tool, ToolContext, ToolError, ToolResult,
        arguments::{self, bad_argument, object},
        schema::{color, images, read_color},
        sources::find_all,
        wording,
    },
};
use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use imaging::{
    self, Color, EditContext, EditCost,
    ops::{self, Watermark, WatermarkContent, WatermarkPosition},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// A larger mark is scaled down to about this.
const MAX_MARK_PIXELS: u64 = 4_000_000;
const MAX_WATERMARK_CHARS: u64 = 200;
const DEFAULT_SIZE_PERCENT: f64 = 25.0;
const DEFAULT_OPACITY_PERCENT: f64 = 60.0;
/// A tiled mark covers the whole picture, so it is fainter.
const DEFAULT_TILE_OPACITY_PERCENT: f64 = 30.0;

pub(super) struct WatermarkImage;

/// The watermark with a text, which works like any other edit.
pub(super) const TEXT_WATERMARK: EditTool = EditTool { spec: watermark_spec, plan: watermark };

#[derive(Deserialize)]
struct WatermarkArguments {
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
                "text": {"type": "string", "minLength": 1, "maxLength": MAX_WATERMARK_CHARS},
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
                    "description": format!("In percent; {DEFAULT_OPACITY_PERCENT} by default, {DEFAULT_TILE_OPACITY_PERCENT} for tile."),
                },
                "size": {
                    "type": "number",
                    "minimum": 1,
                    "maximum": 100,
                    "default": DEFAULT_SIZE_PERCENT as u32,
                    "description": "Width of the mark in percent of the image's width.",
                },
            }),
            &["images"],
        ),
    }
}

impl WatermarkArguments {
    fn plan(&self, mark: WatermarkContent) -> EditPlan {
        let usual = if self.position == WatermarkPosition::Tile {
            DEFAULT_TILE_OPACITY_PERCENT
        } else {
            DEFAULT_OPACITY_PERCENT
        };
        let watermark = Watermark {
            content: mark,
            position: self.position,
            opacity: (self.opacity.unwrap_or(usual) / 100.0) as f32,
            size: (self.size.unwrap_or(DEFAULT_SIZE_PERCENT) / 100.0) as f32,
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
    let asked: WatermarkArguments = arguments::read(&spec.parameters, arguments)?;
    let color = read_color("color", asked.color.as_deref())?;
    match (&asked.text, &asked.mark) {
        (Some(text), None) if !text.trim().is_empty() => {
            Ok(asked
                .plan(WatermarkContent::Text { text: text.clone(), color: color.unwrap_or(Color::WHITE) }))
        }
        (Some(_), None) => Err(bad_argument("text is blank. Write what the images are to be signed with.")),
        (Some(_), Some(_)) => Err(bad_argument("text and mark were both given. Give one of them.")),
        (None, Some(_)) => Err(bad_argument(
            "An image that was signed with another image cannot be made from its recipe alone: call watermark_image \
             again with the same mark.",
        )),
        (None, None) => Err(bad_argument(
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
            let asked: WatermarkArguments = arguments::read(&spec.parameters, &arguments)?;
            match &asked.mark {
                Some(mark) if asked.text.is_none() => {
                    let recipe = arguments::to_recipe(spec.name, &arguments);
                    with_mark(context, &asked, mark, recipe).await
                }
                _ => TEXT_WATERMARK.run(context, arguments).await,
            }
        }
        .boxed()
    }
}

async fn with_mark(
    context: &ToolContext,
    asked: &WatermarkArguments,
    mark: &str,
    recipe: crate::domain::Recipe,
) -> Result<ToolResult, ToolError> {
    if asked.color.is_some() {
        return Err(bad_argument("color goes with text; an image used as mark keeps its own colors."));
    }
    let ids = arguments::ids("images", &asked.images)?;
    let mark = arguments::id("mark", mark)?;
    let file = context.renderer.attachments.find(&context.scope, mark).await?;
    let refuse = |error: RenderError| bad_argument(format!("mark: {}", error.describe()));
    if !file.is_image() {
        return Err(bad_argument(format!("mark: {} is not a picture.", file.filename)));
    }
    let open =
        |bytes: Bytes, work: &EditContext| WatermarkContent::picture(imaging::decode(&bytes, work)?, work);
    let opened = context.renderer.run_on_file(&file, EditCost::Resample, MAX_MARK_PIXELS, open).await;
    let mut plan = asked.plan(opened.map_err(refuse)?);
    plan.extra_parents.push(mark);
    if let EditKind::Pixels(sign) = plan.kind {
        // The recipe does not hold the other image and cannot be run again, so the result becomes a file at once.
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
