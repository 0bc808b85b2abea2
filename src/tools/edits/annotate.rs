//! `annotate_image`: draws text, arrows, lines, pins and polygons.

use super::execute::{EditKind, EditPlan};
use crate::{
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, bad_argument, object},
        schema::{CORNERS, Corners, color, images, read_color, region_properties},
        wording,
    },
};
use imaging::{
    Color,
    ops::{
        self, Annotation, LineAnnotation, LineKind, PinAnnotation, RelativePoint, TextAlign, TextAnnotation,
        TextBacking, TextPosition,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

const MAX_ITEMS: u64 = 50;
const MAX_POINTS: u64 = 200;
const MAX_ITEM_TEXT_CHARS: u64 = 500;
const MAX_PIN_NUMBER: u32 = 999;

pub(super) fn annotate_spec() -> ToolSpec {
    let coordinate =
        |side: &str| json!({"type": "number", "minimum": 0, "maximum": 1000, "description": side});
    let (x, y) = (coordinate("In thousandths of the width."), coordinate("In thousandths of the height."));
    let point = |what: &str| {
        let mut point = object(json!({"x": x, "y": y}), &["x", "y"]);
        point["description"] = what.into();
        point
    };
    let mut region = object(region_properties(), &CORNERS);
    region["description"] =
        "text: instead of x and y, the part to write in; the text is wrapped to it.".into();
    let mut color = color("red, for text white");
    color["description"] = "A color name, #rrggbb or rgb(r, g, b). Red by default, for text white.".into();
    color.as_object_mut().map(|color| color.remove("default"));
    let item = json!({
        "type": {"type": "string", "enum": ["text", "arrow", "line", "pin", "polygon"]},
        "text": {"type": "string", "minLength": 1, "maxLength": MAX_ITEM_TEXT_CHARS, "description": "text: what to write."},
        "x": x,
        "y": y,
        "region": region,
        "align": {
            "type": "string",
            "enum": ["left", "center", "right"],
            "default": "center",
            "description": "text: whether it starts, is centered or ends at x.",
        },
        "backing": {
            "type": "string",
            "enum": ["outline", "plate", "none"],
            "default": "outline",
            "description": "text: what keeps it readable.",
        },
        "from": point("arrow, line: where it starts."),
        "to": point("arrow, line: where it ends; an arrow points there."),
        "points": {
            "type": "array",
            "items": object(json!({"x": x, "y": y}), &["x", "y"]),
            "minItems": 2,
            "maxItems": MAX_POINTS,
            "description": "polygon: its corners in order.",
        },
        "closed": {"type": "boolean", "default": true, "description": "polygon: false leaves it an open line."},
        "fill": {
            "type": "number",
            "minimum": 0,
            "maximum": 100,
            "default": 0,
            "description": "polygon: how opaque its inside is, in percent.",
        },
        "number": {
            "type": "integer",
            "minimum": 0,
            "maximum": MAX_PIN_NUMBER,
            "description": "pin: by default one more than the pin before.",
        },
        "color": color,
        "size": {
            "type": "number",
            "minimum": 10,
            "maximum": 500,
            "description": format!(
                "Height of a line of text ({} by default) or of a pin ({}), in thousandths of the shorter side.",
                TextAnnotation::DEFAULT_SIZE, PinAnnotation::DEFAULT_SIZE
            ),
        },
        "thickness": {
            "type": "number",
            "minimum": 1,
            "maximum": 100,
            "default": LineAnnotation::DEFAULT_THICKNESS,
            "description": "Of arrows, lines and polygons, in thousandths of the shorter side.",
        },
    });
    ToolSpec {
        name: "annotate_image",
        progress: "writing on {photos}",
        description: "Draws on images: text at x and y or in a region, arrows and lines from one point to another, \
                      numbered pins whose tip is at x and y, and polygons. All places are in thousandths (0-1000) of \
                      the upright image: look at the image first to know where things are.",
        parameters: object(
            json!({
                "images": images(),
                "items": {
                    "type": "array",
                    "items": object(item, &["type"]),
                    "minItems": 1,
                    "maxItems": MAX_ITEMS,
                    "description": "What to draw, the same on every image; later items lie on top.",
                },
            }),
            &["images", "items"],
        ),
    }
}

#[derive(Deserialize, Clone, Copy)]
struct PointArgument {
    x: f64,
    y: f64,
}

impl PointArgument {
    fn to_point(self, at: &str) -> Result<RelativePoint, ToolError> {
        RelativePoint::new(self.x, self.y)
            .ok_or_else(|| bad_argument(format!("{at}: x and y must each be a number from 0 to 1000.")))
    }
}

#[derive(Deserialize)]
struct ItemArguments {
    #[serde(rename = "type")]
    kind: ItemKind,
    text: Option<String>,
    x: Option<f64>,
    y: Option<f64>,
    region: Option<Corners>,
    align: Option<TextAlign>,
    backing: Option<TextBacking>,
    from: Option<PointArgument>,
    to: Option<PointArgument>,
    points: Option<Vec<PointArgument>>,
    closed: Option<bool>,
    fill: Option<f64>,
    number: Option<f64>,
    color: Option<String>,
    size: Option<f64>,
    thickness: Option<f64>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum ItemKind {
    Text,
    Arrow,
    Line,
    Pin,
    Polygon,
}

impl ItemKind {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Arrow => "arrow",
            Self::Line => "line",
            Self::Pin => "pin",
            Self::Polygon => "polygon",
        }
    }

    fn takes(self) -> &'static [&'static str] {
        match self {
            Self::Text => &["text", "x", "y", "region", "align", "backing", "color", "size"],
            Self::Arrow | Self::Line => &["from", "to", "color", "thickness"],
            Self::Pin => &["x", "y", "number", "color", "size"],
            Self::Polygon => &["points", "closed", "fill", "color", "thickness"],
        }
    }
}

pub(super) fn annotate(spec: &ToolSpec, arguments: &Value) -> Result<EditPlan, ToolError> {
    #[derive(Deserialize)]
    struct AnnotateArguments {
        images: Vec<String>,
        items: Vec<ItemArguments>,
    }
    let asked: AnnotateArguments = arguments::read(&spec.parameters, arguments)?;
    let mut drawn = Vec::new();
    let mut next_number = 1;
    for (index, item) in asked.items.iter().enumerate() {
        let at = format!("items[{index}]");
        check_fields(&at, item.kind, &arguments["items"][index])?;
        let annotation = item.annotation(&at, next_number)?;
        if let Annotation::Pin(pin) = &annotation {
            next_number = (pin.number + 1).min(MAX_PIN_NUMBER);
        }
        drawn.push(annotation);
    }
    let writes: Vec<_> = asked.items.iter().filter_map(|item| item.text.clone()).collect();
    Ok(EditPlan {
        done: "Annotated",
        suffix: "annotated",
        description: wording::shortened(&describe(&asked.items), 200),
        writes,
        ..EditPlan::new(
            asked.images,
            EditKind::pixels(move |picture, work| ops::annotate(picture, &drawn, work)),
        )
    })
}

/// Refuses a field that items of this kind do not have, instead of ignoring it.
fn check_fields(at: &str, kind: ItemKind, sent: &Value) -> Result<(), ToolError> {
    let sent = sent.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let stray =
        sent.map(|(name, _)| name.as_str()).find(|name| *name != "type" && !kind.takes().contains(name));
    match stray {
        None => Ok(()),
        Some(name) => Err(bad_argument(format!(
            "{at}.{name} does not go with {}, which takes: {}.",
            wording::with_article(kind.name()),
            kind.takes().join(", ")
        ))),
    }
}

impl ItemArguments {
    fn annotation(&self, at: &str, next_number: u32) -> Result<Annotation, ToolError> {
        let needs = |what: &str| {
            bad_argument(format!("{at}: {} needs {what}.", wording::with_article(self.kind.name())))
        };
        let color = read_color(&format!("{at}.color"), self.color.as_deref())?;
        let here = match (self.x, self.y) {
            (Some(x), Some(y)) => Some(PointArgument { x, y }.to_point(at)?),
            _ => None,
        };
        match self.kind {
            ItemKind::Text => {
                let text = self.text.clone().filter(|text| !text.trim().is_empty());
                let place = match (here, &self.region) {
                    (Some(here), None) => TextPosition::At(here),
                    (None, Some(region)) => TextPosition::In(region.region(&format!("{at}.region"))?),
                    (Some(_), Some(_)) => {
                        return Err(bad_argument(format!("{at}: give x and y or region, not both.")));
                    }
                    (None, None) => return Err(needs("x and y, or region {left, top, right, bottom}")),
                };
                Ok(Annotation::Text(TextAnnotation {
                    text: text.ok_or_else(|| needs("text with something in it"))?,
                    position: place,
                    size: self.size.unwrap_or(f64::from(TextAnnotation::DEFAULT_SIZE)),
                    color: color.unwrap_or(Color::WHITE),
                    backing: self.backing.unwrap_or_default(),
                    align: self.align.unwrap_or_default(),
                }))
            }
            ItemKind::Arrow | ItemKind::Line => {
                let (Some(from), Some(to)) = (self.from, self.to) else {
                    return Err(needs("from and to, each {x, y}"));
                };
                let points = vec![from.to_point(&format!("{at}.from"))?, to.to_point(&format!("{at}.to"))?];
                if points[0] == points[1] {
                    return Err(bad_argument(format!(
                        "{at}: from and to are the same point, so there is no direction."
                    )));
                }
                let kind = if self.kind == ItemKind::Arrow { LineKind::Arrow } else { LineKind::Open };
                Ok(self.path(kind, points, color))
            }
            ItemKind::Polygon => {
                let points = self.points.as_deref().ok_or_else(|| needs("points, a list of {x, y}"))?;
                let spots = points.iter().enumerate();
                let spots = spots.map(|(index, point)| point.to_point(&format!("{at}.points[{index}]")));
                let kind = match (self.closed.unwrap_or(true), self.fill) {
                    (true, fill) => LineKind::Closed { fill: (fill.unwrap_or_default() / 100.0) as f32 },
                    (false, None | Some(0.0)) => LineKind::Open,
                    (false, Some(_)) => {
                        return Err(bad_argument(format!(
                            "{at}.fill is given, but closed is false: an open line has no inside."
                        )));
                    }
                };
                Ok(self.path(kind, spots.collect::<Result<_, _>>()?, color))
            }
            ItemKind::Pin => Ok(Annotation::Pin(PinAnnotation {
                at: here.ok_or_else(|| needs("x and y"))?,
                number: self.number.map_or(next_number, |number| number as u32),
                color: color.unwrap_or_default(),
                size: self.size.unwrap_or(f64::from(PinAnnotation::DEFAULT_SIZE)),
            })),
        }
    }

    fn path(&self, kind: LineKind, points: Vec<RelativePoint>, color: Option<Color>) -> Annotation {
        let thickness = self.thickness.unwrap_or(f64::from(LineAnnotation::DEFAULT_THICKNESS));
        Annotation::Line(LineAnnotation { kind, points, color: color.unwrap_or_default(), thickness })
    }
}

/// "annotated: “hello”, 2 arrows, a pin".
fn describe(items: &[ItemArguments]) -> String {
    let mut parts: Vec<_> =
        items.iter().filter_map(|item| item.text.as_ref()).map(|text| format!("“{text}”")).collect();
    for kind in [ItemKind::Arrow, ItemKind::Line, ItemKind::Pin, ItemKind::Polygon] {
        let number = items.iter().filter(|item| item.kind == kind).count();
        if number > 0 {
            parts.push(wording::count(number, kind.name()));
        }
    }
    format!("annotated: {}", parts.join(", "))
}
