//! Progress lines: what the agent is doing, for the person who waits. Internal names and ids never appear in them.

use crate::{domain::ToolCall, providers::ToolSpec};
use serde_json::Value;

const MAX_PHRASES: usize = 3;

/// The calls of one step in one line. The phrase of a tool is part of its spec.
pub(super) fn describe(specs: &[ToolSpec], calls: &[ToolCall]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for call in calls {
        if !names.contains(&call.name.trim()) {
            names.push(call.name.trim());
        }
    }
    let mut phrases: Vec<String> = Vec::new();
    for name in names {
        let Some(spec) = specs.iter().find(|spec| spec.name == name) else { continue };
        let of_this = calls.iter().filter(|call| call.name.trim() == name);
        let phrase = phrase(spec, of_this.map(picture_count).sum());
        if !phrases.contains(&phrase) {
            phrases.push(phrase);
        }
    }
    if phrases.len() > MAX_PHRASES {
        phrases.truncate(MAX_PHRASES - 1);
        phrases.push("more".into());
    }
    match phrases.split_last() {
        None => "working…".into(),
        Some((last, [])) => format!("{last}…"),
        Some((last, others)) => format!("{} and {last}…", others.join(", ")),
    }
}

/// How many pictures a call names; 1 if its arguments cannot be read.
fn picture_count(call: &ToolCall) -> usize {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    arguments["images"].as_array().map_or(1, Vec::len)
}

/// Fills the phrase of a tool's spec: "cropping {photos}" → "cropping 3 photos".
fn phrase(spec: &ToolSpec, pictures: usize) -> String {
    let photos = match pictures {
        0 | 1 => "the photo".to_owned(),
        many => format!("{many} photos"),
    };
    spec.progress.replace("{photos}", &photos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{Registry, tests::image_service};
    use serde_json::json;

    fn doing(calls: &[ToolCall]) -> String {
        Registry::new().with_image_generator(&image_service()).describe_progress(calls)
    }

    fn call(name: &str, arguments: impl ToString) -> ToolCall {
        ToolCall { id: "call_1".into(), name: name.into(), arguments: arguments.to_string() }
    }

    fn on(name: &str, pictures: usize) -> ToolCall {
        call(name, json!({ "images": vec!["5f0f0c7b-1a01-4f3e-9d53-0b0e7a525a52"; pictures] }))
    }

    #[test]
    fn one_call_names_the_work_and_the_number_of_photos() {
        for (call, words) in [
            (on("crop_image", 3), "cropping 3 photos…"),
            (on("rotate_image", 1), "turning the photo…"),
            (on("annotate_image", 2), "writing on 2 photos…"),
            (on("collage_images", 4), "making a collage of 4 photos…"),
            (on("transform_image", 1), "reworking the photo…"),
            (call("look_at_image", json!({ "image": "x" })), "looking closer…"),
            (call("generate_image", json!({ "prompt": "a pelican" })), "generating a picture…"),
            (call("crop_image", "{ not json"), "cropping the photo…"),
        ] {
            assert_eq!(doing(&[call]), words);
        }
    }

    #[test]
    fn several_calls_share_one_line() {
        assert_eq!(doing(&[on("crop_image", 1), on("crop_image", 2)]), "cropping 3 photos…");
        let two = [on("crop_image", 3), on("rotate_image", 1)];
        assert_eq!(doing(&two), "cropping 3 photos and turning the photo…");
        let same = [call("list_attachments", "{}"), call("get_attachment_info", "{}")];
        assert_eq!(doing(&same), "looking through the files…");
        let many = ["crop_image", "rotate_image", "flip_image", "resize_image"].map(|name| on(name, 1));
        assert_eq!(doing(&many), "cropping the photo, turning the photo and more…");
    }

    #[test]
    fn unknown_tools_have_no_phrase() {
        assert_eq!(doing(&[call("launch_rocket", "{}")]), "working…");
        assert_eq!(doing(&[call("launch_rocket", "{}"), on("crop_image", 1)]), "cropping the photo…");
        assert_eq!(doing(&[]), "working…");
    }

    #[test]
    fn every_tool_has_a_phrase_without_internal_names() {
        for name in Registry::new().with_image_generator(&image_service()).names() {
            let words = doing(&[on(name, 2)]);
            assert_ne!(words, "working…", "{name}");
            assert!(!words.contains('_') && !words.contains("5f0f0c7b"), "{words}");
        }
    }
}
