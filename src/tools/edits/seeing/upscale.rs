//! `upscale_image`: larger pictures with sharp edges. Pictures that are large already are resized instead: a model would
//! take minutes and find nothing to add.

use super::COST;
use crate::{
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, object},
        edits::execute::{EditKind, EditPlan},
        on_device::as_imaging_error,
        schema::images,
    },
};
use imaging::ops::{self, ResizeTo, replace_pixels};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use vision::{Enlargement, Models};

/// Larger pictures are resized.
const MAX_PIXELS: u32 = 500_000;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "upscale_image",
        progress: "enlarging {photos}",
        description: "Enlarges small images two, three or four times with a model that keeps edges sharp. Images over half \
                      a megapixel are resized as resize_image does.",
        parameters: object(
            json!({
                "images": images(),
                "factor": {"type": "integer", "minimum": 2, "maximum": 4, "default": 2, "description": "How many times."},
            }),
            &["images"],
        ),
    }
}

pub(super) fn plan(spec: &ToolSpec, arguments: &Value, models: &Arc<Models>) -> Result<EditPlan, ToolError> {
    #[derive(Deserialize)]
    struct UpscaleArguments {
        images: Vec<String>,
        factor: Option<f64>,
    }
    let asked: UpscaleArguments = arguments::read(&spec.parameters, arguments)?;
    let enlargement = match asked.factor.map_or(2, |factor| factor as u32) {
        4 => Enlargement::FourTimes,
        3 => Enlargement::ThreeTimes,
        _ => Enlargement::Twice,
    };
    let (models, factor) = (models.clone(), enlargement.factor());
    let kind = EditKind::pixels(move |picture, work| {
        let (width, height) = (picture.width(), picture.height());
        work.limits.check(width.saturating_mul(factor), height.saturating_mul(factor))?;
        if picture.has_alpha() || width.saturating_mul(height) > MAX_PIXELS {
            let to = ResizeTo::new(None, None, None, Some(f64::from(factor) * 100.0), None)?;
            return ops::resize(picture, to, work);
        }
        let pixels = picture.clone().into_rgb8();
        let larger = models.upscale(&pixels, enlargement, work.stop_flag()).map_err(as_imaging_error)?;
        Ok(replace_pixels(picture, larger))
    });
    let area = f64::from(factor * factor);
    Ok(EditPlan {
        done: "Enlarged",
        suffix: "enlarged",
        description: format!("enlarged {factor} times"),
        cost: COST,
        canvas: Box::new(move |width, height| width * height * area),
        ..EditPlan::new(asked.images, kind)
    })
}
