//! What is in the frame and how it lies: crop, rotate, flip, resize.

use super::{CORNERS, Corners, images, region_properties};
use crate::{
    imaging::ops::{self, Axis, CropTo, Fit, ResizeTo},
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, object, refused},
        editing::{Making, Plan, same_canvas},
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

const LONGEST_SIDE: u32 = 30_000;

pub(super) fn crop_spec() -> ToolSpec {
    let mut region = object(region_properties(), &CORNERS);
    region["description"] = "The part to keep, in thousandths (0-1000) of the upright image.".into();
    ToolSpec {
        name: "crop_image",
        description: "Cuts images down to a region, or to an aspect around the middle. Give region or aspect, not \
                      both.",
        parameters: object(
            json!({
                "images": images(),
                "region": region,
                "aspect": {
                    "type": "string",
                    "maxLength": 20,
                    "description": "\"square\" or width:height such as 4:5, 3:2 or 16:9.",
                },
            }),
            &["images"],
        ),
    }
}

pub(super) fn crop(spec: &ToolSpec, arguments: &Value) -> Result<Plan, ToolError> {
    #[derive(Deserialize)]
    struct Arguments {
        images: Vec<String>,
        region: Option<Corners>,
        aspect: Option<String>,
    }
    let asked: Arguments = arguments::read(&spec.parameters, arguments)?;
    let (to, description) = match (asked.region, asked.aspect) {
        (Some(corners), None) => {
            (CropTo::Region(corners.region("region")?), "cropped to a region".to_owned())
        }
        (None, Some(aspect)) => (
            CropTo::Aspect(aspect.parse().map_err(|error| refused(format!("aspect: {error}")))?),
            format!("cropped to {aspect}"),
        ),
        (Some(_), Some(_)) => {
            return Err(refused(
                "region and aspect were both given. Give one of them: region {left, top, right, bottom} or aspect.",
            ));
        }
        (None, None) => {
            return Err(refused(
                "What to keep is missing: give region {left, top, right, bottom}, each from 0 to 1000, or aspect such \
                 as \"square\" or \"16:9\".",
            ));
        }
    };
    Ok(Plan {
        images: asked.images,
        done: "Cropped",
        suffix: "cropped",
        description,
        canvas: same_canvas(),
        writes: Vec::new(),
        beside: Vec::new(),
        making: Making::each(move |picture, _| ops::crop(picture, to)),
    })
}

pub(super) fn rotate_spec() -> ToolSpec {
    ToolSpec {
        name: "rotate_image",
        description: "Turns images clockwise. 90, 180 and 270 lose nothing; other angles enlarge the frame to hold \
                      the corners.",
        parameters: object(
            json!({
                "images": images(),
                "degrees": {
                    "type": "number",
                    "minimum": -360,
                    "maximum": 360,
                    "description": "Clockwise; negative turns to the left.",
                },
            }),
            &["images", "degrees"],
        ),
    }
}

pub(super) fn rotate(spec: &ToolSpec, arguments: &Value) -> Result<Plan, ToolError> {
    #[derive(Deserialize)]
    struct Arguments {
        images: Vec<String>,
        degrees: f64,
    }
    let asked: Arguments = arguments::read(&spec.parameters, arguments)?;
    let degrees = asked.degrees;
    if degrees % 360.0 == 0.0 {
        return Err(refused(format!(
            "degrees is {degrees}, which changes nothing. Use 90 for a quarter turn to the right, -90 to the left, \
             180 for upside down, or any other angle from -360 to 360."
        )));
    }
    let (sin, cos) = degrees.to_radians().sin_cos();
    let (sin, cos) = (sin.abs(), cos.abs());
    Ok(Plan {
        images: asked.images,
        done: "Rotated",
        suffix: "rotated",
        description: format!("rotated by {degrees} degrees"),
        canvas: Box::new(move |width, height| (width * cos + height * sin) * (width * sin + height * cos)),
        writes: Vec::new(),
        beside: Vec::new(),
        making: Making::each(move |picture, work| ops::rotate(picture, degrees, work)),
    })
}

pub(super) fn flip_spec() -> ToolSpec {
    ToolSpec {
        name: "flip_image",
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

pub(super) fn flip(spec: &ToolSpec, arguments: &Value) -> Result<Plan, ToolError> {
    #[derive(Deserialize)]
    struct Arguments {
        images: Vec<String>,
        direction: Axis,
    }
    let asked: Arguments = arguments::read(&spec.parameters, arguments)?;
    let direction = asked.direction;
    let description = match direction {
        Axis::Horizontal => "flipped left to right",
        Axis::Vertical => "flipped top to bottom",
    };
    Ok(Plan {
        images: asked.images,
        done: "Flipped",
        suffix: "flipped",
        description: description.to_owned(),
        canvas: same_canvas(),
        writes: Vec::new(),
        beside: Vec::new(),
        making: Making::each(move |picture, _| ops::flip(picture, direction)),
    })
}

pub(super) fn resize_spec() -> ToolSpec {
    let side =
        |what: &str| json!({"type": "integer", "minimum": 1, "maximum": LONGEST_SIDE, "description": what});
    ToolSpec {
        name: "resize_image",
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

pub(super) fn resize(spec: &ToolSpec, arguments: &Value) -> Result<Plan, ToolError> {
    #[derive(Deserialize)]
    struct Arguments {
        images: Vec<String>,
        width: Option<f64>,
        height: Option<f64>,
        longest: Option<f64>,
        percent: Option<f64>,
        fit: Option<Fit>,
    }
    let asked: Arguments = arguments::read(&spec.parameters, arguments)?;
    let to = ResizeTo::new(asked.width, asked.height, asked.longest, asked.percent, asked.fit)
        .map_err(|error| refused(error.to_string()))?;
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
    Ok(Plan {
        images: asked.images,
        done: "Resized",
        suffix: "resized",
        description,
        canvas: Box::new(canvas),
        writes: Vec::new(),
        beside: Vec::new(),
        making: Making::each(move |picture, work| ops::resize(picture, to, work)),
    })
}
