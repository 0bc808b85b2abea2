//! `compare_images`: how similar two images are, and where they differ.

use super::{
    execute::{CombinePlan, Combined, CombinedFile},
    images,
};
use crate::{
    providers::ToolSpec,
    tools::{
        ToolError,
        arguments::{self, object},
    },
};
use imaging::{
    self, Region,
    ops::{self, CompareMode, Comparison},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// Two frames of at most 1600 by 1600, the map of differences, and the pictures that show it.
const COMPARISON_PIXELS: u64 = 8_000_000;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "compare_images",
        progress: "comparing {photos}",
        description: "Compares two images: how similar they are, which part of the pixels changed and where (regions in \
                      thousandths, as highlight_image takes them), with pictures that show it.",
        parameters: object(
            json!({
                "images": images(2, 2, "Two attachment ids. The second is compared with the first."),
                "mode": {
                    "type": "string",
                    "enum": ["side_by_side", "difference", "both"],
                    "default": "both",
                    "description": "difference shows the first in gray with what changed glowing on it.",
                },
            }),
            &["images"],
        ),
    }
}

pub(super) fn plan(spec: &ToolSpec, arguments: &Value) -> Result<CombinePlan, ToolError> {
    #[derive(Deserialize)]
    struct CompareArguments {
        images: Vec<String>,
        #[serde(default)]
        mode: CompareMode,
    }
    let asked: CompareArguments = arguments::read(&spec.parameters, arguments)?;
    let mode = asked.mode;
    Ok(CombinePlan {
        writes: Vec::new(),
        images: asked.images,
        thing: "A comparison",
        min_images: 2,
        pixels: COMPARISON_PIXELS,
        make: Box::new(move |sources, _, work| {
            let mut comparison = ops::compare(sources, mode, work)?;
            let pictures = [
                (comparison.side_by_side.take(), "side-by-side", "two images side by side"),
                (comparison.difference.take(), "difference", "what differs between two images"),
            ];
            let mut files = Vec::new();
            for (picture, stem, description) in pictures {
                if let Some(picture) = picture {
                    let encoded = imaging::encode(&picture)?;
                    files.push(CombinedFile { encoded, stem, description: description.to_owned() });
                }
            }
            let shown: Vec<_> = files.iter().map(|file| file.stem).collect();
            let summary = describe(&comparison);
            Ok(Combined { text: format!("{summary}\nMade: {}.", shown.join(", ")), files })
        }),
    })
}

fn describe(comparison: &Comparison) -> String {
    if comparison.identical {
        return "The images have identical pixels.".to_owned();
    }
    let mut text = format!("Similarity {} (SSIM of brightness).", percent(comparison.similarity, false));
    if comparison.changed == 0.0 {
        text.push_str(" No visible difference; only small ones as from compression.");
    } else {
        let share = percent(comparison.changed, true);
        text.push_str(&format!(" {share} of the pixels visibly changed"));
        let regions: Vec<_> = comparison.regions.iter().map(describe_region).collect();
        if !regions.is_empty() {
            text.push_str(&format!(", mainly in {}", regions.join(", ")));
        }
        text.push('.');
    }
    if let Some((width, height)) = comparison.scaled_to {
        text.push_str(&format!(" Both were scaled to {width}×{height} for it."));
    }
    if comparison.cropped {
        text.push_str(" Their shapes differ: only the middle of the second was compared.");
    }
    text
}

/// Rounds down, and never to 0% if `something` differs: one changed pixel of 10000 is a difference.
fn percent(share: f64, something: bool) -> String {
    let tenths = (share * 1000.0).floor();
    if something && tenths < 1.0 {
        return "Less than 0.1%".to_owned();
    }
    let most = if something { 1000.0 } else { 999.0 };
    format!("{:.1}%", tenths.min(most) / 10.0)
}

fn describe_region(region: &Region) -> String {
    let (left, top, right, bottom) = (region.left(), region.top(), region.right(), region.bottom());
    format!("{{left: {left}, top: {top}, right: {right}, bottom: {bottom}}}")
}
