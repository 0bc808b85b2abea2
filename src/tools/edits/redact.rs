//! Hiding parts of images for good.

use super::execute::{EditKind, EditPlan};
use crate::{
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, object, refused},
        schema::{CORNERS, Corners, images, region_properties},
        wording,
    },
};
use imaging::{
    Color,
    ops::{self, Redaction, RedactionStyle},
};
use serde::Deserialize;
use serde_json::{Value, json};

const MOST_REGIONS: u64 = 50;

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
                    "maxItems": MOST_REGIONS,
                    "description": "The parts to hide, the same on every image, in thousandths of the upright image.",
                },
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
    struct Arguments {
        images: Vec<String>,
        regions: Vec<Corners>,
        #[serde(default)]
        style: RedactionStyle,
        color: Option<String>,
    }
    let asked: Arguments = arguments::read(&spec.parameters, arguments)?;
    let style = asked.style;
    if asked.color.is_some() && style != RedactionStyle::Fill {
        return Err(refused("color is for the style fill only. Leave it out, or use fill."));
    }
    let regions = asked.regions.iter().enumerate();
    let regions = regions.map(|(index, corners)| corners.region(&format!("regions[{index}]")));
    let color = asked.color.as_deref().map_or(Ok(Color::BLACK), Color::parse);
    let redaction = Redaction {
        regions: regions.collect::<Result<_, _>>()?,
        style,
        color: color.map_err(|error| refused(format!("color: {error}")))?,
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
        // Whoever shares the new image must know that the conversation still holds the old one.
        note: Some("The original, with nothing hidden, stays in this conversation."),
        ..EditPlan::new(
            asked.images,
            EditKind::pixels(move |picture, work| ops::redact(picture, &redaction, work)),
        )
    })
}
