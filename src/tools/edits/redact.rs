//! `redact_image`: hides regions so that they cannot be recovered from the new image.

use super::execute::{EditKind, EditPlan};
use crate::{
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, bad_argument, object},
        schema::{CORNERS, Corners, images, looked_for, region_properties},
        wording,
    },
};
use imaging::{
    Color,
    ops::{self, Redaction, RedactionStyle},
};
use serde::Deserialize;
use serde_json::{Value, json};

const MAX_REDACTIONS: u64 = 50;

pub(super) fn redact_spec() -> ToolSpec {
    ToolSpec {
        name: "redact_image",
        progress: "hiding parts of {photos}",
        description: "Hides parts of images (faces, names, numbers) for good: they cannot be got back from the new image. \
                      Look at the image first, and cover all of it: each region is widened by about 1%. The original \
                      stays in the conversation.",
        parameters: object(
            json!({
                "images": images(),
                "regions": {
                    "type": "array",
                    "items": object(region_properties(), &CORNERS),
                    "minItems": 1,
                    "maxItems": MAX_REDACTIONS,
                    "description": "The parts to hide, the same on every image, in thousandths of the upright image.",
                },
                "looked_for": looked_for(),
                "style": {
                    "type": "string",
                    "enum": ["fill", "pixelate", "blur"],
                    "default": "fill",
                    "description": "fill leaves nothing and is right for text; pixelate and blur keep a few broad colors.",
                },
                "color": {
                    "type": "string",
                    "default": "black",
                    "description": "Of fill only: a color name, #rrggbb or rgb(r, g, b).",
                },
            }),
            &["images", "regions"],
        ),
    }
}

pub(super) fn redact(spec: &ToolSpec, arguments: &Value) -> Result<EditPlan, ToolError> {
    #[derive(Deserialize)]
    struct RedactArguments {
        images: Vec<String>,
        regions: Vec<Corners>,
        #[serde(default)]
        style: RedactionStyle,
        color: Option<String>,
    }
    let asked: RedactArguments = arguments::read(&spec.parameters, arguments)?;
    let style = asked.style;
    if asked.color.is_some() && style != RedactionStyle::Fill {
        return Err(bad_argument("color is for the style fill only. Leave it out, or use fill."));
    }
    let regions = asked.regions.iter().enumerate();
    let regions = regions.map(|(index, corners)| corners.region(&format!("regions[{index}]")));
    let color = asked.color.as_deref().map_or(Ok(Color::BLACK), Color::parse);
    let redaction = Redaction {
        regions: regions.collect::<Result<_, _>>()?,
        style,
        color: color.map_err(|error| bad_argument(format!("color: {error}")))?,
    };
    let how = match style {
        RedactionStyle::Fill => "filled",
        RedactionStyle::Pixelate => "pixelated",
        RedactionStyle::Blur => "blurred",
    };
    Ok(EditPlan {
        done: "Redacted",
        suffix: "redacted",
        description: format!("{} {how}", wording::count(redaction.regions.len(), "region")),
        // A person who shares the conversation must know that it still holds the original.
        note: Some("The original, with nothing hidden, stays in this conversation."),
        ..EditPlan::new(
            asked.images,
            EditKind::pixels(move |picture, work| ops::redact(picture, &redaction, work)),
        )
    })
}
