//! What messages carry, as shown: photos in their mosaic, other files as names, and the strip of edits that led to a
//! picture.

use super::{
    mosaic::{self, Layout},
    window::Window,
};
use crate::{
    attachments::size,
    domain::{Attachment, AttachmentId, Recipe},
};
use serde_json::Value;

/// The box in which a photo alone is shown, in pixels of the page.
const ALONE: (f64, f64) = (460.0, 440.0);
/// Longer strips would be nobody's memory of what they did; the first and the newest are kept.
const LONGEST_STRIP: usize = 8;

/// The pictures of one message or album, in rows.
#[derive(Default)]
pub struct Album {
    pub class: &'static str,
    pub rows: Vec<Vec<Picture>>,
    pub count: usize,
}

pub struct Picture {
    pub id: AttachmentId,
    /// The message that carries it, for replies.
    pub message: i64,
    pub alt: String,
    pub name: String,
    /// How large it is shown when alone.
    pub width: u32,
    pub height: u32,
    /// The thumbnail asked for.
    pub view: u32,
    pub ratio: mosaic::Tenths,
    /// "640×480"
    pub shape: String,
    pub size: String,
}

pub struct Doc {
    pub id: AttachmentId,
    pub message: i64,
    pub name: String,
    pub size: String,
    pub kind: String,
}

/// Original → crop → highlight.
pub struct Strip {
    pub steps: Vec<Step>,
}

pub struct Step {
    pub id: AttachmentId,
    /// What made it: "original", "crop".
    pub name: String,
    /// The message that carries it, if we know one: a step can be replied to.
    pub message: Option<i64>,
    pub current: bool,
}

pub fn is_picture(file: &Attachment) -> bool {
    file.is_image() && file.width.is_some() && file.height.is_some()
}

pub fn album(window: &Window, carried: &[(i64, AttachmentId)]) -> Album {
    let pictures: Vec<(i64, &Attachment)> = carried
        .iter()
        .filter_map(|(message, id)| Some((*message, window.files.get(id).filter(|file| is_picture(file))?)))
        .collect();
    let shapes: Vec<(i64, i64)> = pictures.iter().map(|(_, file)| shape(file)).collect();
    let arranged = mosaic::arrange(&shapes);
    let alone = arranged.layout == Layout::Alone;
    let mut left = pictures.iter();
    let rows = arranged.rows.iter().map(|row| {
        let placed = row.iter().zip(&mut left);
        placed.map(|(ratio, (message, file))| picture(*message, file, *ratio, alone)).collect()
    });
    let class = match arranged.layout {
        Layout::Alone => "alone",
        Layout::Rows => "rows",
        Layout::Side => "side",
    };
    Album { class, rows: rows.collect(), count: pictures.len() }
}

fn shape(file: &Attachment) -> (i64, i64) {
    (file.width.unwrap_or(1).max(1), file.height.unwrap_or(1).max(1))
}

fn picture(message: i64, file: &Attachment, ratio: mosaic::Tenths, alone: bool) -> Picture {
    let (width, height) = shape(file);
    let (shown_width, shown_height) = fitted(width as f64, height as f64);
    Picture {
        id: file.attachment_id,
        message,
        alt: file.description.clone().unwrap_or_else(|| file.filename.clone()),
        name: file.filename.clone(),
        width: shown_width,
        height: shown_height,
        view: if alone { 960 } else { 640 },
        ratio,
        shape: format!("{width}×{height}"),
        size: size(file.size.unsigned_abs()),
    }
}

/// Into the box, and never larger than it is, unless it is tiny.
fn fitted(width: f64, height: f64) -> (u32, u32) {
    let scale = (ALONE.0 / width).min(ALONE.1 / height);
    let most = if width.max(height) < 160.0 { 160.0 / width.max(height) } else { 1.0 };
    let scale = scale.min(most);
    (((width * scale).round() as u32).max(1), ((height * scale).round() as u32).max(1))
}

pub fn docs(window: &Window, carried: &[(i64, AttachmentId)]) -> Vec<Doc> {
    let others = carried.iter().filter_map(|(message, id)| {
        let file = window.files.get(id).filter(|file| !is_picture(file))?;
        Some(Doc {
            id: *id,
            message: *message,
            name: file.filename.clone(),
            size: size(file.size.unsigned_abs()),
            kind: kind(file),
        })
    });
    others.collect()
}

/// "PDF", from the name; it is a word on a label, not a promise about the bytes.
fn kind(file: &Attachment) -> String {
    let ending = file.filename.rsplit_once('.').map_or("file", |(_, ending)| ending);
    ending.chars().filter(char::is_ascii_alphanumeric).take(4).collect::<String>().to_uppercase()
}

/// The edits that led to a picture, if there were any.
pub fn strip(window: &Window, id: AttachmentId) -> Option<Strip> {
    let mut steps = Vec::new();
    let mut at = window.files.get(&id).filter(|file| is_picture(file));
    while let Some(file) = at {
        if steps.iter().any(|step: &Step| step.id == file.attachment_id) {
            break;
        }
        steps.push(Step {
            id: file.attachment_id,
            name: made_by(file),
            message: window.carriers.get(&file.attachment_id).copied(),
            current: file.attachment_id == id,
        });
        // Of several parents, as of a collage, none is the one before.
        at = match file.parents.as_slice() {
            [only] => window.files.get(only).filter(|file| is_picture(file)),
            _ => None,
        };
    }
    steps.reverse();
    if steps.len() > LONGEST_STRIP {
        steps.drain(1..=steps.len() - LONGEST_STRIP);
    }
    (steps.len() > 1).then_some(Strip { steps })
}

fn made_by(file: &Attachment) -> String {
    let named = |recipe: &Recipe| edit_name(&recipe.tool, &recipe.arguments);
    file.recipe.as_ref().map_or_else(|| "original".into(), named)
}

/// What a person would call this edit: "crop", "sepia".
pub fn edit_name(tool: &str, arguments: &Value) -> String {
    match (tool, arguments["filter"].as_str()) {
        ("filter_image", Some(filter)) => filter.replace('_', " "),
        (tool, _) => tool_name(tool),
    }
}

/// `crop_image` → "crop", `look_at_image` → "look at image".
pub fn tool_name(tool: &str) -> String {
    let name = tool.trim_end_matches("_images").trim_end_matches("_image").trim_end_matches("_edit");
    match name {
        "look_at" => "look closer".into(),
        "repeat_edits" => "same again".into(),
        "revert_to_original" => "back to the original".into(),
        "attach_to_response" => "choose what to send".into(),
        other => other.replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_photo_alone_fits_its_box_and_is_never_blown_up() {
        assert_eq!(fitted(4000.0, 3000.0), (460, 345));
        assert_eq!(fitted(3000.0, 4000.0), (330, 440));
        assert_eq!(fitted(300.0, 200.0), (300, 200));
        assert_eq!(fitted(40.0, 20.0), (160, 80), "but a speck is");
        assert_eq!(fitted(20_000.0, 10.0), (460, 1));
    }

    #[test]
    fn edits_have_the_names_people_use() {
        assert_eq!(edit_name("crop_image", &json!({})), "crop");
        assert_eq!(edit_name("filter_image", &json!({"filter": "sepia"})), "sepia");
        assert_eq!(edit_name("collage_images", &json!(null)), "collage");
    }
}
