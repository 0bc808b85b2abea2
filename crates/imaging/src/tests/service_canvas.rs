//! Pasted pixels go where they were requested, and nowhere else.

use image::{DynamicImage, GenericImageView as _, Rgb, RgbImage, Rgba};
use proptest::prelude::*;

use super::adjustments::{any_picture, any_region};
use crate::ops::*;
use crate::*;

const LANDSCAPE: (u32, u32) = (1536, 1024);

fn plain(width: u32, height: u32, color: [u8; 3]) -> Picture {
    Picture::new(RgbImage::from_pixel(width, height, Rgb(color)).into(), Format::Png)
}

fn region(left: f64, top: f64, right: f64, bottom: f64) -> Region {
    Region::new(left, top, right, bottom).unwrap()
}

fn open(encoded: &Encoded) -> DynamicImage {
    decode(&encoded.bytes, &EditContext::default()).unwrap().pixels().clone()
}

proptest! {
    #[test]
    fn nothing_outside_the_region_changes_for_any_returned_canvas(
        picture in any_picture(), part in any_region(), back in any_picture(), canvas in (1..60u32, 1..60u32),
    ) {
        let (width, height) = (picture.width(), picture.height());
        let layout = CanvasLayout::new((width, height), canvas);
        let done = paste_region(picture.clone(), back, &layout, part, &EditContext::default()).unwrap();
        prop_assert_eq!((done.width(), done.height()), (width, height));
        prop_assert_eq!(done.has_alpha(), picture.has_alpha());
        let rect = part.to_pixels(width, height);
        let (before, after) = (picture.pixels().to_rgba16(), done.pixels().to_rgba16());
        for (x, y, pixel) in before.enumerate_pixels().filter(|(x, y, _)| !rect.contains(*x, *y)) {
            prop_assert_eq!(after.get_pixel(x, y), pixel, "at {} {}", x, y);
        }
    }

    #[test]
    fn a_picture_and_its_regions_lie_within_the_canvas(
        width in 1..9000u32, height in 1..9000u32, part in any_region(),
    ) {
        let layout = CanvasLayout::new((width, height), LANDSCAPE);
        let whole = layout.on_canvas(Region::FULL);
        let on = layout.on_canvas(part);
        prop_assert!(on.left() >= whole.left() && on.right() <= whole.right());
        prop_assert!(on.top() >= whole.top() && on.bottom() <= whole.bottom());
    }
}

#[test]
fn the_pasted_region_blends_at_its_edges_only() {
    let (old, new) = (plain(400, 300, [10, 10, 10]), plain(768, 512, [210, 110, 60]));
    let layout = CanvasLayout::new((400, 300), LANDSCAPE);
    let done = paste_region(old, new, &layout, region(250.0, 200.0, 750.0, 1000.0), &EditContext::default())
        .unwrap();
    let at = |x, y| done.pixels().get_pixel(x, y).0[0];
    assert_eq!(at(200, 180), 210);
    assert_eq!((at(99, 180), at(200, 59)), (10, 10), "just outside");
    assert!(at(100, 180) > 10 && at(100, 180) < 60, "{}", at(100, 180));
    assert!((101..120).all(|x| at(x, 180) >= at(x - 1, 180)));
    assert_eq!(at(200, 299), 210, "the picture ends here: nothing to blend into");
}

#[test]
fn the_returned_canvas_is_pasted_at_its_place() {
    // A square photo on a wide canvas: the areas left and right of it are not part of the picture.
    let layout = CanvasLayout::new((500, 500), LANDSCAPE);
    let back = RgbImage::from_fn(1536, 1024, |x, _| match x {
        256..768 => Rgb([200, 0, 0]),
        768..1280 => Rgb([0, 200, 0]),
        _ => Rgb([0, 0, 200]),
    });
    let back = Picture::new(back.into(), Format::Png);
    let done =
        paste_region(plain(500, 500, [0; 3]), back, &layout, Region::FULL, &EditContext::default()).unwrap();
    for (x, color) in
        [(0, [200, 0, 0, 255]), (240, [200, 0, 0, 255]), (260, [0, 200, 0, 255]), (499, [0, 200, 0, 255])]
    {
        assert_eq!(done.pixels().get_pixel(x, 250), Rgba(color), "at {x}");
    }
}

#[test]
fn a_mask_has_the_size_of_its_canvas_and_is_transparent_in_the_region() {
    let photo = plain(300, 300, [90, 80, 70]);
    let layout = CanvasLayout::new((300, 300), LANDSCAPE);
    let canvas = open(&draw_on_canvas(&photo, &layout, &EditContext::default()).unwrap());
    assert_eq!(canvas.dimensions(), LANDSCAPE);
    assert_eq!(canvas.get_pixel(3, 3), Rgba([90, 80, 70, 255]), "drawn out, without a frame");
    let draw_mask = open(&draw_mask(&layout, region(0.0, 0.0, 500.0, 1000.0)).unwrap());
    assert_eq!((draw_mask.dimensions(), draw_mask.color().has_alpha()), (LANDSCAPE, true));
    assert_eq!(draw_mask.get_pixel(300, 500).0[3], 0);
    for outside in [(100, 500), (800, 500), (1400, 500)] {
        assert_eq!(draw_mask.get_pixel(outside.0, outside.1).0[3], 255, "{outside:?}");
    }
}

#[test]
fn new_pixels_are_converted_to_the_profile_of_the_original() {
    let wide = moxcms::ColorProfile::new_display_p3().encode().unwrap();
    let old = plain(40, 40, [30, 60, 90]).with_icc(Some(wide.clone()));
    let layout = CanvasLayout::new((40, 40), (40, 40));
    let done = paste_region(old, plain(40, 40, [255, 0, 0]), &layout, Region::FULL, &EditContext::default())
        .unwrap();
    assert_eq!(done.icc.as_deref(), Some(wide.as_slice()));
    let [r, g, b, _] = done.pixels().get_pixel(20, 20).0;
    assert!((225..245).contains(&r) && g > 40 && b > 20, "sRGB's red in Display P3, not {:?}", [r, g, b]);
}
