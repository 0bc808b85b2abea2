//! Crop, rotate, flip and resize as the model calls them, on real pictures.

use super::*;
use image::{GenericImageView as _, Rgb, RgbImage};
use serde_json::json;
use std::io::Cursor;

async fn edited(world: &World, tool: &str, image: AttachmentId, rest: Value) -> imaging::Picture {
    let mut arguments = rest;
    arguments["images"] = json!([image]);
    let made = world.makes(tool, arguments).await;
    world.picture(&made[0]).await
}

fn png(pixels: RgbImage) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    pixels.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

#[tokio::test]
async fn an_aspect_around_a_point_keeps_the_point_and_stays_inside() {
    let world = World::new().await;
    let image = world.sends_image("photo_chelsea.png").await;
    let whole = world.picture(&world.found(image).await).await;
    let (width, height) = (whole.width(), whole.height());
    let around = |x: u32| json!({"aspect": "1:1", "around": {"x": x, "y": 500}});
    let left = edited(&world, "crop_image", image, around(0)).await;
    let right = edited(&world, "crop_image", image, around(1000)).await;
    assert_eq!((left.width(), left.height()), (height, height));
    assert_eq!(left.pixels(), &whole.pixels().crop_imm(0, 0, height, height));
    assert_eq!(right.pixels(), &whole.pixels().crop_imm(width - height, 0, height, height));
}

#[tokio::test]
async fn trimming_finds_the_picture_inside_its_bars() {
    let world = World::new().await;
    let cat = image::load_from_memory(&image_file("photo_chelsea.png")).unwrap().into_rgb8();
    let mut boxed = RgbImage::from_pixel(cat.width() + 30, cat.height() + 50, Rgb([3, 3, 3]));
    image::imageops::replace(&mut boxed, &cat, 10, 20);
    let image = world.sends("boxed.png", png(boxed)).await;
    let trimmed = edited(&world, "crop_image", image, json!({"trim": true})).await;
    assert_eq!(trimmed.pixels().to_rgb8(), cat);
}

#[tokio::test]
async fn trimming_without_borders_or_content_is_refused() {
    let world = World::new().await;
    let image = world.sends_image("photo_chelsea.png").await;
    let text = world.refused("crop_image", json!({"images": [image], "trim": true, "tolerance": 0})).await;
    assert!(text.contains("photo_chelsea.png: There is no border of one color"), "{text}");
    let plain = world.sends("plain.png", png(RgbImage::from_pixel(20, 20, Rgb([9, 9, 9])))).await;
    let text = world.refused("crop_image", json!({"images": [plain], "trim": true})).await;
    assert!(text.contains("nothing would be left"), "{text}");
}

#[tokio::test]
async fn a_crop_takes_exactly_one_target() {
    let world = World::new().await;
    let image = world.sends_image("photo_rocket.jpg").await;
    let region = json!({"left": 0, "top": 0, "right": 500, "bottom": 500});
    for (arguments, expected) in [
        (json!({"region": region, "aspect": "1:1"}), "region and aspect were both given"),
        (json!({"aspect": "1:1", "trim": true}), "aspect and trim were both given"),
        (json!({"region": region, "around": {"x": 1, "y": 1}}), "around goes with aspect only"),
        (json!({"region": region, "tolerance": 3}), "tolerance goes with trim only"),
        (json!({"trim": false}), "What to keep is missing"),
        (json!({"aspect": "1:1", "around": {"x": 1, "y": 1001}}), "around.y is 1001"),
        (json!({"aspect": "1:1", "around": {"x": 1}}), "around.y is missing"),
    ] {
        let mut arguments = arguments;
        arguments["images"] = json!([image]);
        let text = world.refused("crop_image", arguments).await;
        assert!(text.contains(expected), "{text}");
    }
    let (plain, trimless) = (json!({"region": region}), json!({"region": region, "trim": false}));
    let one = edited(&world, "crop_image", image, plain).await;
    let other = edited(&world, "crop_image", image, trimless).await;
    assert_eq!(one.pixels(), other.pixels(), "trim: false is no wish");
}

#[tokio::test]
async fn straightening_cuts_the_corners_that_rotating_shows() {
    let world = World::new().await;
    let image = world.sends_image("photo_rocket.jpg").await;
    let made =
        world.makes("rotate_image", json!({"images": [image], "degrees": 3, "straighten": true})).await;
    assert_eq!(made[0].filename, "photo_rocket-straightened.jpg");
    assert_eq!(made[0].description.as_deref(), Some("straightened by 3 degrees"));
    let straight = world.picture(&made[0]).await;
    assert!(
        straight.width() < 640 && straight.width() > 600 && straight.height() < 427,
        "{}",
        straight.width()
    );
    // The sky of this photo is dark, so a white pixel is an empty corner.
    assert!(straight.pixels().get_pixel(0, 0)[0] < 100);
    let turned = edited(&world, "rotate_image", image, json!({"degrees": 3})).await;
    assert!(turned.width() > 640 && turned.pixels().get_pixel(0, 0)[0] > 240);
}

#[tokio::test]
async fn fits_that_need_both_sides_are_refused_with_one() {
    let world = World::new().await;
    let image = world.sends_image("photo_rocket.jpg").await;
    for arguments in [json!({"width": 99, "fit": "fill"}), json!({"percent": 50, "fit": "stretch"})] {
        let mut arguments = arguments;
        arguments["images"] = json!([image]);
        let text = world.refused("resize_image", arguments).await;
        assert!(text.contains("need width and height"), "{text}");
    }
    let small = edited(&world, "resize_image", image, json!({"longest": 64, "fit": "fit"})).await;
    assert_eq!((small.width(), small.height()), (64, 43));
}
