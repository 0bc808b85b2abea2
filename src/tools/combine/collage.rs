//! `collage_images`: several images on one canvas.

use super::{
    execute::{CombinePlan, Combined, CombinedFile},
    images,
};
use crate::{
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, bad_argument, object},
        wording,
    },
};
use imaging::{
    self,
    ops::{self, Collage, CollageBackground, CollageLayout},
};
use serde::Deserialize;
use serde_json::{Value, json};

const MAX_COLLAGE_IMAGES: u64 = 20;
const MAX_CAPTION_CHARS: u64 = 80;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "collage_images",
        progress: "making a collage of {photos}",
        description: "Puts several images on one canvas: a grid as in a photo album, a row, a column, before and after \
                      with a divider, or a contact sheet with captions.",
        parameters: object(
            json!({
                "images": images(2, MAX_COLLAGE_IMAGES, "Attachment ids of the images, in the order to show them."),
                "layout": {
                    "type": "string",
                    "enum": ["grid", "row", "column", "before_after", "contact_sheet"],
                    "default": "grid",
                    "description": "before_after takes exactly two. contact_sheet writes file names below small images.",
                },
                "columns": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_COLLAGE_IMAGES,
                    "description": "Only for grid and contact_sheet: images per row, in cells of one size (a grid then \
                                    cuts images to its cells). Left out, what looks best and cuts nothing.",
                },
                "size": {
                    "type": "integer",
                    "minimum": 100,
                    "maximum": 8192,
                    "description": "The longer side in pixels. Default 2048, or less if the images are small.",
                },
                "gap": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": 200,
                    "description": "Between and around the images, in pixels. Left out, about 1% of the size.",
                },
                "background": {
                    "type": "string",
                    "default": "white",
                    "description": "A color name, #rrggbb, rgb(r, g, b) or transparent.",
                },
                "captions": {
                    "type": "array",
                    "items": {"type": "string", "maxLength": MAX_CAPTION_CHARS},
                    "minItems": 1,
                    "maxItems": MAX_COLLAGE_IMAGES,
                    "description": "One for each image, in the same order; \"\" for none.",
                },
            }),
            &["images"],
        ),
    }
}

pub(super) fn plan(spec: &ToolSpec, arguments: &Value) -> Result<CombinePlan, ToolError> {
    #[derive(Deserialize)]
    struct CollageArguments {
        images: Vec<String>,
        #[serde(default)]
        layout: CollageLayout,
        columns: Option<f64>,
        size: Option<f64>,
        gap: Option<f64>,
        background: Option<String>,
        captions: Option<Vec<String>>,
    }
    let asked: CollageArguments = arguments::read(&spec.parameters, arguments)?;
    let number = asked.images.len();
    let layout = asked.layout;
    if layout == CollageLayout::BeforeAfter && number != 2 {
        return Err(bad_argument(format!(
            "images has {number} items, but layout before_after takes exactly 2: before, then after."
        )));
    }
    let takes_columns = matches!(layout, CollageLayout::Grid | CollageLayout::ContactSheet);
    if asked.columns.is_some() && !takes_columns {
        return Err(bad_argument(
            "columns only goes with layout grid or contact_sheet. Leave it out, or change layout.",
        ));
    }
    if let Some(captions) = &asked.captions
        && captions.len() != number
    {
        return Err(bad_argument(format!(
            "captions has {}, but images has {number}. Give one caption for each image, in the same order, or \"\" for \
             none.",
            wording::count(captions.len(), "item"),
        )));
    }
    let background = asked.background.as_deref().map(CollageBackground::parse).transpose();
    let background =
        background.map_err(|error| bad_argument(format!("background: {error}")))?.unwrap_or_default();
    let whole = |number: f64| number as u32;
    let collage = Collage {
        layout,
        columns: asked.columns.map(whole),
        longest: asked.size.map(whole),
        gap: asked.gap.map(whole),
        background,
        captions: Vec::new(),
    };
    let captions = asked.captions;
    let (name, stem, min_images) = match layout {
        CollageLayout::Grid => ("grid", "collage", 2),
        CollageLayout::Row => ("row", "collage", 2),
        CollageLayout::Column => ("column", "collage", 2),
        CollageLayout::BeforeAfter => ("before and after", "before-after", 2),
        CollageLayout::ContactSheet => ("contact sheet", "contact-sheet", 1),
    };
    Ok(CombinePlan {
        writes: captions.iter().flatten().cloned().collect(),
        images: asked.images,
        thing: if layout == CollageLayout::ContactSheet { "A contact sheet" } else { "A collage" },
        min_images,
        pixels: collage.most_pixels(),
        make: Box::new(move |sources, images, work| {
            let caption =
                |position: usize| captions.as_ref().and_then(|captions| captions.get(position)).cloned();
            let captions = match (&captions, layout) {
                (None, CollageLayout::ContactSheet) => {
                    images.iter().map(|image| image.filename.clone()).collect()
                }
                (None, _) => Vec::new(),
                (Some(_), _) => images.iter().filter_map(|image| caption(image.position)).collect(),
            };
            let collage = Collage { captions, ..collage.clone() };
            let picture = ops::collage(sources, &collage, work)?;
            let (width, height) = (picture.width(), picture.height());
            let of = wording::count(sources.len(), "image");
            Ok(Combined {
                text: format!("Put {of} together ({name}, {width}×{height})."),
                files: vec![CombinedFile {
                    encoded: imaging::encode(&picture)?,
                    stem,
                    description: format!("{of} put together ({name})"),
                }],
            })
        }),
    })
}
