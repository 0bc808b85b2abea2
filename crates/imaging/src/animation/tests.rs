//! Edited animations keep their frames, delays, loop count and transparency.

use bytes::Bytes;
use image::{ImageBuffer, Rgb, Rgba};
use proptest::prelude::*;

use super::*;
use crate::ops::{self, Filter, FlipAxis, ResizeTo};
use crate::tests::read;
use crate::{Sources, StopFlag, decode};

const ANIMATED_GIF: &[u8] = include_bytes!("../../../../tests/images/anim.gif");

fn frames(bytes: &[u8]) -> Vec<(RgbaImage, u32)> {
    let format = Format::sniff(bytes).unwrap();
    let frames = open(bytes, format, &Limits::default()).unwrap();
    let read = |frame: ImageResult<image::Frame>| {
        let frame = frame.unwrap();
        let (numerator, denominator) = frame.delay().numer_denom_ms();
        (frame.into_buffer(), numerator / denominator)
    };
    frames.map(read).collect()
}

/// Delays of 10 to 70 ms, a red dot moving over a transparent background, three loops.
fn wandering(format: Format, lossless: bool) -> Vec<u8> {
    let header = AnimationHeader { frames: 7, loop_count: Some(3), lossless };
    let mut writer = AnimationWriter::new(format, (40, 30), &header).unwrap();
    for step in 0..7u32 {
        writer.add(dot(step), (step + 1) * 10, &EditContext::default()).unwrap();
    }
    writer.finish(&EditContext::default()).unwrap().bytes
}

fn dot(step: u32) -> RgbaImage {
    ImageBuffer::from_fn(40, 30, |x, y| {
        let on = (step * 5..step * 5 + 8).contains(&x) && (7..21).contains(&y);
        if on { Rgba([250, 20, 30, 255]) } else { Rgba([0; 4]) }
    })
}

fn same(picture: Picture, _: &EditContext) -> Result<Picture, ImagingError> {
    Ok(picture)
}

#[test]
fn only_animated_gifs_and_webps_are_animations() {
    assert!(is_animated(ANIMATED_GIF) && is_animated(&wandering(Format::WebP, false)));
    for name in ["photo_rocket.jpg", "webp_alpha.webp", "png_palette8.png", "bomb.gif", "bad_zero_width.gif"]
    {
        let bytes = read(name);
        assert!(!is_animated(&bytes), "{name}");
    }
    assert!(!is_animated(b"GIF89a") && !is_animated(b""));
}

#[test]
fn an_edited_gif_keeps_its_frames_delays_and_loop_count() {
    let gray = |picture: Picture, context: &EditContext| ops::filter(picture, Filter::Grayscale, context);
    let edited = edit_frames(ANIMATED_GIF, &EditContext::default(), &gray).unwrap();
    assert_eq!((edited.mime, edited.extension), ("image/gif", "gif"));
    assert_eq!(scan::scan_gif(&edited.bytes), scan::scan_gif(ANIMATED_GIF));
    let (before, after) = (frames(ANIMATED_GIF), frames(&edited.bytes));
    assert_eq!(after.len(), 42);
    for (index, ((old, old_delay), (new, new_delay))) in before.iter().zip(&after).enumerate() {
        assert_eq!((old.dimensions(), old_delay), (new.dimensions(), new_delay), "frame {index}");
        for (old, new) in old.pixels().zip(new.pixels()) {
            assert_eq!(old.0[3], new.0[3], "frame {index}: transparency moved");
            let [r, g, b, alpha] = new.0;
            assert!(alpha == 0 || (r == g && g == b), "frame {index} has colour: {new:?}");
        }
    }
}

#[test]
fn a_gif_with_unchanged_pixels_looks_as_before() {
    let edited = edit_frames(ANIMATED_GIF, &EditContext::default(), &same).unwrap();
    for (index, ((old, _), (new, _))) in frames(ANIMATED_GIF).iter().zip(&frames(&edited.bytes)).enumerate() {
        let off: u64 =
            old.as_raw().iter().zip(new.as_raw()).map(|(old, new)| u64::from(old.abs_diff(*new))).sum();
        let mean = off as f64 / old.as_raw().len() as f64;
        assert!(mean < 2.0, "frame {index} is off by {mean}");
    }
    assert!(edited.bytes.len() < 2 * ANIMATED_GIF.len(), "{} of {}", edited.bytes.len(), ANIMATED_GIF.len());
}

#[test]
fn transparent_pixels_stay_transparent_between_frames() {
    for (format, lossless) in [(Format::Gif, true), (Format::WebP, true), (Format::WebP, false)] {
        let bytes = wandering(format, lossless);
        assert!(is_animated(&bytes));
        let edited = edit_frames(&bytes, &EditContext::default(), &|picture, _| {
            ops::flip(picture, FlipAxis::Horizontal)
        });
        let edited = edited.unwrap();
        assert_eq!(Format::sniff(&edited.bytes), Some(format));
        assert_eq!(edited.mime, format.mime());
        let scan = if format == Format::Gif { scan::scan_gif } else { scan::scan_webp };
        assert_eq!(scan(&edited.bytes), Some(AnimationHeader { frames: 7, loop_count: Some(3), lossless }));
        let shown = frames(&edited.bytes);
        assert_eq!(shown.iter().map(|(_, delay)| *delay).collect::<Vec<_>>(), [10, 20, 30, 40, 50, 60, 70]);
        for (step, (frame, _)) in (0..).zip(shown) {
            let expected = image::imageops::flip_horizontal(&dot(step));
            for (x, y, pixel) in frame.enumerate_pixels() {
                let wanted = expected.get_pixel(x, y).0;
                assert_eq!(pixel.0[3], wanted[3], "{format} frame {step} at {x},{y}");
                let near = (0..3).all(|channel| pixel.0[channel].abs_diff(wanted[channel]) < 60);
                assert!(wanted[3] == 0 || near, "{format} frame {step}: {pixel:?}");
            }
        }
    }
}

#[test]
fn a_gif_that_plays_once_still_does() {
    let mut writer = AnimationWriter::new(
        Format::Gif,
        (4, 4),
        &AnimationHeader { frames: 2, loop_count: None, lossless: true },
    )
    .unwrap();
    for shade in [10, 20] {
        writer
            .add(RgbaImage::from_pixel(4, 4, Rgba([shade, 0, 0, 255])), 100, &EditContext::default())
            .unwrap();
    }
    let once = writer.finish(&EditContext::default()).unwrap().bytes;
    let edited = edit_frames(&once, &EditContext::default(), &same).unwrap();
    assert_eq!(scan::scan_gif(&edited.bytes).unwrap().loop_count, None);
}

#[test]
fn frames_may_be_resized_but_only_to_one_size() {
    let half =
        |picture: Picture, context: &EditContext| ops::resize(picture, ResizeTo::longest(120)?, context);
    let edited = edit_frames(ANIMATED_GIF, &EditContext::default(), &half).unwrap();
    assert_eq!(frames(&edited.bytes)[41].0.dimensions(), (120, 120));
    let calls = std::cell::Cell::new(100);
    let uneven = |picture: Picture, context: &EditContext| {
        calls.set(calls.get() + 1);
        ops::resize(picture, ResizeTo::longest(calls.get())?, context)
    };
    let error = edit_frames(ANIMATED_GIF, &EditContext::default(), &uneven).unwrap_err();
    assert!(error.to_string().contains("different sizes"), "{error}");
}

#[test]
fn an_animation_over_the_limits_is_refused_before_any_edit() {
    let edit =
        |_: Picture, _: &EditContext| -> Result<Picture, ImagingError> { panic!("a frame was edited") };
    let small = EditContext::new(Limits { max_pixels: 100_000, ..Limits::default() }, StopFlag::default());
    let error = edit_frames(ANIMATED_GIF, &small, &edit).unwrap_err();
    assert!(error.to_string().contains("42 frames of 245×245"), "{error}");
    let header = AnimationHeader { frames: 501, loop_count: Some(0), lossless: true };
    let mut long = AnimationWriter::new(Format::Gif, (1, 1), &header).unwrap();
    for frame in 0..501u32 {
        long.add(RgbaImage::from_pixel(1, 1, Rgba([frame as u8, 0, 0, 255])), 10, &EditContext::default())
            .unwrap();
    }
    let long = long.finish(&EditContext::default()).unwrap().bytes;
    let error = edit_frames(&long, &EditContext::default(), &edit).unwrap_err();
    assert!(error.to_string().contains("501 frames") && error.to_string().contains("500"), "{error}");
    let stop = StopFlag::default();
    stop.stop();
    let error = edit_frames(ANIMATED_GIF, &EditContext::new(Limits::default(), stop), &edit).unwrap_err();
    assert_eq!(error, ImagingError::Stopped);
}

#[test]
fn a_truncated_animation_is_edited_up_to_the_cut() {
    let cut = &ANIMATED_GIF[..ANIMATED_GIF.len() / 2];
    let edited = edit_frames(cut, &EditContext::default(), &same).unwrap();
    assert!((5..42).contains(&frames(&edited.bytes).len()));
    assert!(edit_frames(&ANIMATED_GIF[..900], &EditContext::default(), &same).is_err());
}

fn still(color: [u8; 3], width: u32, height: u32) -> Bytes {
    let pixels = ImageBuffer::from_pixel(width, height, Rgb(color));
    crate::encode(&Picture::new(pixels.into(), Format::Png)).unwrap().bytes.into()
}

fn plan(format: AnimationFormat) -> Animation {
    Animation { format, milliseconds: 250, crossfade: 0, forever: true, longest: 60, background: None }
}

#[test]
fn stills_become_an_animation_of_the_size_of_the_first() {
    let sources = Sources::new(vec![still([250, 0, 0], 120, 80), still([0, 0, 250], 10, 80)]);
    for format in [AnimationFormat::Gif, AnimationFormat::WebP] {
        let made = animate(&sources, &plan(format), &EditContext::default()).unwrap();
        let shown = frames(&made.bytes);
        assert_eq!(shown.iter().map(|(_, delay)| *delay).collect::<Vec<_>>(), [250, 250]);
        let near = |pixel: &Rgba<u8>, wanted: [u8; 3]| {
            pixel.0[3] == 255 && (0..3).all(|channel| pixel.0[channel].abs_diff(wanted[channel]) < 30)
        };
        assert_eq!(shown[0].0.dimensions(), (60, 40));
        assert!(shown[0].0.pixels().all(|pixel| near(pixel, [250, 0, 0])));
        assert!(near(shown[1].0.get_pixel(30, 20), [0, 0, 250]), "{:?}", shown[1].0.get_pixel(30, 20));
        assert!(
            near(shown[1].0.get_pixel(5, 20), [0, 0, 0]) && near(shown[1].0.get_pixel(55, 20), [0, 0, 0])
        );
        let loop_count =
            |bytes: &[u8]| scan::scan_gif(bytes).or_else(|| scan::scan_webp(bytes)).unwrap().loop_count;
        assert_eq!(loop_count(&made.bytes), Some(0));
        let once = animate(&sources, &Animation { forever: false, ..plan(format) }, &EditContext::default())
            .unwrap();
        assert_eq!(loop_count(&once.bytes), if format == AnimationFormat::Gif { None } else { Some(1) });
    }
}

#[test]
fn a_crossfade_mixes_both_pictures() {
    let sources = Sources::new(vec![still([0, 0, 0], 20, 20), still([250, 250, 250], 20, 20)]);
    let fading = Animation { crossfade: 400, ..plan(AnimationFormat::Gif) };
    let shown = frames(&animate(&sources, &fading, &EditContext::default()).unwrap().bytes);
    let shades: Vec<_> = shown.iter().map(|(frame, _)| frame.get_pixel(9, 9).0[0]).collect();
    assert_eq!(shades, [0, 42, 83, 125, 167, 208, 250, 208, 167, 125, 83, 42]);
    assert_eq!(shown.iter().map(|(_, delay)| delay).sum::<u32>(), 2 * 250 + 10 * 80);
}

#[test]
fn an_error_names_the_damaged_still() {
    let cut: Bytes = read("bad_truncated.png").into();
    let sources = Sources::new(vec![still([1, 2, 3], 9, 9), cut]);
    assert_eq!(
        animate(&sources, &plan(AnimationFormat::Gif), &EditContext::default()).unwrap_err().index,
        Some(1)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_stills_make_an_animation(
        sizes in proptest::collection::vec((1..70u32, 1..40u32), 1..5), webp: bool, forever: bool,
        longest in 1..64u32, noise: u32,
    ) {
        let still = |(width, height): (u32, u32)| -> Bytes {
            let pixels = ImageBuffer::from_fn(width, height, |x, y| {
                Rgba((x * 7919 + y * 104_729 + noise).wrapping_mul(2_654_435_761).to_le_bytes())
            });
            crate::encode(&Picture::new(pixels.into(), Format::Png)).unwrap().bytes.into()
        };
        let number = sizes.len();
        let sources = Sources::new(sizes.into_iter().map(still).collect());
        let format = if webp { AnimationFormat::WebP } else { AnimationFormat::Gif };
        let asked = Animation { forever, longest, crossfade: 100, ..plan(format) };
        let made = animate(&sources, &asked, &EditContext::default()).unwrap();
        let first = decode(&made.bytes, &EditContext::default()).unwrap();
        prop_assert!(first.width().max(first.height()) <= longest);
        let expected = if forever { 2 * number } else { 2 * number - 1 };
        prop_assert_eq!(frames(&made.bytes).len(), expected);
    }
}

#[test]
fn a_frame_larger_than_its_canvas_is_checked_by_its_own_size() {
    let frame = |side: u16| {
        let [low, high] = side.to_le_bytes();
        let place = [0x2C, 0, 0, 0, 0, low, high, low, high, 0x80];
        [&place[..], &[0, 0, 0, 255, 255, 255, 2, 2, 0x4C, 1, 0]].concat()
    };
    let bomb = [b"GIF89a\x01\0\x01\0\0\0\0".to_vec(), frame(1), frame(14_600), vec![0x3B]].concat();
    let keep = |picture: Picture, _: &EditContext| Ok(picture);
    let error = edit_frames(&bomb, &EditContext::default(), &keep).unwrap_err();
    assert!(matches!(error, ImagingError::TooLarge(TooLarge { width: 14_600, .. })), "{error:?}");
}
