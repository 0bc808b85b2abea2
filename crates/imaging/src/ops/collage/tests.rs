//! Every picture of a collage is whole and where its layout puts it.

use bytes::Bytes;
use image::{DynamicImage, GenericImageView as _, ImageBuffer, Luma, LumaA};
use proptest::prelude::*;

use super::*;
use crate::tests::read;
use crate::{Limits, encode};

const COLORS: [[u8; 3]; 5] = [[230, 20, 20], [20, 200, 20], [30, 30, 240], [250, 220, 0], [200, 0, 200]];

fn solid(color: [u8; 3], width: u32, height: u32) -> Bytes {
    file(ImageBuffer::from_pixel(width, height, Rgb(color)).into())
}

fn file(pixels: DynamicImage) -> Bytes {
    encode(&Picture::new(pixels, Format::Png)).unwrap().bytes.into()
}

fn plan(layout: CollageLayout) -> Collage {
    Collage {
        layout,
        columns: None,
        longest: Some(800),
        gap: None,
        background: CollageBackground::default(),
        captions: Vec::new(),
    }
}

fn mixed() -> Sources {
    let sizes = [(300, 200), (200, 300), (400, 400), (640, 360), (90, 120)];
    Sources::new(COLORS.iter().zip(sizes).map(|(color, (w, h))| solid(*color, w, h)).collect())
}

/// The bounds of the pixels of this colour, and their number: left, top, right, bottom, count.
fn found(picture: &Picture, color: [u8; 3]) -> (u32, u32, u32, u32, u32) {
    let mut found = (u32::MAX, u32::MAX, 0, 0, 0);
    for (x, y, pixel) in picture.pixels().pixels() {
        if (0..3).all(|channel| pixel.0[channel].abs_diff(color[channel]) <= 2) {
            found = (found.0.min(x), found.1.min(y), found.2.max(x + 1), found.3.max(y + 1), found.4 + 1);
        }
    }
    found
}

#[test]
fn each_source_fills_a_cell_of_its_own_shape() {
    for layout in
        [CollageLayout::Grid, CollageLayout::Row, CollageLayout::Column, CollageLayout::ContactSheet]
    {
        let sources = mixed();
        let made = collage(&sources, &plan(layout), &EditContext::default()).unwrap();
        assert_eq!(made.width().max(made.height()), 800, "{layout:?}");
        for (index, color) in COLORS.into_iter().enumerate() {
            let (left, top, right, bottom, count) = found(&made, color);
            assert!(count > 300, "{layout:?}: no {color:?}");
            assert_eq!(count, (right - left) * (bottom - top), "{layout:?}: {color:?} is no whole rectangle");
            let (width, height) = sources.size(index).unwrap();
            let shape = f64::from(right - left) / f64::from(bottom - top);
            let off = (shape * f64::from(height) / f64::from(width)).ln().abs();
            assert!(off < 0.06, "{layout:?}: {color:?} was cut or distorted: {shape}");
        }
    }
}

#[test]
fn rows_share_their_height_and_columns_their_width() {
    let row = collage(&mixed(), &plan(CollageLayout::Row), &EditContext::default()).unwrap();
    let column = collage(&mixed(), &plan(CollageLayout::Column), &EditContext::default()).unwrap();
    let across = COLORS.map(|color| found(&row, color));
    let down = COLORS.map(|color| found(&column, color));
    for pair in 0..4 {
        assert_eq!((across[pair].1, across[pair].3), (across[pair + 1].1, across[pair + 1].3));
        assert_eq!((down[pair].0, down[pair].2), (down[pair + 1].0, down[pair + 1].2));
        assert!(
            across[pair].2 < across[pair + 1].0 && down[pair].3 < down[pair + 1].1,
            "in order, with a gap"
        );
    }
}

#[test]
fn columns_make_cells_of_one_size_with_a_centred_last_line() {
    let asked = Collage { columns: Some(2), gap: Some(10), ..plan(CollageLayout::Grid) };
    let made = collage(&mixed(), &asked, &EditContext::default()).unwrap();
    let cells = COLORS.map(|color| found(&made, color));
    for rect in cells {
        assert_eq!((rect.2 - rect.0, rect.3 - rect.1), (cells[0].2 - cells[0].0, cells[0].3 - cells[0].1));
    }
    assert_eq!((cells[0].1, cells[2].0), (cells[1].1, cells[0].0));
    assert!(cells[4].0.abs_diff(made.width() - cells[4].2) <= 1, "not in the middle: {:?}", cells[4]);
}

#[test]
fn before_and_after_are_labelled_and_separated_by_a_line() {
    let pair = || Sources::new(vec![solid(COLORS[0], 300, 200), solid(COLORS[2], 600, 400)]);
    let made = collage(&pair(), &plan(CollageLayout::BeforeAfter), &EditContext::default()).unwrap();
    let (before, after) = (found(&made, COLORS[0]), found(&made, COLORS[2]));
    assert_eq!((before.0, before.1, before.3), (0, 0, made.height()));
    assert_eq!((after.2, after.3), (made.width(), made.height()));
    assert!(before.2 < after.0);
    for x in before.2..after.0 {
        assert_eq!(made.pixels().get_pixel(x, made.height() / 2).0, [255; 4]);
    }
    assert!(before.4 < (before.2 - before.0) * (before.3 - before.1), "no label on the first");
    assert!(after.4 < (after.2 - after.0) * (after.3 - after.1), "no label on the second");
    let three = Sources::new(vec![solid(COLORS[0], 9, 9); 3]);
    let error = collage(&three, &plan(CollageLayout::BeforeAfter), &EditContext::default()).unwrap_err();
    assert!(error.index.is_none() && error.error.to_string().contains("exactly two"), "{error:?}");
}

#[test]
fn captions_of_a_contact_sheet_are_below_the_pictures() {
    let captions: Vec<String> = (1..=5).map(|number| format!("picture number {number}.jpg")).collect();
    let bare = collage(&mixed(), &plan(CollageLayout::ContactSheet), &EditContext::default()).unwrap();
    let asked = Collage { captions, ..plan(CollageLayout::ContactSheet) };
    let made = collage(&mixed(), &asked, &EditContext::default()).unwrap();
    let dark =
        |picture: &Picture| picture.pixels().pixels().filter(|(.., pixel)| pixel.0[..3] == [0; 3]).count();
    assert!(dark(&bare) == 0 && dark(&made) > 200, "{}", dark(&made));
    for color in COLORS {
        assert_eq!(found(&made, color), found(&bare, color));
    }
}

#[test]
fn small_pictures_are_enlarged_only_on_request() {
    let sources = Sources::new(vec![solid(COLORS[0], 400, 300), solid(COLORS[1], 400, 300)]);
    let asked = Collage { longest: None, ..plan(CollageLayout::Row) };
    let made = collage(&sources, &asked, &EditContext::default()).unwrap();
    assert!((780..=840).contains(&made.width()), "{}", made.width());
    let large = Sources::new(vec![solid(COLORS[0], 4000, 3000), solid(COLORS[1], 4000, 3000)]);
    assert_eq!(collage(&large, &asked, &EditContext::default()).unwrap().width(), 2048);
}

#[test]
fn transparent_pixels_show_the_background_or_stay_transparent() {
    let glass = || file(ImageBuffer::from_pixel(50, 50, Rgba([0u8, 0, 0, 0])).into());
    let sources = Sources::new(vec![glass(), glass()]);
    let teal = Color::rgb(0, 128, 128);
    let asked = Collage { background: CollageBackground::Color(teal), ..plan(CollageLayout::Row) };
    let made = collage(&sources, &asked, &EditContext::default()).unwrap();
    assert!(!made.has_alpha());
    assert!(made.pixels().pixels().all(|(.., pixel)| pixel.0 == [0, 128, 128, 255]));
    let asked = Collage { background: CollageBackground::Transparent, ..asked };
    let made = collage(&sources, &asked, &EditContext::default()).unwrap();
    assert!(made.pixels().pixels().all(|(.., pixel)| pixel.0[3] == 0));
    assert_eq!(made.output_format(), Format::Png);
}

#[test]
fn a_collage_of_photos_is_a_jpeg_and_of_graphics_a_png() {
    let photo: Bytes = read("photo_rocket.jpg").into();
    let made = |files| {
        collage(&Sources::new(files), &plan(CollageLayout::Row), &EditContext::default())
            .unwrap()
            .output_format()
    };
    assert_eq!(made(vec![photo.clone(), solid(COLORS[0], 9, 9)]), Format::Jpeg);
    assert_eq!(made(vec![solid(COLORS[1], 9, 9), solid(COLORS[0], 9, 9)]), Format::Png);
}

#[test]
fn an_error_names_the_source_that_cannot_be_decoded() {
    let cut: Bytes = read("bad_truncated.png").into();
    let sources = Sources::new(vec![solid(COLORS[0], 9, 9), cut, "no picture".into()]);
    let error = collage(&sources, &plan(CollageLayout::Grid), &EditContext::default()).unwrap_err();
    assert_eq!(error.index, Some(2), "headers are read first");
    let damaged = sources.damaged(0, &EditContext::default()).unwrap();
    assert_eq!(damaged.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_collage_stops_when_the_flag_is_set() {
    let stop = crate::StopFlag::default();
    stop.stop();
    let error = collage(&mixed(), &plan(CollageLayout::Grid), &EditContext::new(Limits::default(), stop))
        .unwrap_err();
    assert_eq!(error, SourceError { index: None, error: ImagingError::Stopped });
}

fn any_picture() -> impl Strategy<Value = Bytes> {
    let side = prop_oneof![Just(1u32), 1..40u32, Just(400)];
    (side.clone(), side, 0..6u8).prop_map(|(width, height, kind)| {
        file(match kind {
            0 => ImageBuffer::from_pixel(width, height, Luma([90u8])).into(),
            1 => ImageBuffer::from_pixel(width, height, LumaA([90u8, 100])).into(),
            2 => ImageBuffer::from_pixel(width, height, Rgba([9u8, 8, 7, 6])).into(),
            3 => ImageBuffer::from_pixel(width, height, Luma([9000u16])).into(),
            4 => ImageBuffer::from_pixel(width, height, Rgba([9u16, 9000, 7, 60000])).into(),
            _ => ImageBuffer::from_pixel(width, height, Rgb([9u16, 9000, 7])).into(),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_mix_of_pictures_makes_a_collage_within_its_size(
        files in proptest::collection::vec(any_picture(), 1..8),
        layout in prop_oneof![
            Just(CollageLayout::Grid), Just(CollageLayout::Row), Just(CollageLayout::Column),
            Just(CollageLayout::ContactSheet), Just(CollageLayout::BeforeAfter),
        ],
        columns in proptest::option::of(1..20u32),
        longest in proptest::option::of(prop_oneof![Just(1u32), 1..300u32]),
        gap in proptest::option::of(0..200u32),
        transparent: bool,
    ) {
        let captions = files.iter().map(|_| "caption".to_owned()).collect();
        let background = if transparent { CollageBackground::Transparent } else { CollageBackground::default() };
        let number = files.len();
        let asked = Collage { layout, columns, longest, gap, background, captions };
        match collage(&Sources::new(files), &asked, &EditContext::default()) {
            Ok(made) => {
                prop_assert!(made.width().max(made.height()) <= longest.unwrap_or(2048));
                prop_assert_eq!(made.has_alpha(), transparent);
            }
            Err(error) => prop_assert!(layout == CollageLayout::BeforeAfter && number != 2, "{:?}", error),
        }
    }
}
