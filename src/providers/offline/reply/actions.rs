//! What was done, as phrases of the final sentence: "Here you go: cropped to a square and rotated left."
//!
//! A phrase may hold the placeholders `{it}` (the edited pictures) and `{n}` (how many pictures went in). The phrases
//! of filters and adjustments are in `grammar.yaml`.

use super::text::{join_and, quote};
use crate::providers::offline::parse::meaning::{FlipAxis, HighlightShape};
use crate::providers::offline::parse::things::NamedThing;
use vision::Which;

pub const ORIGINAL_RESTORED: &str = "back to the original";
pub const UNDONE: &str = "one step back";
pub const REDONE: &str = "one step forward";
pub const REPEATED: &str = "did the same";
pub const TRIMMED: &str = "trimmed the borders";
pub const AUTO_LEVELLED: &str = "balanced the light and colours{of}";
pub const METADATA_REMOVED: &str = "took the metadata out";
pub const NUMBERED: &str = ", numbered";

pub fn cropped_to_regions(names: &[String]) -> String {
    format!("cropped to {}", join_and(names))
}

pub fn cropped_to_aspect(aspect: &str) -> String {
    if aspect == "1:1" { "cropped to a square".into() } else { format!("cropped to {aspect}") }
}

pub fn cut_off(name: &str) -> String {
    format!("cut off {name}")
}

/// `degrees` clockwise, above 0 and below 360.
pub fn rotated(degrees: f64) -> String {
    match degrees {
        90.0 => "rotated right".to_owned(),
        180.0 => "turned upside down".to_owned(),
        270.0 => "rotated left".to_owned(),
        degrees if degrees > 180.0 => format!("rotated {}° counterclockwise", 360.0 - degrees),
        degrees => format!("rotated {degrees}° clockwise"),
    }
}

/// `degrees` clockwise, negative to the left.
pub fn straightened(degrees: f64) -> String {
    let direction = if degrees < 0.0 { "left" } else { "right" };
    format!("straightened by {}° to the {direction}", degrees.abs())
}

pub fn flipped(axis: FlipAxis) -> &'static str {
    match axis {
        FlipAxis::Horizontal => "mirrored left to right",
        FlipAxis::Vertical => "flipped top to bottom",
    }
}

/// `size` as in "50%", "800 × 600" or "800 px wide".
pub fn resized(size: &str) -> String {
    format!("resized to {size}")
}

pub fn redacted(names: &[String]) -> String {
    format!("hid {}", join_and(names))
}

pub const CROPPED_TO_FOUND: &str = "cropped to {found}";

pub const ERASED_FOUND: &str = "removed {found} and made up what is behind";
pub const CUT_OUT_FOUND: &str = "cut out {found}";
pub const BACKGROUND_REMOVED: &str = "removed the background";
pub const BACKGROUND_BLURRED: &str = "blurred the background";

pub fn background_colored(colour: &str) -> String {
    format!("made the background {colour}")
}

pub fn erased(names: &[String]) -> String {
    format!("removed what was at {} and made up what is behind", join_and(names))
}

pub fn enlarged(factor: u32) -> String {
    format!("enlarged {{it}} {factor} times")
}

/// The phrase for hiding what was found, in a style of `redact_image`.
pub fn hid_found(style: &str) -> &'static str {
    match style {
        "blur" => "blurred {found}",
        "pixelate" => "pixelated {found}",
        _ => "hid {found}",
    }
}

/// "the eagle", "the left car", "3 faces"
pub fn found(thing: &NamedThing, count: usize) -> String {
    let said = &thing.said;
    let everyone = ["every", "all "].iter().any(|start| said.starts_with(start));
    let which = match thing.which {
        Which::Any | Which::Nth(_) => String::new(),
        which => format!("{which} "),
    };
    match count {
        1 if thing.what == "faces" => format!("the {which}face"),
        1 if thing.plural => format!("one of {}", quote(said)),
        1 => format!("the {which}{said}"),
        n if thing.what == "faces" => format!("{n} faces"),
        n if everyone => format!("{n} people"),
        n if thing.plural => format!("{n} {said}"),
        n => format!("{n} of {}", quote(said)),
    }
}

/// `position` as in "at the top".
pub fn wrote(text: &str, position: &str) -> String {
    format!("wrote {} {position}", quote(text))
}

pub fn watermarked(text: &str) -> String {
    format!("signed {{it}} with {}", quote(text))
}

pub fn collage(layout: &str) -> &'static str {
    match layout {
        "row" => "put {n} side by side",
        "column" => "put {n} one above the other",
        "before_after" => "put before and after side by side",
        "contact_sheet" => "put {n} on a contact sheet",
        _ => "put {n} in a collage",
    }
}

pub fn animated(slideshow: bool) -> &'static str {
    if slideshow { "made a slideshow of {n}" } else { "made an animation of {n}" }
}

pub fn converted(format: &str) -> String {
    let name = if format == "webp" { "WebP".into() } else { format.to_uppercase() };
    format!("converted {{it}} to {name}")
}

pub fn saved_at_quality(quality: f64) -> String {
    format!("saved {{it}} at quality {quality}")
}

pub fn brought_under(kilobytes: f64) -> String {
    let size =
        if kilobytes >= 1000.0 { format!("{} MB", kilobytes / 1000.0) } else { format!("{kilobytes} kB") };
    format!("brought {{it}} under {size}")
}

/// The verb of a highlight, if all of its regions have this shape.
pub fn highlighted(shape: Option<HighlightShape>) -> &'static str {
    match shape {
        Some(HighlightShape::Ellipse) => "circled",
        Some(HighlightShape::Spotlight) => "put a spotlight on",
        Some(HighlightShape::Rectangle) | None => "highlighted",
    }
}

/// " in red as “eagle”"
pub fn highlight_details(colour: Option<&str>, label: Option<&str>) -> String {
    let colour = colour.map(|colour| format!(" in {colour}"));
    let label = label.map(|label| format!(" as {}", quote(label)));
    format!("{}{}", colour.unwrap_or_default(), label.unwrap_or_default())
}

/// Fills `{part}` and `{of}` of a filter's or adjustment's phrase. `{it}` stays for `done` unless a part is named.
pub fn on_part(template: &str, part: Option<&str>) -> String {
    match part {
        None => template.replace("{part}", "").replace("{of}", ""),
        Some(part) => template
            .replace("{part}", &format!("{part} "))
            .replace("{of}", &format!(" of {part}"))
            .replace("{it}", part),
    }
}

/// "Here you go: cropped to a square and rotated left."
pub fn done(did: &[(String, usize)], pictures: usize) -> String {
    let it = |count: usize| match (count, pictures) {
        (0 | 1, 0 | 1) => "it",
        (0 | 1, _) => "one",
        _ => "them",
    };
    let did: Vec<String> = did.iter().map(|(did, count)| did.replace("{it}", it(*count))).collect();
    match (did.as_slice(), pictures) {
        ([], _) => String::new(),
        ([only], 1) if only == "back to the original" => "Here is the original.".into(),
        ([only], 1) if only == "one step back" => "Here is the version before.".into(),
        ([only], 1) if only == "one step forward" => "Here is the version after.".into(),
        (did, 0 | 1) => format!("Here you go: {}.", join_and(did)),
        (did, n) => format!("Done with {n} photos: {}.", join_and(did)),
    }
}
