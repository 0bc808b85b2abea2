//! Files of messages as the page shows them: photos in a mosaic, other files as names, and the strip of edits that led
//! to a picture.

use super::{
    mosaic::{self, Layout},
    window::MessageWindow,
};
use crate::{
    attachments::format_size,
    domain::{Attachment, AttachmentId, Recipe},
};
use serde_json::Value;

/// The largest size of a single photo, in CSS pixels.
const SINGLE_PHOTO_BOX: (f64, f64) = (460.0, 440.0);
/// Of a longer strip, the first and the newest steps are shown.
const MAX_STRIP_STEPS: usize = 8;

/// The pictures of one message or album, in rows.
#[derive(Default)]
pub struct Album {
    pub class: &'static str,
    pub rows: Vec<Vec<PagePicture>>,
    pub count: usize,
}

pub struct PagePicture {
    pub id: AttachmentId,
    /// The message that carries it: the target of a reply.
    pub message: i64,
    pub alt: String,
    pub name: String,
    /// Its size when it is the only one.
    pub width: u32,
    pub height: u32,
    /// The size of the thumbnail.
    pub view: u32,
    pub ratio: mosaic::Tenths,
    /// "640×480"
    pub shape: String,
    pub size: String,
    /// " · 2 × cat, face": what the on-device models found, if they were asked.
    pub found: String,
}

/// A file that is not a picture.
pub struct Doc {
    pub id: AttachmentId,
    pub message: i64,
    pub name: String,
    pub size: String,
    pub kind: String,
}

/// The edits that led to a picture: original → crop → highlight.
pub struct EditStrip {
    pub steps: Vec<EditStep>,
}

pub struct EditStep {
    pub id: AttachmentId,
    /// The edit that made it: "original", "crop".
    pub name: String,
    /// The message that carries it, if any: the target of a reply.
    pub message: Option<i64>,
    pub current: bool,
}

pub fn is_picture(file: &Attachment) -> bool {
    file.is_image() && file.width.is_some() && file.height.is_some()
}

pub fn build_album(window: &MessageWindow, carried: &[(i64, AttachmentId)]) -> Album {
    let pictures: Vec<(i64, &Attachment)> = carried
        .iter()
        .filter_map(|(message, id)| Some((*message, window.files.get(id).filter(|file| is_picture(file))?)))
        .collect();
    let shapes: Vec<(i64, i64)> = pictures.iter().map(|(_, file)| shape(file)).collect();
    let arranged = mosaic::arrange(&shapes);
    let is_single = arranged.layout == Layout::Alone;
    let mut left = pictures.iter();
    let rows = arranged.rows.iter().map(|row| {
        let placed = row.iter().zip(&mut left);
        placed
            .map(|(ratio, (message, file))| PagePicture {
                found: window
                    .found
                    .get(&file.attachment_id)
                    .map(|found| format!(" · {found}"))
                    .unwrap_or_default(),
                ..picture(*message, file, *ratio, is_single)
            })
            .collect()
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

fn picture(message: i64, file: &Attachment, ratio: mosaic::Tenths, is_single: bool) -> PagePicture {
    let (width, height) = shape(file);
    let (shown_width, shown_height) = fit_into_box(width as f64, height as f64);
    PagePicture {
        id: file.attachment_id,
        message,
        alt: file.description.clone().unwrap_or_else(|| file.filename.clone()),
        name: file.filename.clone(),
        width: shown_width,
        height: shown_height,
        view: if is_single { 960 } else { 640 },
        ratio,
        shape: format!("{width}×{height}"),
        size: format_size(file.size.unsigned_abs()),
        found: String::new(),
    }
}

/// Scales down into the box. Only tiny pictures are enlarged.
fn fit_into_box(width: f64, height: f64) -> (u32, u32) {
    let scale = (SINGLE_PHOTO_BOX.0 / width).min(SINGLE_PHOTO_BOX.1 / height);
    let max_scale = if width.max(height) < 160.0 { 160.0 / width.max(height) } else { 1.0 };
    let scale = scale.min(max_scale);
    (((width * scale).round() as u32).max(1), ((height * scale).round() as u32).max(1))
}

pub fn list_docs(window: &MessageWindow, carried: &[(i64, AttachmentId)]) -> Vec<Doc> {
    let others = carried.iter().filter_map(|(message, id)| {
        let file = window.files.get(id).filter(|file| !is_picture(file))?;
        Some(Doc {
            id: *id,
            message: *message,
            name: file.filename.clone(),
            size: format_size(file.size.unsigned_abs()),
            kind: kind(file),
        })
    });
    others.collect()
}

/// The label of a file, such as "PDF", from its name.
fn kind(file: &Attachment) -> String {
    let ending = file.filename.rsplit_once('.').map_or("file", |(_, ending)| ending);
    ending.chars().filter(char::is_ascii_alphanumeric).take(4).collect::<String>().to_uppercase()
}

/// The strip of a picture; none without edits.
pub fn build_strip(window: &MessageWindow, id: AttachmentId) -> Option<EditStrip> {
    let mut steps = Vec::new();
    let mut at = window.files.get(&id).filter(|file| is_picture(file));
    while let Some(file) = at {
        if steps.iter().any(|step: &EditStep| step.id == file.attachment_id) {
            break;
        }
        steps.push(EditStep {
            id: file.attachment_id,
            name: made_by(file),
            message: window.carriers.get(&file.attachment_id).copied(),
            current: file.attachment_id == id,
        });
        // With several parents, as in a collage, there is no single previous step.
        at = match file.parents.as_slice() {
            [only] => window.files.get(only).filter(|file| is_picture(file)),
            _ => None,
        };
    }
    steps.reverse();
    if steps.len() > MAX_STRIP_STEPS {
        steps.drain(1..=steps.len() - MAX_STRIP_STEPS);
    }
    (steps.len() > 1).then_some(EditStrip { steps })
}

fn made_by(file: &Attachment) -> String {
    let named = |recipe: &Recipe| edit_name(&recipe.tool, &recipe.arguments);
    file.recipe().map_or_else(|| "original".into(), named)
}

/// A readable name of an edit: "crop", "sepia".
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
    fn single_photos_fit_their_box() {
        assert_eq!(fit_into_box(4000.0, 3000.0), (460, 345));
        assert_eq!(fit_into_box(3000.0, 4000.0), (330, 440));
        assert_eq!(fit_into_box(300.0, 200.0), (300, 200));
        assert_eq!(fit_into_box(40.0, 20.0), (160, 80), "but a speck is");
        assert_eq!(fit_into_box(20_000.0, 10.0), (460, 1));
    }

    #[test]
    fn edits_have_readable_names() {
        assert_eq!(edit_name("crop_image", &json!({})), "crop");
        assert_eq!(edit_name("filter_image", &json!({"filter": "sepia"})), "sepia");
        assert_eq!(edit_name("collage_images", &json!(null)), "collage");
    }
}
