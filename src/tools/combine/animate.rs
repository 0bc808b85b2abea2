//! `animate_images`: one animation from several images.

use super::{
    execute::{CombinePlan, Combined, CombinedFile},
    images,
};
use crate::{
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, bad_argument, object},
        wording,
    },
};
use imaging::{self, Animation, AnimationFormat, Color};
use serde::Deserialize;
use serde_json::{Value, json};

const MAX_ANIMATION_IMAGES: u64 = 50;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "animate_images",
        progress: "animating {photos}",
        description: "Makes one animation out of several images, shown one after the other. Its frame is that of the \
                      first image; others are fitted into it.",
        parameters: object(
            json!({
                "images": images(2, MAX_ANIMATION_IMAGES, "Attachment ids of the images, in the order to show them."),
                "format": {
                    "type": "string",
                    "enum": ["gif", "webp"],
                    "default": "gif",
                    "description": "gif plays everywhere; webp looks better and is smaller.",
                },
                "seconds_per_image": {"type": "number", "minimum": 0.02, "maximum": 10, "default": 0.5},
                "crossfade": {
                    "type": "number",
                    "minimum": 0,
                    "maximum": 2,
                    "default": 0,
                    "description": "Seconds in which each image turns into the next; makes a much larger file.",
                },
                "loop": {"type": "boolean", "default": true, "description": "false plays it once."},
                "size": {
                    "type": "integer",
                    "minimum": 16,
                    "maximum": 2048,
                    "default": 800,
                    "description": "The longer side at most, in pixels.",
                },
                "background": {
                    "type": "string",
                    "description": "Around images of another shape: a color name, #rrggbb or rgb(r, g, b). Left out, \
                                    black, or nothing if all images have transparency.",
                },
            }),
            &["images"],
        ),
    }
}

pub(super) fn plan(spec: &ToolSpec, arguments: &Value) -> Result<CombinePlan, ToolError> {
    #[derive(Deserialize)]
    struct AnimateArguments {
        images: Vec<String>,
        #[serde(default)]
        format: AnimationFormat,
        seconds_per_image: Option<f64>,
        crossfade: Option<f64>,
        r#loop: Option<bool>,
        size: Option<f64>,
        background: Option<String>,
    }
    let asked: AnimateArguments = arguments::read(&spec.parameters, arguments)?;
    let background = asked.background.as_deref().map(Color::parse).transpose();
    let milliseconds = |seconds: f64| (seconds * 1000.0).round() as u32;
    let seconds = asked.seconds_per_image.unwrap_or(0.5);
    let animation = Animation {
        format: asked.format,
        milliseconds: milliseconds(seconds),
        crossfade: milliseconds(asked.crossfade.unwrap_or(0.0)),
        forever: asked.r#loop.unwrap_or(true),
        longest: asked.size.unwrap_or(800.0) as u32,
        background: background.map_err(|error| bad_argument(format!("background: {error}")))?,
    };
    Ok(CombinePlan {
        writes: Vec::new(),
        images: asked.images,
        thing: "An animation",
        min_images: 2,
        // Up to four frames are in memory: the previous, the next, the canvas and the start of a crossfade. The encoded
        // animation counts as pixels, too.
        pixels: 4 * u64::from(animation.longest).pow(2) + imaging::MAX_ANIMATION_BYTES / 8,
        make: Box::new(move |sources, _, work| {
            let (width, height) = animation.frame(sources.size(0)?);
            let encoded = imaging::animate(sources, &animation, work)?;
            let of = wording::count(sources.len(), "image");
            let kind = if animation.format == AnimationFormat::Gif { "GIF" } else { "animated WebP" };
            let size = crate::attachments::format_size(encoded.bytes.len() as u64);
            Ok(Combined {
                text: format!("Combined a {kind} of {of}, {seconds} s each ({width}×{height}, {size})."),
                files: vec![CombinedFile {
                    encoded,
                    stem: "animation",
                    description: format!("{of} as an animation"),
                }],
            })
        }),
    })
}
