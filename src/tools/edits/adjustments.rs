//! `filter_image` and `adjust_image`: light, color, sharpness and effects.

use super::execute::{EditKind, EditPlan};
use crate::{
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, bad_argument, object},
        schema::{CORNERS, Corners, images, region_properties},
    },
};
use imaging::{
    Color, Region,
    ops::{self, Adjustment, Filter, FilterSettings},
};
use serde::Deserialize;
use serde_json::{Value, json};

fn region_schema() -> Value {
    let mut part = object(region_properties(), &CORNERS);
    part["description"] =
        json!("The only part to change, in thousandths of the upright image. Default: all of it.");
    part
}

fn read_region(corners: Option<Corners>) -> Result<Option<Region>, ToolError> {
    corners.map(|corners| corners.region("region")).transpose()
}

pub(super) fn filter_spec() -> ToolSpec {
    let names: Vec<_> = Filter::ALL.iter().map(|filter| json!(filter)).collect();
    ToolSpec {
        name: "filter_image",
        progress: "putting a filter on {photos}",
        description: "Gives images, or one part of them, another look. grayscale is black and white, edges draws light \
                      lines on black, sketch is pencil on paper, grain is film grain. To hide something for good, use \
                      redact_image instead of blur or pixelate.",
        parameters: object(
            json!({
                "images": images(),
                "filter": {"type": "string", "enum": names},
                "strength": {
                    "type": "number",
                    "minimum": 1,
                    "maximum": 100,
                    "description": "In percent. Default: 100 for grayscale, sepia, invert and duotone, 60 for posterize, \
                                    30 for blur, 25 for pixelate, 40 for grain, 50 otherwise. Scales with the image.",
                },
                "region": region_schema(),
                "colors": {
                    "type": "array",
                    "items": {"type": "string"},
                    "minItems": 2,
                    "maxItems": 2,
                    "description": "duotone only: what black and what white become, as color names, #rrggbb or \
                                    rgb(r, g, b). Default: dark violet and pale orange.",
                },
            }),
            &["images", "filter"],
        ),
    }
}

pub(super) fn filter(spec: &ToolSpec, arguments: &Value) -> Result<EditPlan, ToolError> {
    #[derive(Deserialize)]
    struct FilterArguments {
        images: Vec<String>,
        filter: Filter,
        strength: Option<f64>,
        region: Option<Corners>,
        colors: Option<[String; 2]>,
    }
    let asked: FilterArguments = arguments::read(&spec.parameters, arguments)?;
    let filter = asked.filter;
    if asked.colors.is_some() && filter != Filter::Duotone {
        return Err(bad_argument("colors is for the filter duotone only. Leave it out, or use duotone."));
    }
    let [dark, light] = FilterSettings::DEFAULT_DUOTONE_COLORS;
    let color = |index: usize, usual: Color| match &asked.colors {
        Some(colors) => {
            Color::parse(&colors[index]).map_err(|error| bad_argument(format!("colors[{index}]: {error}")))
        }
        None => Ok(usual),
    };
    let filtering = FilterSettings {
        filter,
        strength: asked.strength,
        colors: [color(0, dark)?, color(1, light)?],
        region: read_region(asked.region)?,
    };
    let (suffix, description) = match filter {
        Filter::Grayscale => ("grayscale", "in shades of gray"),
        Filter::Sepia => ("sepia", "in sepia"),
        Filter::Invert => ("inverted", "with inverted colors"),
        Filter::Blur => ("blurred", "blurred"),
        Filter::Sharpen => ("sharpened", "sharpened"),
        Filter::Edges => ("edges", "as light lines along its edges"),
        Filter::Sketch => ("sketch", "as a pencil sketch"),
        Filter::Posterize => ("posterized", "posterized"),
        Filter::Vignette => ("vignette", "with a vignette"),
        Filter::Pixelate => ("pixelated", "pixelated"),
        Filter::Duotone => ("duotone", "in two colors"),
        Filter::Grain => ("grain", "with film grain"),
    };
    let in_part = if filtering.region.is_some() { ", in one part" } else { "" };
    Ok(EditPlan {
        done: "Filtered",
        suffix,
        description: format!("{description}{in_part}"),
        ..EditPlan::new(
            asked.images,
            EditKind::pixels(move |picture, work| ops::filter(picture, filtering, work)),
        )
    })
}

pub(super) fn adjust_spec() -> ToolSpec {
    let amount = |what: &str| json!({"type": "number", "minimum": -100, "maximum": 100, "default": 0, "description": what});
    ToolSpec {
        name: "adjust_image",
        progress: "adjusting {photos}",
        description: "Changes light, color and sharpness of images, or of one part of them. All amounts go from -100 to \
                      100, 0 changes nothing; 15 to 30 is a natural touch. Give several at once rather than calling \
                      again.",
        parameters: object(
            json!({
                "images": images(),
                "brightness": amount("Of the middle tones; black and white stay."),
                "contrast": amount("Between dark and bright."),
                "exposure": amount("More or less light; 50 is one stop, -50 half the light."),
                "saturation": amount("How colorful; -100 is gray."),
                "warmth": amount("Positive is warmer (yellow), negative cooler (blue)."),
                "sharpness": amount("Negative softens."),
                "shadows": amount("Positive brightens the dark parts only."),
                "highlights": amount("Negative darkens the bright parts only, to bring them back."),
                "auto_levels": {
                    "type": "boolean",
                    "default": false,
                    "description": "Spread the brightness over the whole range, for dull or hazy images.",
                },
                "region": region_schema(),
            }),
            &["images"],
        ),
    }
}

pub(super) fn adjust(spec: &ToolSpec, arguments: &Value) -> Result<EditPlan, ToolError> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct AdjustArguments {
        images: Vec<String>,
        brightness: f64,
        contrast: f64,
        exposure: f64,
        saturation: f64,
        warmth: f64,
        sharpness: f64,
        shadows: f64,
        highlights: f64,
        auto_levels: bool,
        region: Option<Corners>,
    }
    let asked: AdjustArguments = arguments::read(&spec.parameters, arguments)?;
    let adjustment = Adjustment {
        brightness: asked.brightness,
        contrast: asked.contrast,
        exposure: asked.exposure,
        saturation: asked.saturation,
        warmth: asked.warmth,
        sharpness: asked.sharpness,
        shadows: asked.shadows,
        highlights: asked.highlights,
        auto_levels: asked.auto_levels,
        region: read_region(asked.region)?,
    };
    let amounts = adjustment.amounts();
    let amounts = amounts.iter().filter(|(_, amount)| *amount != 0.0);
    let mut changes: Vec<_> = amounts.map(|(name, amount)| format!("{name} {amount:+}")).collect();
    if adjustment.auto_levels {
        changes.push("auto-levels".to_owned());
    }
    if changes.is_empty() {
        let names = adjustment.amounts().map(|(name, _)| name).join(", ");
        return Err(bad_argument(format!(
            "Nothing would change: give at least one of {names} (-100 to 100, not 0), or auto_levels: true."
        )));
    }
    let in_part = if adjustment.region.is_some() { ", in one part" } else { "" };
    Ok(EditPlan {
        done: "Adjusted",
        suffix: "adjusted",
        description: format!("{}{in_part}", changes.join(", ")),
        ..EditPlan::new(
            asked.images,
            EditKind::pixels(move |picture, work| ops::adjust(picture, &adjustment, work)),
        )
    })
}
