//! `crop_image`, `rotate_image`, `flip_image` and `resize_image`.

use super::execute::{EditKind, EditPlan};
use crate::{
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, bad_argument, object},
        schema::{CORNERS, Corners, images, looked_for, region_properties},
    },
};
use imaging::{
    self, EditCost,
    ops::{self, CropCenter, CropTo, Fit, FlipAxis, ResizeTo, TrimTolerance},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

const MAX_RESIZED_SIDE: u32 = 30_000;

pub(super) fn crop_spec() -> ToolSpec {
    let mut region = object(region_properties(), &CORNERS);
    region["description"] = "The part to keep, in thousandths (0-1000) of the upright image.".into();
    let thousandths =
        |what: &str| json!({"type": "number", "minimum": 0, "maximum": 1000, "description": what});
    let mut around = object(
        json!({
            "x": thousandths("In thousandths of the width."),
            "y": thousandths("In thousandths of the height."),
        }),
        &["x", "y"],
    );
    around["description"] =
        "With aspect: the point to keep in the middle, as far as the frame allows. Default: the middle."
            .into();
    ToolSpec {
        name: "crop_image",
        progress: "cropping {photos}",
        description: "Cuts images down, without scaling. Say what to keep in one way: region, or aspect (as large as \
                      fits), or trim (cut off borders of one color).",
        parameters: object(
            json!({
                "images": images(),
                "region": region,
                "looked_for": looked_for(),
                "aspect": {
                    "type": "string",
                    "maxLength": 20,
                    "description": "\"square\" or width:height such as 1:1, 4:5, 3:2 or 16:9.",
                },
                "around": around,
                "trim": {
                    "type": "boolean",
                    "description": "true cuts off bars, margins and transparent space, each side by its own color.",
                },
                "tolerance": {
                    "type": "number",
                    "minimum": 0,
                    "maximum": 50,
                    "default": 5,
                    "description": "With trim: how far colors of a border may differ, in percent.",
                },
            }),
            &["images"],
        ),
    }
}

pub(super) fn crop(spec: &ToolSpec, arguments: &Value) -> Result<EditPlan, ToolError> {
    #[derive(Deserialize)]
    struct CenterArgument {
        x: f64,
        y: f64,
    }
    #[derive(Deserialize)]
    struct CropArguments {
        images: Vec<String>,
        region: Option<Corners>,
        aspect: Option<String>,
        around: Option<CenterArgument>,
        trim: Option<bool>,
        tolerance: Option<f64>,
    }
    let asked: CropArguments = arguments::read(&spec.parameters, arguments)?;
    let trim = asked.trim == Some(true);
    if asked.around.is_some() && asked.aspect.is_none() {
        return Err(bad_argument("around goes with aspect only. Give aspect too, or leave around out."));
    }
    if asked.tolerance.is_some() && !trim {
        return Err(bad_argument(
            "tolerance goes with trim only. Give trim: true too, or leave tolerance out.",
        ));
    }
    let (to, description) = match (asked.region, asked.aspect, trim) {
        (Some(corners), None, false) => {
            (CropTo::Region(corners.region("region")?), "cropped to a region".to_owned())
        }
        (None, Some(text), false) => {
            let aspect = text.parse().map_err(|error| bad_argument(format!("aspect: {error}")))?;
            let around = asked.around.map(|point| CropCenter::new(point.x, point.y)).transpose();
            let around =
                around.map_err(|error| bad_argument(format!("around: {error}")))?.unwrap_or_default();
            (CropTo::Aspect { aspect, center: around }, format!("cropped to {}", text.trim()))
        }
        (None, None, true) => {
            let tolerance = asked.tolerance.map(TrimTolerance::percent).transpose();
            let tolerance = tolerance.map_err(|error| bad_argument(error.to_string()))?.unwrap_or_default();
            (CropTo::Trim(tolerance), "with its borders cut off".to_owned())
        }
        (None, None, false) => {
            return Err(bad_argument(
                "What to keep is missing: give region {left, top, right, bottom}, each from 0 to 1000, or aspect such \
                 as \"square\" or \"16:9\", or trim: true.",
            ));
        }
        (region, aspect, trim) => {
            let given = [("region", region.is_some()), ("aspect", aspect.is_some()), ("trim", trim)];
            let given: Vec<_> = given.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
            return Err(bad_argument(format!(
                "{} were {} given. Give one of them: region {{left, top, right, bottom}}, or aspect, or \
                 trim: true. For more, crop twice.",
                given.join(" and "),
                if given.len() == 2 { "both" } else { "all" }
            )));
        }
    };
    Ok(EditPlan {
        done: "Cropped",
        suffix: "cropped",
        description,
        from_file: Some(Arc::new(move |bytes, work| ops::crop_file(bytes, to, work))),
        ..EditPlan::new(asked.images, EditKind::pixels(move |picture, work| ops::crop(picture, to, work)))
    })
}

pub(super) fn rotate_spec() -> ToolSpec {
    ToolSpec {
        name: "rotate_image",
        progress: "turning {photos}",
        description: "Turns images clockwise. 90, 180 and 270 lose nothing; other angles enlarge the frame to hold \
                      the corners, or, to straighten a tilted horizon or scan, cut it so that no empty corner shows.",
        parameters: object(
            json!({
                "images": images(),
                "degrees": {
                    "type": "number",
                    "minimum": -360,
                    "maximum": 360,
                    "description": "Clockwise; negative turns to the left.",
                },
                "straighten": {
                    "type": "boolean",
                    "default": false,
                    "description": "true crops to the largest part without empty corners. Meant for small angles.",
                },
            }),
            &["images", "degrees"],
        ),
    }
}

pub(super) fn rotate(spec: &ToolSpec, arguments: &Value) -> Result<EditPlan, ToolError> {
    #[derive(Deserialize)]
    struct RotateArguments {
        images: Vec<String>,
        degrees: f64,
        #[serde(default)]
        straighten: bool,
    }
    let asked: RotateArguments = arguments::read(&spec.parameters, arguments)?;
    let degrees = asked.degrees;
    if degrees % 360.0 == 0.0 {
        return Err(bad_argument(format!(
            "degrees is {degrees}, which changes nothing. Use 90 for a quarter turn to the right, -90 to the left, \
             180 for upside down, or any other angle from -360 to 360."
        )));
    }
    let corners = if asked.straighten { ops::RotateCorners::Cut } else { ops::RotateCorners::Kept };
    let (sin, cos) = degrees.to_radians().sin_cos();
    let (sin, cos) = (sin.abs(), cos.abs());
    Ok(EditPlan {
        done: if asked.straighten { "Straightened" } else { "Rotated" },
        suffix: if asked.straighten { "straightened" } else { "rotated" },
        description: match corners {
            ops::RotateCorners::Cut => format!("straightened by {degrees} degrees"),
            ops::RotateCorners::Kept => format!("rotated by {degrees} degrees"),
        },
        cost: if degrees % 90.0 == 0.0 { EditCost::InPlace } else { EditCost::Resample },
        canvas: Box::new(move |width, height| match corners {
            ops::RotateCorners::Cut => width * height,
            ops::RotateCorners::Kept => (width * cos + height * sin) * (width * sin + height * cos),
        }),
        ..EditPlan::new(
            asked.images,
            EditKind::pixels(move |picture, work| ops::rotate(picture, degrees, corners, work)),
        )
    })
}

pub(super) fn flip_spec() -> ToolSpec {
    ToolSpec {
        name: "flip_image",
        progress: "mirroring {photos}",
        description: "Mirrors images.",
        parameters: object(
            json!({
                "images": images(),
                "direction": {
                    "type": "string",
                    "enum": ["horizontal", "vertical"],
                    "description": "horizontal swaps left and right, vertical swaps top and bottom.",
                },
            }),
            &["images", "direction"],
        ),
    }
}

pub(super) fn flip(spec: &ToolSpec, arguments: &Value) -> Result<EditPlan, ToolError> {
    #[derive(Deserialize)]
    struct FlipArguments {
        images: Vec<String>,
        direction: FlipAxis,
    }
    let asked: FlipArguments = arguments::read(&spec.parameters, arguments)?;
    let direction = asked.direction;
    let description = match direction {
        FlipAxis::Horizontal => "flipped left to right",
        FlipAxis::Vertical => "flipped top to bottom",
    };
    Ok(EditPlan {
        done: "Flipped",
        suffix: "flipped",
        description: description.to_owned(),
        ..EditPlan::new(asked.images, EditKind::pixels(move |picture, _| ops::flip(picture, direction)))
    })
}

pub(super) fn resize_spec() -> ToolSpec {
    let side = |what: &str| json!({"type": "integer", "minimum": 1, "maximum": MAX_RESIZED_SIDE, "description": what});
    ToolSpec {
        name: "resize_image",
        progress: "resizing {photos}",
        description: "Scales images. Say the size in one way: width and height (one or both), or longest, or percent.",
        parameters: object(
            json!({
                "images": images(),
                "width": side("In pixels. Alone, the height follows."),
                "height": side("In pixels. Alone, the width follows."),
                "longest": side("The longer side, in pixels; the other follows."),
                "percent": {
                    "type": "number",
                    "minimum": 1,
                    "maximum": 1000,
                    "description": "50 halves both sides.",
                },
                "fit": {
                    "type": "string",
                    "enum": ["fit", "fill", "stretch"],
                    "default": "fit",
                    "description": "With width and height both: fit inside keeping the shape, fill and cut off what hangs \
                                    over, or stretch.",
                },
            }),
            &["images"],
        ),
    }
}

pub(super) fn resize(spec: &ToolSpec, arguments: &Value) -> Result<EditPlan, ToolError> {
    #[derive(Deserialize)]
    struct ResizeArguments {
        images: Vec<String>,
        width: Option<f64>,
        height: Option<f64>,
        longest: Option<f64>,
        percent: Option<f64>,
        fit: Option<Fit>,
    }
    let asked: ResizeArguments = arguments::read(&spec.parameters, arguments)?;
    let boxed = asked.width.is_some() && asked.height.is_some();
    if matches!(asked.fit, Some(Fit::Fill | Fit::Stretch)) && !boxed {
        return Err(bad_argument("fit: fill and stretch need width and height, both."));
    }
    let to = ResizeTo::new(asked.width, asked.height, asked.longest, asked.percent, asked.fit)
        .map_err(|error| bad_argument(error.to_string()))?;
    let (to_width, to_height, longest, percent) = (asked.width, asked.height, asked.longest, asked.percent);
    let description = match (to_width, to_height, longest, percent) {
        (Some(width), Some(height), ..) => format!("resized to {width}×{height}"),
        (Some(width), ..) => format!("resized to a width of {width}"),
        (_, Some(height), ..) => format!("resized to a height of {height}"),
        (.., Some(longest), _) => format!("resized to {longest} along the longer side"),
        (.., percent) => format!("resized to {}%", percent.unwrap_or(100.0)),
    };
    let canvas = move |width: f64, height: f64| {
        let scaled = |factor: f64| width * height * factor * factor;
        match (to_width, to_height) {
            (Some(to_width), Some(to_height)) => to_width * to_height,
            (Some(to_width), None) => scaled(to_width / width),
            (None, Some(to_height)) => scaled(to_height / height),
            (None, None) => scaled(
                longest.map_or(percent.unwrap_or(100.0) / 100.0, |longest| longest / width.max(height)),
            ),
        }
    };
    Ok(EditPlan {
        done: "Resized",
        suffix: "resized",
        description,
        cost: EditCost::Resample,
        canvas: Box::new(canvas),
        ..EditPlan::new(asked.images, EditKind::pixels(move |picture, work| ops::resize(picture, to, work)))
    })
}
