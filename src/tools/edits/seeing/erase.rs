//! `erase_from_image`: removes things and fills the hole from its surroundings.

use super::COST;
use crate::{
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, object},
        edits::execute::{EditKind, EditPlan},
        on_device::as_imaging_error,
        schema::{CORNERS, Corners, images, looked_for, region_properties},
        wording,
    },
};
use imaging::{PixelRect, Region, ops::replace_pixels};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use vision::Models;

const MAX_REGIONS: u64 = 10;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "erase_from_image",
        progress: "removing something from {photos}",
        description: "Removes things from images and fills the holes from their surroundings. Only the regions and a thin \
                      blend around them change. What fills them is generated: say so. To hide something private, use \
                      redact_image.",
        parameters: object(
            json!({
                "images": images(),
                "regions": {
                    "type": "array",
                    "items": object(region_properties(), &CORNERS),
                    "minItems": 1,
                    "maxItems": MAX_REGIONS,
                    "description": "What to remove, in thousandths of the upright image, as find_in_image gives it.",
                },
                "looked_for": looked_for(),
            }),
            &["images", "regions"],
        ),
    }
}

pub(super) fn plan(spec: &ToolSpec, arguments: &Value, models: &Arc<Models>) -> Result<EditPlan, ToolError> {
    #[derive(Deserialize)]
    struct EraseArguments {
        images: Vec<String>,
        regions: Vec<Corners>,
    }
    let asked: EraseArguments = arguments::read(&spec.parameters, arguments)?;
    let regions = asked.regions.iter().enumerate();
    let regions = regions.map(|(index, corners)| corners.region(&format!("regions[{index}]")));
    let regions: Vec<Region> = regions.collect::<Result<_, _>>()?;
    let (count, models) = (regions.len(), models.clone());
    let kind = EditKind::pixels(move |picture, work| {
        let pixels = picture.clone().into_rgb8();
        let (width, height) = pixels.dimensions();
        let parts: Vec<PixelRect> = regions.iter().map(|region| region.to_pixels(width, height)).collect();
        let filled = models.erase(&pixels, &parts, work.stop_flag()).map_err(as_imaging_error)?;
        Ok(replace_pixels(picture, filled))
    });
    Ok(EditPlan {
        done: "Erased from",
        suffix: "erased",
        description: format!("{} erased", wording::count(count, "region")),
        cost: COST,
        note: Some("What fills the holes is generated, not seen."),
        ..EditPlan::new(asked.images, kind)
    })
}
