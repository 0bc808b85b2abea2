//! Collages, comparisons and animations as the model calls them.

use super::*;
use crate::attachments::markers;
use serde_json::json;

const ID: &str = "7f1c2f4e-0f4d-4c06-9d7e-0d7d3f6a1b11";

fn made(called: &Called) -> Vec<&Attachment> {
    assert!(!called.failed, "{}", called.text);
    let made = called.outputs.iter().map(|output| match output {
        Output::Made(file) => file,
        Output::Known(id) => panic!("{id} was not made"),
    });
    made.collect()
}

#[tokio::test]
async fn a_collage_has_all_its_parents_and_a_recipe() {
    let world = World::new().await;
    let rocket = world.sends_image("photo_rocket.jpg").await;
    let cat = world.sends_image("photo_chelsea.png").await;
    let arguments =
        json!({"images": [cat, rocket, cat], "layout": "row", "size": 600, "captions": ["a", "", "b"]});
    let called = world.call("collage_images", arguments).await;
    let files = made(&called);
    let [file] = files.as_slice() else { panic!("{called:?}") };
    assert!(called.text.starts_with("Put 3 images together (row, 600×"), "{}", called.text);
    assert_eq!(markers::parse_ids(&called.text), [file.attachment_id]);
    assert_eq!((file.filename.as_str(), file.mime_type.as_str()), ("collage.jpg", "image/jpeg"));
    assert_eq!(file.parents, [cat, rocket, cat]);
    assert_eq!(file.source, AttachmentSource::Tool);
    assert_eq!(file.description.as_deref(), Some("3 images put together (row)"));
    let recipe = file.recipe().cloned().unwrap();
    assert_eq!(recipe.tool, "collage_images");
    assert_eq!(recipe.arguments, json!({"layout": "row", "size": 600, "captions": ["a", "", "b"]}));
    let picture = world.picture(file).await;
    assert_eq!(picture.width(), 600);
    assert_eq!((file.width, file.height), (Some(600), Some(picture.height().into())));
}

#[tokio::test]
async fn every_layout_makes_one_picture() {
    let world = World::new().await;
    let rocket = world.sends_image("photo_rocket.jpg").await;
    let alpha = world.sends_image("webp_alpha.webp").await;
    for (layout, name) in [
        ("grid", "collage.jpg"),
        ("row", "collage.jpg"),
        ("column", "collage.jpg"),
        ("before_after", "before-after.jpg"),
        ("contact_sheet", "contact-sheet.jpg"),
    ] {
        let arguments =
            json!({"images": [rocket, alpha], "layout": layout, "size": 300, "background": "navy"});
        let files = world.makes("collage_images", arguments).await;
        assert_eq!((files.len(), files[0].filename.as_str()), (1, name));
    }
    let arguments = json!({"images": [rocket, alpha], "background": "transparent"});
    assert_eq!(world.makes("collage_images", arguments).await[0].filename, "collage.png");
}

#[tokio::test]
async fn unusable_images_are_left_out_and_reported() {
    let world = World::new().await;
    let rocket = world.sends_image("photo_rocket.jpg").await;
    let pdf = world.sends("report.pdf", &b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n1 0 obj\n"[..]).await;
    let cut = world.sends_image("bad_truncated.png").await;
    let cat = world.sends_image("photo_chelsea.png").await;
    let unknown = AttachmentId::new();
    for tool in ["collage_images", "animate_images"] {
        let called = world.call(tool, json!({"images": [pdf, rocket, cut, cat, unknown], "size": 200})).await;
        assert_eq!(made(&called)[0].parents, [rocket, cat]);
        let lines: Vec<_> = called.text.lines().collect();
        assert!(lines[0].contains(" 2 images") && lines[0].ends_with(" 3 images left out:"), "{}", lines[0]);
        assert_eq!(lines[1], "Image 1 failed: report.pdf is an application/pdf file, not a picture.");
        assert!(lines[2].starts_with("Image 3 (bad_truncated.png) failed: This PNG file is damaged"));
        assert!(lines[3].starts_with("Image 5 failed: There is no attachment"), "{}", lines[3]);
        let text = world.refused(tool, json!({"images": [rocket, cut]})).await;
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].ends_with(" needs at least 2 images that can be opened."), "{}", lines[0]);
        assert!(lines[1].starts_with("Image 2 (bad_truncated.png) failed: "), "{}", lines[1]);
        let text = world.refused(tool, json!({"images": [pdf, unknown]})).await;
        assert_eq!(text.lines().count(), 3, "{text}");
    }
    let sheet = json!({"images": [cut, cat], "layout": "contact_sheet", "captions": ["broken", "Chelsea"]});
    assert_eq!(made(&world.call("collage_images", sheet).await)[0].parents, [cat]);
}

#[tokio::test]
async fn a_comparison_reports_how_much_changed_and_where() {
    let world = World::new().await;
    let rocket = world.sends_image("photo_rocket.jpg").await;
    let same = world.call("compare_images", json!({"images": [rocket, rocket], "mode": "difference"})).await;
    assert!(same.text.starts_with("The images have identical pixels.\nMade: difference."), "{}", same.text);
    let mark =
        json!({"images": [rocket], "regions": [{"left": 600, "top": 100, "right": 800, "bottom": 400}]});
    let marked = world.makes("highlight_image", mark).await[0].attachment_id;
    let called = world.call("compare_images", json!({"images": [rocket, marked]})).await;
    let files = made(&called);
    let names: Vec<_> = files.iter().map(|file| file.filename.as_str()).collect();
    assert_eq!(names, ["side-by-side.jpg", "difference.png"]);
    assert!(files.iter().all(|file| file.parents == [rocket, marked]));
    let text = &called.text;
    assert!(text.starts_with("Similarity 9"), "{text}");
    assert!(
        text.contains("of the pixels visibly changed, mainly in {left: 5") && text.contains("right: 8"),
        "{text}"
    );
    assert!(text.contains("\nMade: side-by-side, difference."), "{text}");
    let cat = world.sends_image("photo_chelsea.png").await;
    let called = world.call("compare_images", json!({"images": [rocket, cat], "mode": "side_by_side"})).await;
    assert_eq!(made(&called).len(), 1);
    assert!(called.text.contains("Both were scaled to 640×427 for it."), "{}", called.text);
}

#[tokio::test]
async fn stills_become_an_animation() {
    let world = World::new().await;
    let rocket = world.sends_image("photo_rocket.jpg").await;
    let cat = world.sends_image("photo_chelsea.png").await;
    for (format, name, mime) in
        [("gif", "animation.gif", "image/gif"), ("webp", "animation.webp", "image/webp")]
    {
        let arguments = json!({
            "images": [rocket, cat], "format": format, "size": 120, "seconds_per_image": 0.2, "loop": false,
        });
        let called = world.call("animate_images", arguments).await;
        let file = made(&called)[0];
        assert_eq!((file.filename.as_str(), file.mime_type.as_str()), (name, mime));
        assert_eq!((file.width, file.height, file.parents.len()), (Some(120), Some(80), 2));
        assert!(called.text.contains("of 2 images, 0.2 s each (120×80, "), "{}", called.text);
        let bytes = world.context.renderer.attachments.bytes(file).await.unwrap();
        assert!(imaging::is_animated(&bytes));
    }
}

#[tokio::test]
async fn wrong_arguments_are_refused_before_any_file_is_read() {
    let world = World::new().await;
    let two = json!([ID, ID]);
    for (tool, arguments, expected) in [
        (
            "collage_images",
            json!({"images": [ID]}),
            "images has 1 item, but must be a list of 2 to 20 items.",
        ),
        ("collage_images", json!({"images": vec![ID; 21]}), "images has 21 items"),
        (
            "collage_images",
            json!({"images": two, "layout": "spiral"}),
            "must be one of: grid, row, column, before_after",
        ),
        (
            "collage_images",
            json!({"images": [ID, ID, ID], "layout": "before_after"}),
            "images has 3 items, but layout before_after takes exactly 2",
        ),
        (
            "collage_images",
            json!({"images": two, "layout": "row", "columns": 2}),
            "columns only goes with layout grid",
        ),
        (
            "collage_images",
            json!({"images": two, "columns": 0}),
            "columns is 0, but must be a whole number from 1 to 20.",
        ),
        (
            "collage_images",
            json!({"images": two, "size": 9000}),
            "size is 9000, but must be a whole number from 100 to 8192.",
        ),
        ("collage_images", json!({"images": two, "gap": -1}), "gap is -1"),
        (
            "collage_images",
            json!({"images": two, "background": "plaid"}),
            "background: Unknown color \"plaid\"",
        ),
        (
            "collage_images",
            json!({"images": two, "captions": ["one"]}),
            "captions has 1 item, but images has 2.",
        ),
        (
            "collage_images",
            json!({"images": [ID, "x"]}),
            "images[1] is \"x\", which is not an attachment id.",
        ),
        (
            "compare_images",
            json!({"images": [ID]}),
            "images has 1 item, but must be a list of exactly 2 items.",
        ),
        (
            "compare_images",
            json!({"images": two, "mode": "xor"}),
            "must be one of: side_by_side, difference, both.",
        ),
        (
            "animate_images",
            json!({"images": vec![ID; 51]}),
            "images has 51 items, but must be a list of 2 to 50 items.",
        ),
        (
            "animate_images",
            json!({"images": two, "seconds_per_image": 0.001}),
            "must be a number from 0.02 to 10.",
        ),
        ("animate_images", json!({"images": two, "format": "mp4"}), "must be one of: gif, webp."),
        (
            "animate_images",
            json!({"images": two, "loop": "yes"}),
            "loop is the text \"yes\", but must be true or false.",
        ),
        ("animate_images", json!({"images": two, "background": "plaid"}), "background: Unknown color"),
    ] {
        let text = world.refused(tool, arguments.clone()).await;
        assert!(text.contains(expected), "{tool} {arguments}\n  said:     {text}\n  expected: {expected}");
    }
}
