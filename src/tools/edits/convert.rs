//! `convert_image`: the same picture as another file, with another format, a size limit, or without metadata.

use super::execute::{EditKind, EditPlan, Source};
use crate::{
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, bad_argument, object},
        schema::images,
    },
};
use imaging::{self, Conversion, ConversionFormat, EditCost, MetadataPolicy};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The largest limit in kB. Telegram and mail take no larger files.
const MAX_LIMIT_KB: u32 = 50_000;

pub(super) fn convert_spec() -> ToolSpec {
    ToolSpec {
        name: "convert_image",
        progress: "converting {photos}",
        description: "Saves images in another format, at another quality or under a size in kB, with or without their \
                      metadata. The same format with nothing else just strips the metadata, without loss. Animations \
                      stay whole only within their own format.",
        parameters: object(
            json!({
                "images": images(),
                "format": {
                    "type": "string",
                    "enum": ["jpeg", "png", "webp", "gif"],
                    "description": "jpeg for photos, png for graphics and transparency, webp for both but smaller, \
                                    gif for old programs (256 colours).",
                },
                "quality": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 100,
                    "description": "For jpeg and webp. Without it: near the source's.",
                },
                "max_kb": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_LIMIT_KB,
                    "description": "The file gets at most so many kB: by a lower quality first, then by fewer pixels.",
                },
                "metadata": {
                    "type": "string",
                    "enum": ["strip", "keep"],
                    "default": "strip",
                    "description": "keep leaves the Exif data (camera, date, perhaps the place) in the file.",
                },
                "lossless": {
                    "type": "boolean",
                    "default": false,
                    "description": "For webp: exact pixels in a larger file.",
                },
            }),
            &["images", "format"],
        ),
    }
}

pub(super) fn convert(spec: &ToolSpec, arguments: &Value) -> Result<EditPlan, ToolError> {
    #[derive(Deserialize)]
    struct ConvertArguments {
        images: Vec<String>,
        format: ConversionFormat,
        // Models write 85.0 for 85.
        quality: Option<f64>,
        max_kb: Option<f64>,
        #[serde(default)]
        metadata: MetadataPolicy,
        #[serde(default)]
        lossless: bool,
    }
    let asked: ConvertArguments = arguments::read(&spec.parameters, arguments)?;
    let format = asked.format.format();
    if asked.lossless && asked.format != ConversionFormat::WebP {
        return Err(bad_argument(format!(
            "lossless is only for format webp, but format is {}. Leave it out{}.",
            format.extension(),
            if asked.format == ConversionFormat::Jpeg { ", or use png for exact pixels" } else { "" }
        )));
    }
    if asked.quality.is_some()
        && (asked.lossless || matches!(asked.format, ConversionFormat::Png | ConversionFormat::Gif))
    {
        let exact = if asked.lossless { "lossless webp" } else { format.extension() };
        return Err(bad_argument(format!(
            "quality does not apply to {exact}. Leave it out, use format jpeg or webp, or give max_kb to limit the size."
        )));
    }
    let wanted = Conversion {
        to: asked.format,
        quality: asked.quality.map(|quality| quality as u8),
        max_bytes: asked.max_kb.map(|kb| kb as u64 * 1000),
        metadata: asked.metadata,
        lossless: asked.lossless,
    };
    let limit = asked.max_kb.map(|kb| format!(" under {kb} kB")).unwrap_or_default();
    Ok(EditPlan {
        done: "Converted",
        suffix: "converted",
        description: format!("converted to {format}{limit}"),
        cost: EditCost::Convert { to: asked.format, lossless: asked.lossless },
        ..EditPlan::new(
            asked.images,
            EditKind::File(Arc::new(move |source, work| match source {
                Source::File(bytes) => imaging::convert(&bytes, &wanted, work),
                Source::Picture(picture) => imaging::convert_picture(picture, &wanted, work),
            })),
        )
    })
}
