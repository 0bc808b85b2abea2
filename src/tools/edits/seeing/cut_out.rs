//! `cut_out_image`: the subject without its background, or on another one.

use super::COST;
use crate::{
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, bad_argument, object},
        edits::execute::{EditKind, EditPlan},
        on_device::as_imaging_error,
        schema::{CORNERS, Corners, images, looked_for, region_properties},
    },
};
use imaging::{
    Color, ImagingError,
    ops::{Backdrop, set_backdrop},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use vision::{Finding, Models};

/// How strongly a background is blurred, in percent.
const BLUR_STRENGTH: f64 = 45.0;
/// A person who covers at least this share of the picture is its subject, and is cut out with hair.
const MIN_PERSON_SHARE: f64 = 0.06;

pub(super) fn spec() -> ToolSpec {
    let mut region = object(region_properties(), &CORNERS);
    region["description"] =
        "Where the subject is, in thousandths of the upright image, as find_in_image gives it. \
                             Without it, what stands out is cut out: people first."
            .into();
    ToolSpec {
        name: "cut_out_image",
        progress: "cutting out the subject of {photos}",
        description: "Removes or replaces the background of images. Transparent results are PNG and go out as files, because \
                      a photo would lose the transparency. The edge follows the picture at full size.",
        parameters: object(
            json!({
                "images": images(),
                "region": region,
                "looked_for": looked_for(),
                "subject": {
                    "type": "string",
                    "enum": ["auto", "people", "thing"],
                    "default": "auto",
                    "description": "people keeps all people in front with their hair; thing keeps what stands out.",
                },
                "background": {
                    "type": "string",
                    "maxLength": 40,
                    "default": "transparent",
                    "description": "transparent, blur, or a color name, #rrggbb or rgb(r, g, b).",
                },
            }),
            &["images"],
        ),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Subject {
    #[default]
    Auto,
    People,
    Thing,
}

pub(super) fn plan(spec: &ToolSpec, arguments: &Value, models: &Arc<Models>) -> Result<EditPlan, ToolError> {
    #[derive(Deserialize)]
    struct CutOutArguments {
        images: Vec<String>,
        region: Option<Corners>,
        #[serde(default)]
        subject: Subject,
        background: Option<String>,
    }
    let asked: CutOutArguments = arguments::read(&spec.parameters, arguments)?;
    let region = asked.region.map(|corners| corners.region("region")).transpose()?;
    let backdrop = match asked.background.as_deref().map(str::trim) {
        None | Some("transparent" | "none" | "") => Backdrop::Transparent,
        Some("blur" | "blurred") => Backdrop::Blurred(BLUR_STRENGTH),
        Some(color) => Backdrop::Color(Color::parse(color).map_err(|error| {
            bad_argument(format!("background must be transparent, blur or a color. {error}"))
        })?),
    };
    let description = match backdrop {
        Backdrop::Transparent => "background removed".to_owned(),
        Backdrop::Blurred(_) => "background blurred".to_owned(),
        Backdrop::Color(_) => format!("background {}", asked.background.unwrap_or_default()),
    };
    let (models, subject) = (models.clone(), asked.subject);
    let kind = EditKind::pixels(move |picture, work| {
        let pixels = picture.clone().into_rgb8();
        let stop = work.stop_flag();
        let part = region.map(|region| region.to_pixels(pixels.width(), pixels.height()));
        let people = match (subject, part) {
            (Subject::People, _) => true,
            (Subject::Thing, _) | (Subject::Auto, Some(_)) => false,
            (Subject::Auto, None) => {
                let found = models.objects(&pixels, stop).map_err(as_imaging_error)?;
                found.iter().any(|object| {
                    let place = object.region;
                    let share = (place.right() - place.left()) * (place.bottom() - place.top()) / 1e6;
                    object.label == Finding::PERSON && share >= MIN_PERSON_SHARE
                })
            }
        };
        let cut = if people { models.portrait(&pixels, stop) } else { models.subject(&pixels, part, stop) };
        let Some(cut) = cut.map_err(as_imaging_error)? else {
            return Err(ImagingError::BadArgument(
                "Nothing stands out clearly enough to be cut out. Give its region, or try another picture."
                    .to_owned(),
            ));
        };
        drop(pixels);
        set_backdrop(picture, cut.pixels, backdrop, work)
    });
    Ok(EditPlan {
        done: "Cut out",
        suffix: "cutout",
        description,
        cost: COST,
        ..EditPlan::new(asked.images, kind)
    })
}
