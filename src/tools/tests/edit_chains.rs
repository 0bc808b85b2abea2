//! Chains of edits: pixels stay in the cache, only the last picture becomes a file, and the others are rendered on demand.

use super::*;
use serde_json::json;

/// A photo cropped to a square, rotated, then made gray: the three pictures.
async fn chain(world: &World) -> [Attachment; 3] {
    let photo = world.sends_image("photo_rocket.jpg").await;
    let mut id = photo;
    let mut made = Vec::new();
    for (tool, arguments) in [
        ("crop_image", json!({"aspect": "square"})),
        ("rotate_image", json!({"degrees": 90})),
        ("filter_image", json!({"filter": "grayscale"})),
    ] {
        let mut arguments = arguments;
        arguments["images"] = json!([id]);
        let step = world.makes(tool, arguments).await.remove(0);
        id = step.attachment_id;
        made.push(step);
    }
    made.try_into().unwrap()
}

fn pixels(picture: &imaging::Picture) -> image::DynamicImage {
    picture.pixels().clone()
}

#[tokio::test]
async fn only_the_requested_picture_is_stored() {
    let world = World::new().await;
    let steps = chain(&world).await;
    assert!(steps.iter().all(|step| !step.is_stored()), "they are recipes");
    assert_eq!(
        (steps[2].width, steps[2].height, steps[2].mime_type.as_str()),
        (Some(427), Some(427), "image/jpeg")
    );
    let last = world.context.ensure_stored(&steps[2]).await.unwrap();
    assert!(last.is_stored() && last.size > 1000 && last.sha256().is_some_and(|hash| hash.len() == 64));
    assert_eq!(world.found(steps[2].attachment_id).await, last);
    for between in &steps[..2] {
        assert!(!world.found(between.attachment_id).await.is_stored());
    }
}

#[tokio::test]
async fn a_picture_in_the_middle_is_rendered_from_its_recipe() {
    let world = World::new().await;
    let steps = chain(&world).await;
    // The next edit took its pixels out of the cache.
    let middle = world.picture(&steps[1]).await;
    let crop = world.picture(&steps[0]).await;
    let turned = pixels(&crop).rotate90();
    let (got, wanted) = (middle.pixels().to_rgb8(), turned.to_rgb8());
    let difference: u64 = got.iter().zip(wanted.iter()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    assert!(difference / (got.len() as u64) < 3, "a JPEG apart, they are the same");
    assert!(world.found(steps[1].attachment_id).await.is_stored(), "and it is stored now");
}

#[tokio::test]
async fn after_a_restart_the_recipes_give_the_same_picture() {
    let mut world = World::new().await;
    let steps = chain(&world).await;
    let before = world.context.bytes(&steps[2]).await.unwrap();
    let other = World::new().await;
    let again = chain(&other).await;
    // The pixel cache is empty after a restart.
    world.context = other.context;
    world.context.pixels = world.context.renderer.turn_pixels();
    let after = world.context.bytes(&again[2]).await.unwrap();
    assert_eq!(before, after);
}

#[tokio::test]
async fn a_forked_chain_gives_both_ends() {
    let world = World::new().await;
    let steps = chain(&world).await;
    let sepia = json!({"images": [steps[1].attachment_id], "filter": "sepia"});
    let sepia = world.makes("filter_image", sepia).await.remove(0);
    let (gray, sepia) = (world.picture(&steps[2]).await, world.picture(&sepia).await);
    assert!(!gray.pixels().color().has_color());
    assert!(sepia.pixels().color().has_color());
    assert_eq!((gray.width(), sepia.width()), (427, 427));
}

#[tokio::test]
async fn a_picture_is_stored_at_once_if_the_pixel_cache_is_full() {
    let world = World::new().await.with_pool(PoolLimits { memory_bytes: 256 << 20, ..PoolLimits::default() });
    // A quarter of the memory belongs to the cache, in steps of one MiB.
    let other = image::RgbImage::new(8192, 2730).into();
    let other = imaging::Picture::new(other, imaging::Format::Png);
    world.context.pixels.insert(AttachmentId::new(), other).unwrap();
    assert!(chain(&world).await.iter().all(Attachment::is_stored));
}

#[tokio::test]
async fn a_view_leaves_the_cached_pixels_in_place() {
    let world = World::new().await;
    let steps = chain(&world).await;
    let view = world.context.renderer.view(&steps[2], &imaging::View::whole(100)).await.unwrap();
    assert_eq!(imaging::probe(&view.bytes).unwrap().width, 100);
    assert!(!world.found(steps[2].attachment_id).await.is_stored(), "a view needs no file");
    assert_eq!(world.picture(&steps[2]).await.width(), 427);
}
