//! What the agent is doing, in words for the person who waits. Names and ids of ours stay inside.

use crate::domain::ToolCall;
use serde_json::Value;

/// More than these would be a list nobody reads.
const MOST_NAMED: usize = 3;

/// The calls of one step in one line: “cropping 3 photos and turning the photo…”.
pub fn doing(calls: &[ToolCall]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for call in calls {
        if !names.contains(&call.name.trim()) {
            names.push(call.name.trim());
        }
    }
    let mut phrases: Vec<String> = Vec::new();
    for name in names {
        let of_this = calls.iter().filter(|call| call.name.trim() == name);
        let phrase = phrase(name, of_this.map(pictures).sum());
        phrases.extend(phrase.filter(|phrase| !phrases.contains(phrase)));
    }
    if phrases.len() > MOST_NAMED {
        phrases.truncate(MOST_NAMED - 1);
        phrases.push("more".into());
    }
    match phrases.split_last() {
        None => "working…".into(),
        Some((last, [])) => format!("{last}…"),
        Some((last, others)) => format!("{} and {last}…", others.join(", ")),
    }
}

/// How many pictures a call is about, as far as its arguments can be read.
fn pictures(call: &ToolCall) -> usize {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    arguments["images"].as_array().map_or(1, Vec::len)
}

fn phrase(name: &str, pictures: usize) -> Option<String> {
    let photos = match pictures {
        0 | 1 => "the photo".to_owned(),
        many => format!("{many} photos"),
    };
    Some(match name {
        "look_at_image" => "looking closer".into(),
        "image_info" => format!("examining {photos}"),
        "crop_image" => format!("cropping {photos}"),
        "rotate_image" => format!("turning {photos}"),
        "flip_image" => format!("mirroring {photos}"),
        "resize_image" => format!("resizing {photos}"),
        "adjust_image" => format!("adjusting {photos}"),
        "filter_image" => format!("putting a filter on {photos}"),
        "highlight_image" => format!("marking {photos}"),
        "redact_image" => format!("hiding parts of {photos}"),
        "annotate_image" => format!("writing on {photos}"),
        "watermark_image" => format!("putting a watermark on {photos}"),
        "convert_image" => format!("converting {photos}"),
        "collage_images" => format!("making a collage of {photos}"),
        "animate_images" => format!("animating {photos}"),
        "compare_images" => format!("comparing {photos}"),
        "undo_edit" => "undoing the last edit".into(),
        "redo_edit" => "bringing an edit back".into(),
        "revert_to_original" => "going back to the original".into(),
        "repeat_edits" => format!("doing the same to {photos}"),
        "generate_image" => "generating a picture".into(),
        "transform_image" => format!("reworking {photos}"),
        "attach_to_response" => "choosing what to send".into(),
        "list_attachments" | "get_attachment_info" => "looking through the files".into(),
        "read_text_attachment" => "reading notes".into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Registry;
    use serde_json::json;

    fn call(name: &str, arguments: impl ToString) -> ToolCall {
        ToolCall { id: "call_1".into(), name: name.into(), arguments: arguments.to_string() }
    }

    fn on(name: &str, pictures: usize) -> ToolCall {
        call(name, json!({ "images": vec!["5f0f0c7b-1a01-4f3e-9d53-0b0e7a525a52"; pictures] }))
    }

    #[test]
    fn one_call_says_what_is_done_to_how_many() {
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
    fn several_calls_are_one_line() {
        assert_eq!(doing(&[on("crop_image", 1), on("crop_image", 2)]), "cropping 3 photos…");
        let two = [on("crop_image", 3), on("rotate_image", 1)];
        assert_eq!(doing(&two), "cropping 3 photos and turning the photo…");
        let same = [call("list_attachments", "{}"), call("get_attachment_info", "{}")];
        assert_eq!(doing(&same), "looking through the files…");
        let many = ["crop_image", "rotate_image", "flip_image", "resize_image"].map(|name| on(name, 1));
        assert_eq!(doing(&many), "cropping the photo, turning the photo and more…");
    }

    #[test]
    fn what_nobody_knows_is_just_work() {
        assert_eq!(doing(&[call("launch_rocket", "{}")]), "working…");
        assert_eq!(doing(&[call("launch_rocket", "{}"), on("crop_image", 1)]), "cropping the photo…");
        assert_eq!(doing(&[]), "working…");
    }

    #[test]
    fn every_tool_has_words_of_its_own_without_our_names_or_ids() {
        let mut names = Registry::new().names();
        names.extend(["look_at_image", "generate_image", "transform_image"]);
        for name in names {
            let words = doing(&[on(name, 2)]);
            assert_ne!(words, "working…", "{name}");
            assert!(!words.contains('_') && !words.contains("5f0f0c7b"), "{words}");
        }
    }
}
