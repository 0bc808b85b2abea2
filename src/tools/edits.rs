//! The edits as the model sees them: what each takes, and which operation on pixels it stands for.

use super::{
    Tool, ToolError,
    arguments::{self, id_list, object, refused},
    editing::{EditTool, Plan, same_canvas},
    words,
};
use crate::{
    imaging::{
        Color, Region, RegionError,
        ops::{self, Axis, CropTo, Filter, Fit, Highlight, ResizeTo, Shape},
    },
    providers::ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

const LONGEST_LABEL: u64 = 80;
const MOST_REGIONS: u64 = 50;
const LONGEST_SIDE: u32 = 30_000;

pub(super) fn tools() -> Vec<Box<dyn Tool>> {
    let edits = [
        EditTool { spec: highlight_spec, plan: highlight },
        EditTool { spec: crop_spec, plan: crop },
        EditTool { spec: rotate_spec, plan: rotate },
        EditTool { spec: flip_spec, plan: flip },
        EditTool { spec: resize_spec, plan: resize },
        EditTool { spec: filter_spec, plan: filter },
    ];
    edits.map(|edit| Box::new(edit) as Box<dyn Tool>).into()
}

fn images() -> Value {
    id_list("Attachment ids of the images to edit; each gives one new image, in the same order.")
}

fn region_properties() -> Value {
    let side = |what: &str| json!({"type": "number", "minimum": 0, "maximum": 1000, "description": what});
    json!({
        "left": side("Left edge, in thousandths of the width."),
        "top": side("Top edge, in thousandths of the height."),
        "right": side("Right edge; greater than left."),
        "bottom": side("Bottom edge; greater than top."),
    })
}

const CORNERS: [&str; 4] = ["left", "top", "right", "bottom"];

#[derive(Deserialize)]
struct Corners {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Corners {
    fn region(&self, at: &str) -> Result<Region, ToolError> {
        Region::new(self.left, self.top, self.right, self.bottom)
            .map_err(|error: RegionError| refused(format!("{at}: {error}")))
    }
}

fn highlight_spec() -> ToolSpec {
    let mut region = region_properties();
    region["label"] = json!({
        "type": "string",
        "maxLength": LONGEST_LABEL,
        "description": "A few words written beside the mark.",
    });
    region["color"] = json!({
        "type": "string",
        "default": "red",
        "description": "A color name, #rrggbb or rgb(r, g, b).",
    });
    region["shape"] = json!({
        "type": "string",
        "enum": ["rectangle", "ellipse", "spotlight"],
        "default": "rectangle",
        "description": "spotlight darkens everything else.",
    });
    region["thickness"] = json!({
        "type": "number",
        "minimum": 1,
        "maximum": 100,
        "default": 6,
        "description": "Of the outline, in thousandths of the shorter side.",
    });
    ToolSpec {
        name: "highlight_image",
        description: "Marks parts of images with an outline or a spotlight and, if wanted, a label. Regions are in \
                      thousandths (0-1000) of the upright image: look at the image first to know where things are.",
        parameters: object(
            json!({
                "images": images(),
                "regions": {
                    "type": "array",
                    "items": object(region, &CORNERS),
                    "minItems": 1,
                    "maxItems": MOST_REGIONS,
                    "description": "The parts to mark, the same on every image.",
                },
            }),
            &["images", "regions"],
        ),
    }
}

fn highlight(spec: &ToolSpec, arguments: &Value) -> Result<Plan, ToolError> {
    #[derive(Deserialize)]
    struct Arguments {
        images: Vec<String>,
        regions: Vec<Marked>,
    }
    #[derive(Deserialize)]
    struct Marked {
        #[serde(flatten)]
        corners: Corners,
        label: Option<String>,
        color: Option<String>,
        #[serde(default)]
        shape: Shape,
        thickness: Option<f64>,
    }
    let asked: Arguments = arguments::read(&spec.parameters, arguments)?;
    let mut marks = Vec::new();
    for (index, marked) in asked.regions.into_iter().enumerate() {
        let at = format!("regions[{index}]");
        let color = marked.color.as_deref().map(Color::parse).transpose();
        marks.push(Highlight {
            region: marked.corners.region(&at)?,
            label: marked.label.filter(|label| !label.trim().is_empty()),
            color: color.map_err(|error| refused(format!("{at}.color: {error}")))?.unwrap_or_default(),
            shape: marked.shape,
            thickness: marked.thickness,
        });
    }
    let labels: Vec<_> = marks.iter().filter_map(|mark| mark.label.as_deref()).collect();
    let description = if labels.is_empty() {
        format!("{} highlighted", words::count(marks.len(), "region"))
    } else {
        words::shortened(&format!("highlighted: {}", labels.join(", ")), 200)
    };
    Ok(Plan {
        images: asked.images,
        done: "Highlighted",
        suffix: "highlighted",
        description,
        canvas: same_canvas(),
        apply: Box::new(move |picture, _| ops::highlight(picture, &marks)),
    })
}

fn crop_spec() -> ToolSpec {
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

fn crop(spec: &ToolSpec, arguments: &Value) -> Result<Plan, ToolError> {
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
        apply: Box::new(move |picture, _| ops::crop(picture, to)),
    })
}

fn rotate_spec() -> ToolSpec {
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

fn rotate(spec: &ToolSpec, arguments: &Value) -> Result<Plan, ToolError> {
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
        apply: Box::new(move |picture, limits| ops::rotate(picture, degrees, limits)),
    })
}

fn flip_spec() -> ToolSpec {
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

fn flip(spec: &ToolSpec, arguments: &Value) -> Result<Plan, ToolError> {
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
        apply: Box::new(move |picture, _| ops::flip(picture, direction)),
    })
}

fn resize_spec() -> ToolSpec {
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

fn resize(spec: &ToolSpec, arguments: &Value) -> Result<Plan, ToolError> {
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
        apply: Box::new(move |picture, limits| ops::resize(picture, to, limits)),
    })
}

fn filter_spec() -> ToolSpec {
    ToolSpec {
        name: "filter_image",
        description: "Gives images another look: grayscale (black and white), sepia, or inverted colors.",
        parameters: object(
            json!({
                "images": images(),
                "filter": {"type": "string", "enum": ["grayscale", "sepia", "invert"]},
            }),
            &["images", "filter"],
        ),
    }
}

fn filter(spec: &ToolSpec, arguments: &Value) -> Result<Plan, ToolError> {
    #[derive(Deserialize)]
    struct Arguments {
        images: Vec<String>,
        filter: Filter,
    }
    let asked: Arguments = arguments::read(&spec.parameters, arguments)?;
    let filter = asked.filter;
    let (suffix, description) = match filter {
        Filter::Grayscale => ("grayscale", "in shades of gray"),
        Filter::Sepia => ("sepia", "in sepia"),
        Filter::Invert => ("inverted", "with inverted colors"),
    };
    Ok(Plan {
        images: asked.images,
        done: "Filtered",
        suffix,
        description: description.to_owned(),
        canvas: same_canvas(),
        apply: Box::new(move |picture, _| ops::filter(picture, filter)),
    })
}
