//! Every test image, real and hostile, through every tool. The result is a picture of the stated type or a sentence about
//! what is wrong; never a panic, a time-out or an internal error.

use super::*;
use serde_json::json;

/// The arguments for each tool. A tool that is missing here fails `every_picture_tool_is_tested`.
fn arguments_for(tool: &str, id: AttachmentId, other: AttachmentId) -> Option<Value> {
    let one = json!([id]);
    let two = json!([id, other]);
    let region = json!({"left": 100, "top": 200, "right": 700, "bottom": 650});
    Some(match tool {
        "highlight_image" => {
            let mut marked = region;
            marked["label"] = "eagle".into();
            marked["shape"] = "ellipse".into();
            json!({"images": one, "regions": [marked], "numbered": true})
        }
        "annotate_image" => json!({"images": one, "items": [
            {"type": "text", "text": "Hello שלום", "x": 500, "y": 100},
            {"type": "arrow", "from": {"x": 100, "y": 900}, "to": {"x": 600, "y": 400}},
            {"type": "pin", "x": 700, "y": 700},
        ]}),
        "watermark_image" => json!({"images": one, "text": "© Ann", "position": "tile"}),
        "crop_image" => json!({"images": one, "region": region}),
        "rotate_image" => json!({"images": one, "degrees": 7, "straighten": true}),
        "flip_image" => json!({"images": one, "direction": "horizontal"}),
        "resize_image" => json!({"images": one, "longest": 90}),
        "adjust_image" => json!({"images": one, "brightness": 20, "shadows": 30, "sharpness": 25}),
        "filter_image" => json!({"images": one, "filter": "blur"}),
        "redact_image" => json!({"images": one, "regions": [region], "style": "pixelate"}),
        "convert_image" => json!({"images": one, "format": "jpeg", "quality": 70}),
        "collage_images" => json!({"images": two, "size": 400}),
        "compare_images" => json!({"images": two}),
        "animate_images" => json!({"images": two, "size": 120}),
        "image_info" => json!({"images": one}),
        "look_at_image" => json!({"image": id, "region": region, "grid": true}),
        "look_at_image whole" => json!({"image": id}),
        _ => return None,
    })
}

fn names() -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/images");
    let listed = |folder: PathBuf, under: &str| -> Vec<String> {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let pictures = files.filter(|entry| entry.file_type().unwrap().is_file());
        pictures.map(|entry| format!("{under}{}", entry.file_name().to_str().unwrap())).collect()
    };
    let mut names = [listed(folder.clone(), ""), listed(folder.join("made"), "made/")].concat();
    names.retain(|name| !name.ends_with(".md") && !name.ends_with(".tsv"));
    names.sort();
    assert!(names.len() > 40, "the pictures were found");
    names
}

/// False for a panic, a time-out or another fault of the program.
fn is_proper_result(text: &str) -> bool {
    ["broke off", "on our side", "panicked", "given up"].iter().all(|fault| !text.contains(fault))
}

async fn every_picture_through(case: &str) {
    let tool = case.split(' ').next().unwrap();
    // Enough for forty megapixels that are turned by any angle.
    let world = World::new().await.with_pool(PoolLimits { memory_bytes: 2 << 30, ..PoolLimits::default() });
    let other = world.sends_image("photo_page.png").await;
    for name in names() {
        let bytes = image_file(&name);
        if bytes.is_empty() {
            continue; // An empty file is refused before it becomes an attachment.
        }
        let id = world.sends(&name, bytes).await;
        let arguments = arguments_for(case, id, other).unwrap().to_string();
        // A debug build is slow on forty megapixels.
        let called = world.registry.call(&world.context, tool, &arguments, TOOL_TIMEOUT * 20).await;
        assert!(is_proper_result(&called.text), "{tool} on {name}: {}", called.text);
        if called.failed {
            let refused = ["bad_", "bomb", ".avif", "float_gray.tif", "palette.tif"];
            let tiny = called.text.contains("no room for a readable letter") && called.text.contains("8×8");
            assert!(
                tiny || refused.iter().any(|part| name.contains(part)),
                "{tool} on {name}: {}",
                called.text
            );
            continue;
        }
        for made in world.store_outputs(called).await {
            let bytes = world.context.bytes(&made).await.unwrap();
            let kept = world.found(made.attachment_id).await;
            let probe = imaging::probe(&bytes).unwrap();
            assert_eq!(probe.format.mime(), kept.mime_type, "{tool} on {name}");
            for metadata in [b"Exif", b"eXIf", b"EXIF"] {
                assert!(!bytes.windows(4).any(|four| four == metadata), "{tool} on {name}");
            }
        }
    }
}

macro_rules! every_picture_through {
    ($($test:ident: $tool:literal,)*) => {
        $(#[tokio::test]
        async fn $test() {
            every_picture_through($tool).await;
        })*

        #[test]
        fn every_picture_tool_is_tested() {
            let tested = [$($tool),*];
            let others = [
                "undo_edit", "redo_edit", "revert_to_original", "repeat_edits", "attach_to_response",
                "list_attachments", "get_attachment_info", "read_text_attachment",
            ];
            for name in Registry::new().names() {
                assert!(tested.contains(&name) || others.contains(&name), "{name} is not tested with pictures");
            }
        }
    };
}

every_picture_through! {
    highlights: "highlight_image",
    annotations: "annotate_image",
    watermarks: "watermark_image",
    crops: "crop_image",
    rotations: "rotate_image",
    flips: "flip_image",
    resizes: "resize_image",
    adjustments: "adjust_image",
    filters: "filter_image",
    redactions: "redact_image",
    conversions: "convert_image",
    collages: "collage_images",
    comparisons: "compare_images",
    animations: "animate_images",
    facts: "image_info",
    looks_at_a_region: "look_at_image",
    looks_at_all: "look_at_image whole",
}
