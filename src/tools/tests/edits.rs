//! Edits on real pictures: outputs, recipes, names and partial failures.

use super::*;
use crate::attachments::markers;
use image::GenericImageView as _;
use imaging::Picture;
use serde_json::json;

async fn edited(world: &World, tool: &str, image: AttachmentId, rest: Value) -> (Attachment, Picture) {
    let mut arguments = rest;
    arguments["images"] = json!([image]);
    let made = world.makes(tool, arguments).await;
    let [file] = made.as_slice() else {
        panic!("one output expected, got {made:?}");
    };
    (file.clone(), world.picture(file).await)
}

#[tokio::test]
async fn a_highlight_has_a_parent_and_a_recipe_and_keeps_the_picture() {
    let world = World::new().await;
    let image = world.sends("eagle.jpg", image_file("photo_rocket.jpg")).await;
    let regions = json!([
        {"left": 400, "top": 100, "right": 600, "bottom": 700, "label": "rocket", "color": "lime"},
        {"left": 20, "top": 600, "right": 300, "bottom": 950, "shape": "ellipse", "thickness": 10},
    ]);
    let called = world.call("highlight_image", json!({"images": [image], "regions": regions})).await;
    let [Output::Made(made)] = called.outputs.as_slice() else {
        panic!("{called:?}");
    };
    assert_eq!(called.text, format!("Highlighted 1 image.\n[Attachment ID: {}]", made.attachment_id));
    assert_eq!(made.filename, "eagle-highlighted.jpg");
    assert_eq!(made.mime_type, "image/jpeg");
    assert_eq!(made.source, AttachmentSource::Tool);
    assert_eq!(made.parents, [image]);
    assert_eq!(made.description.as_deref(), Some("highlighted: rocket"));
    let recipe = made.recipe().cloned().unwrap();
    assert_eq!((recipe.tool.as_str(), recipe.arguments), ("highlight_image", json!({"regions": regions})));
    assert_eq!((made.width, made.height), (Some(640), Some(427)));
    let pixels = world.picture(made).await;
    let is_lime = |x| {
        let color = pixels.pixels().get_pixel(x, 200);
        color[1] > 200 && color[0] < 80 && color[2] < 80
    };
    assert!((246..262).any(is_lime) && (378..394).any(is_lime) && !(270..370).any(is_lime));
}

#[tokio::test]
async fn crops_follow_the_region_or_the_aspect() {
    let world = World::new().await;
    let image = world.sends_image("photo_rocket.jpg").await;
    let region = json!({"region": {"left": 0, "top": 0, "right": 500, "bottom": 1000}});
    let (file, picture) = edited(&world, "crop_image", image, region.clone()).await;
    assert_eq!((picture.width(), picture.height()), (320, 427));
    assert_eq!(file.filename, "photo_rocket-cropped.jpg");
    assert_eq!(file.recipe().unwrap().arguments, region);
    let (_, picture) = edited(&world, "crop_image", image, json!({"aspect": "square"})).await;
    assert_eq!((picture.width(), picture.height()), (427, 427));
}

#[tokio::test]
async fn rotations_flips_and_filters_change_the_pixels_as_named() {
    let world = World::new().await;
    let image = world.sends_image("photo_chelsea.png").await;
    let before = world.picture(&world.found(image).await).await;
    let (w, h) = (before.width(), before.height());
    let corner = before.pixels().get_pixel(0, 0);

    let (file, picture) = edited(&world, "rotate_image", image, json!({"degrees": 90})).await;
    assert_eq!((picture.width(), picture.height()), (h, w));
    assert_eq!(picture.pixels().get_pixel(h - 1, 0), corner);
    assert_eq!((file.filename.as_str(), file.mime_type.as_str()), ("photo_chelsea-rotated.png", "image/png"));
    let (_, picture) = edited(&world, "rotate_image", image, json!({"degrees": -45})).await;
    assert!(picture.width() > w && picture.height() > h);

    let (_, picture) = edited(&world, "flip_image", image, json!({"direction": "horizontal"})).await;
    assert_eq!(picture.pixels().get_pixel(w - 1, 0), corner);
    let (_, picture) = edited(&world, "flip_image", image, json!({"direction": "vertical"})).await;
    assert_eq!(picture.pixels().get_pixel(0, h - 1), corner);

    let (_, picture) = edited(&world, "filter_image", image, json!({"filter": "grayscale"})).await;
    assert!(!picture.pixels().color().has_color());
    let (_, picture) = edited(&world, "filter_image", image, json!({"filter": "invert"})).await;
    assert_eq!(picture.pixels().get_pixel(0, 0)[0], 255 - corner[0]);
    let (file, picture) = edited(&world, "filter_image", image, json!({"filter": "sepia"})).await;
    let toned = picture.pixels().get_pixel(0, 0);
    assert!(toned[0] >= toned[1] && toned[1] >= toned[2]);
    assert_eq!(file.filename, "photo_chelsea-sepia.png");
}

#[tokio::test]
async fn every_form_of_a_size_gives_that_size() {
    let world = World::new().await;
    let image = world.sends_image("photo_rocket.jpg").await;
    for (arguments, size) in [
        (json!({"width": 320}), (320, 214)),
        (json!({"height": 854.0}), (1280, 854)),
        (json!({"longest": 100}), (100, 67)),
        (json!({"percent": 50}), (320, 214)),
        (json!({"width": 100, "height": 100}), (100, 67)),
        (json!({"width": 100, "height": 100, "fit": "fill"}), (100, 100)),
        (json!({"width": 10, "height": 90, "fit": "stretch"}), (10, 90)),
    ] {
        let (_, picture) = edited(&world, "resize_image", image, arguments.clone()).await;
        assert_eq!((picture.width(), picture.height()), size, "{arguments}");
    }
}

#[tokio::test]
async fn the_file_name_does_not_grow_with_every_edit() {
    let world = World::new().await;
    let mut image = world.sends("my hair-cropped.JPEG", image_file("photo_rocket.jpg")).await;
    for (tool, rest, name) in [
        ("rotate_image", json!({"degrees": 180}), "my hair-cropped-rotated.jpg"),
        ("flip_image", json!({"direction": "vertical"}), "my hair-cropped-flipped.jpg"),
        ("filter_image", json!({"filter": "invert"}), "my hair-cropped-inverted.jpg"),
        ("filter_image", json!({"filter": "grayscale"}), "my hair-cropped-grayscale.jpg"),
        ("filter_image", json!({"filter": "sepia"}), "my hair-cropped-sepia.jpg"),
        ("resize_image", json!({"percent": 50}), "my hair-cropped-resized.jpg"),
        ("crop_image", json!({"aspect": "1:1"}), "my hair-cropped-cropped.jpg"),
        (
            "highlight_image",
            json!({"regions": [{"left": 0, "top": 0, "right": 9, "bottom": 9}]}),
            "my hair-cropped-highlighted.jpg",
        ),
        ("rotate_image", json!({"degrees": 90}), "my hair-cropped-rotated.jpg"),
    ] {
        let (file, _) = edited(&world, tool, image, rest).await;
        assert_eq!(file.filename, name);
        image = file.attachment_id;
    }
}

#[tokio::test]
async fn several_images_give_one_output_each_in_order_and_ids_may_be_whole_markers() {
    let world = World::new().await;
    let rocket = world.sends_image("photo_rocket.jpg").await;
    let cat = world.sends_image("photo_chelsea.png").await;
    let images = json!([markers::marker(cat), rocket, format!(" {cat} ")]);
    let called = world.call("flip_image", json!({"images": images, "direction": "vertical"})).await;
    assert!(called.text.starts_with("Flipped 3 images.\n"), "{}", called.text);
    let ids: Vec<_> = called.outputs.iter().map(Output::id).collect();
    assert_eq!(markers::parse_ids(&called.text), ids);
    let parents: Vec<_> = called
        .outputs
        .iter()
        .map(|output| match output {
            Output::Made(file) => file.parents[0],
            Output::Known(id) => panic!("{id} was not made"),
        })
        .collect();
    assert_eq!(parents, [cat, rocket, cat]);
}

#[tokio::test]
async fn a_partial_failure_returns_the_outputs_and_names_the_failed_images() {
    let world = World::new().await;
    let good = world.sends_image("photo_rocket.jpg").await;
    let pdf = world.sends("report.pdf", &b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n1 0 obj\n"[..]).await;
    let cut = world.sends_image("bad_truncated.png").await;
    let unknown = AttachmentId::new();
    let images = json!([pdf, good, cut, unknown]);
    let called = world.call("rotate_image", json!({"images": images, "degrees": 90})).await;
    assert!(!called.failed);
    let lines: Vec<_> = called.text.lines().collect();
    assert_eq!(lines.len(), 5, "{}", called.text);
    assert_eq!(lines[0], "Rotated 1 of 4 images.");
    assert_eq!(lines[1], "Image 1 failed: report.pdf is an application/pdf file, not a picture.");
    assert!(lines[2].starts_with("Image 3 (bad_truncated.png) failed: This PNG file is damaged"));
    assert!(lines[3].starts_with(&format!("Image 4 failed: There is no attachment {unknown} in this")));
    assert_eq!(markers::parse_ids(&called.text), [called.outputs[0].id()]);

    let text = world.refused("rotate_image", json!({"images": [pdf], "degrees": 90})).await;
    assert_eq!(text, "report.pdf is an application/pdf file, not a picture.");
    let text = world.refused("rotate_image", json!({"images": [cut, pdf], "degrees": 90})).await;
    assert!(text.starts_with("Image 1 (bad_truncated.png) failed: ") && text.contains("\nImage 2 failed: "));
}

#[tokio::test]
async fn a_picture_of_another_conversation_is_unknown() {
    let world = World::new().await;
    let image = world.sends_image("photo_rocket.jpg").await;
    let elsewhere = world.elsewhere();
    for (tool, arguments) in [
        ("rotate_image", json!({"images": [image], "degrees": 90})),
        ("undo_edit", json!({"images": [image]})),
        ("convert_image", json!({"images": [image], "format": "png"})),
        ("image_info", json!({"images": [image]})),
        ("attach_to_response", json!({"attachment_ids": [image]})),
        ("get_attachment_info", json!({"attachment_id": image})),
        ("read_text_attachment", json!({"attachment_id": image})),
    ] {
        let called = world.registry.call(&elsewhere, tool, &arguments.to_string(), TOOL_TIMEOUT).await;
        assert!(called.failed && called.outputs.is_empty(), "{tool}: {called:?}");
        assert!(called.text.contains(&format!("no attachment {image}")), "{}", called.text);
        assert!(!called.text.contains("rocket"), "{}", called.text);
    }
    let listed = world.registry.call(&elsewhere, "list_attachments", "", TOOL_TIMEOUT).await;
    assert_eq!(listed.text, "There are no files in this conversation yet.");
}

#[tokio::test]
async fn hostile_pictures_are_refused_with_a_reason() {
    let world = World::new().await;
    for (name, reason) in [
        ("bad_corrupted.heic", ""),
        ("photo.avif", "cannot be edited yet"),
        ("bad_truncated.png", "damaged"),
        ("bad_header_size.png", "damaged"),
        ("bad_zero_width.gif", "damaged"),
        ("bomb.gif", "too large"),
        ("bomb_900MP_1bit.png", "too large"),
        ("bad_html.png", "not a picture"),
    ] {
        let image = world.sends_image(name).await;
        let text = world.refused("resize_image", json!({"images": [image], "percent": 50})).await;
        assert!(text.contains(reason) && text.starts_with(name), "{name}: {text}");
    }
    let image = world.sends_image("photo_rocket.jpg").await;
    let text = world.refused("resize_image", json!({"images": [image], "width": 30000})).await;
    assert!(text.contains("too large"), "{text}");
}

#[tokio::test]
async fn a_photo_from_a_phone_is_edited_upright_and_loses_its_gps_position() {
    let world = World::new().await;
    let image = world.sends_image("exif_landscape_6.jpg").await;
    let (_, picture) = edited(&world, "crop_image", image, json!({"aspect": "3:2"})).await;
    assert_eq!((picture.width(), picture.height()), (1800, 1200));
    let image = world.sends_image("jpeg_exif_gps.jpg").await;
    let (file, _) = edited(&world, "flip_image", image, json!({"direction": "vertical"})).await;
    let bytes = world.context.bytes(&file).await.unwrap();
    assert!(!bytes.windows(4).any(|window| window == b"Exif"));
}

#[tokio::test]
async fn an_edit_over_the_conversation_quota_is_refused() {
    let world = World::new().await;
    let image = world.sends_image("photo_rocket.jpg").await;
    let full = FileLimits {
        quota: Quota { max_conversation_bytes: 112_525, ..Quota::default() },
        ..world.context.renderer.attachments.limits()
    };
    let mut context = world.context.clone();
    let store = context.renderer.store.clone();
    context.renderer.attachments = Attachments::new(store, world.objects.clone(), full);
    let arguments = json!({"images": [image], "degrees": 90}).to_string();
    let called = world.registry.call(&context, "rotate_image", &arguments, TOOL_TIMEOUT).await;
    assert!(called.failed && called.text.contains("already keeps 109.9 kB of files"), "{}", called.text);
}
