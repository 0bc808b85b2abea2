//! A coordinate grid over a view, in thousandths of the whole picture, so that a model can read off exact positions.
//! Only views get a grid, never edits.

use image::{ImageBuffer, Pixel};

use super::paint::{self, PaintShape};
use super::picture::{Sample, paint_buffer};
use super::text::{Align, Lines, TextBlock, TextStyle};
use super::{Color, EditContext, ImagingError, Picture, PixelRect, Region};

/// Thousandths between two lines: the coarsest step that gives enough lines.
const STEP_SIZES: [u32; 7] = [100, 50, 25, 10, 5, 2, 1];
const MIN_LINES: f64 = 5.0;
/// Lines nearer than this many pixels would hide the picture, so none are drawn.
const MIN_LINE_DISTANCE: f64 = 4.0;
/// Opacities of a dark and a light line side by side: one of them shows on any background.
const DARK_LINE_OPACITY: f32 = 0.5;
const LIGHT_LINE_OPACITY: f32 = 0.65;
const PLATE_OPACITY: f32 = 0.7;
/// Smallest and largest height of the numbers. The height follows the longer side of the view.
const NUMBER_HEIGHT_RANGE: (f32, f32) = (11.0, 22.0);
const SIDE_PER_NUMBER_HEIGHT: f32 = 64.0;

/// Thousandths between two lines over a part of a picture: horizontally, then vertically.
pub fn grid_steps(region: &Region) -> (u32, u32) {
    (choose_step(region.right() - region.left()), choose_step(region.bottom() - region.top()))
}

fn choose_step(span: f64) -> u32 {
    // A region in fractions may miss a round span by a rounding error.
    let enough = |step: &u32| span / f64::from(*step) >= MIN_LINES - 1e-6;
    STEP_SIZES.into_iter().find(enough).unwrap_or(1)
}

/// Draws the grid over a view of a region. `whole` is the size of the whole picture in pixels.
pub(super) fn draw(
    view: Picture,
    region: &Region,
    whole: (u32, u32),
    context: &EditContext,
) -> Result<Picture, ImagingError> {
    let mut view = view.into_color();
    let (width, height) = (view.width(), view.height());
    let part = region.to_pixels(whole.0, whole.1);
    let steps = grid_steps(region);
    let across = place_lines(steps.0, (part.x, part.width), whole.0, width);
    let down = place_lines(steps.1, (part.y, part.height), whole.1, height);
    let size = (width.max(height) as f32 / SIDE_PER_NUMBER_HEIGHT)
        .clamp(NUMBER_HEIGHT_RANGE.0, NUMBER_HEIGHT_RANGE.1);
    let frame = PixelRect { x: 0, y: 0, width, height };
    let plates = place_numbers(&across, &down, size, frame, context);
    paint_buffer!(&mut view.pixels, |canvas| {
        for line in &across {
            draw_line(canvas, line.at, height, |along, off| (off, along));
        }
        for line in &down {
            draw_line(canvas, line.at, width, |along, off| (along, off));
        }
        for plate in &plates {
            plate.draw(canvas);
        }
    })?;
    Ok(view)
}

/// A grid line. `at` is its position in the view: between this pixel and the one before.
#[derive(Debug, Clone, Copy, PartialEq)]
struct GridLine {
    thousandth: u32,
    at: u32,
}

/// The lines across one side of a view. `start` and `length` say which pixels of the whole side it shows.
fn place_lines(step: u32, (start, length): (u32, u32), whole: u32, shown: u32) -> Vec<GridLine> {
    let thousandth = |pixel: u32| f64::from(pixel) * 1000.0 / f64::from(whole);
    let (first, last) = (thousandth(start), thousandth(start + length));
    let scale = f64::from(shown) / (last - first);
    if f64::from(step) * scale < MIN_LINE_DISTANCE {
        return Vec::new();
    }
    (0..=1000 / step)
        .map(|number| number * step)
        .filter(|at| (first..=last).contains(&f64::from(*at)))
        .map(|at| GridLine { thousandth: at, at: ((f64::from(at) - first) * scale).round() as u32 })
        // A line at the very edge would separate nothing.
        .filter(|line| line.at > 0 && line.at < shown)
        .collect()
}

fn draw_line<P: Pixel>(
    canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>,
    at: u32,
    length: u32,
    place: impl Fn(u32, u32) -> (u32, u32),
) where
    P::Subpixel: Sample,
{
    for along in 0..length {
        for (off, color, opacity) in
            [(at - 1, Color::BLACK, DARK_LINE_OPACITY), (at, Color::WHITE, LIGHT_LINE_OPACITY)]
        {
            let (x, y) = place(along, off);
            paint::blend(canvas.get_pixel_mut(x, y), color, opacity);
        }
    }
}

/// A number on a dark plate.
struct NumberPlate {
    number: TextBlock,
    bounds: PixelRect,
}

impl NumberPlate {
    fn draw<P: Pixel>(&self, canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>)
    where
        P::Subpixel: Sample,
    {
        let PixelRect { x, y, width, height } = self.bounds;
        let form = PaintShape::Rectangle { bounds: self.bounds.into(), radius: height as f32 * 0.2 };
        paint::fill(canvas, form, self.bounds, Color::BLACK, PLATE_OPACITY);
        let middle = |side: u32, inner: u32| side.saturating_sub(inner) / 2;
        let at = (x + middle(width, self.number.width()), y + middle(height, self.number.height()));
        self.number.draw(canvas, at, self.bounds, Color::WHITE);
    }
}

/// Numbers along the top and the left edge, each on its line. A number that would cover another is left out. A view
/// that is too small gets none.
fn place_numbers(
    across: &[GridLine],
    down: &[GridLine],
    size: f32,
    frame: PixelRect,
    context: &EditContext,
) -> Vec<NumberPlate> {
    let style = TextStyle {
        size,
        area: (frame.width as f32, frame.height as f32),
        lines: Lines::One,
        align: Align::Center,
        edge: 0.0,
    };
    let beside = (size * 0.22).round() as u32;
    let mut plates: Vec<NumberPlate> = Vec::new();
    let tops = across.iter().map(|line| (line, Edge::Top));
    for (line, edge) in tops.chain(down.iter().map(|line| (line, Edge::Left))) {
        let Some(number) = TextBlock::new(&context.fonts, &line.thousandth.to_string(), &style) else {
            continue;
        };
        let (width, height) = (number.width() + 2 * beside, number.height());
        let on_line = |length: u32| line.at.checked_sub(length / 2);
        let corner = match edge {
            Edge::Top => on_line(width).map(|x| (x, 0)),
            Edge::Left => on_line(height).map(|y| (0, y)),
        };
        let Some((x, y)) = corner else { continue };
        let bounds = PixelRect { x, y, width, height };
        let fits = bounds.right() <= frame.width && bounds.bottom() <= frame.height;
        // A number may hide the end of its own line, but not most of a small picture.
        let small = 3 * width <= frame.width.max(1) && 3 * height <= frame.height;
        if fits && small && plates.iter().all(|other| !other.bounds.intersects(&bounds)) {
            plates.push(NumberPlate { number, bounds });
        }
    }
    plates
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edge {
    Top,
    Left,
}

#[cfg(test)]
mod tests {
    use image::{GrayImage, RgbImage};
    use proptest::prelude::*;

    use super::*;
    use crate::{Format, View, decode, view};

    fn numbers(lines: &[GridLine]) -> Vec<u32> {
        lines.iter().map(|line| line.thousandth).collect()
    }

    #[test]
    fn the_line_of_500_is_in_the_middle() {
        let whole = place_lines(100, (0, 4000), 4000, 1000);
        assert_eq!(numbers(&whole), [100, 200, 300, 400, 500, 600, 700, 800, 900]);
        assert!(whole.contains(&GridLine { thousandth: 500, at: 500 }));

        let gray = Picture::new(GrayImage::from_pixel(200, 120, image::Luma([128])).into(), Format::Png);
        let drawn = draw(gray, &Region::FULL, (200, 120), &EditContext::default()).unwrap().pixels.to_rgb8();
        let at = |x, y| drawn.get_pixel(x, y).0[0];
        assert!(at(99, 115) < 90 && at(100, 115) > 180, "dark up to the middle, light after it");
        assert!(at(195, 59) < 90 && at(195, 60) > 180);
        assert_eq!((at(98, 115), at(101, 115), at(110, 110)), (128, 128, 128), "and nothing beside it");
    }

    #[test]
    fn numbers_over_a_region_are_those_of_the_whole_picture() {
        // 300 to 500 thousandths of 4000 pixels, shown at half size.
        let part = place_lines(25, (1200, 800), 4000, 400);
        assert_eq!(numbers(&part), [325, 350, 375, 400, 425, 450, 475]);
        assert!(part.contains(&GridLine { thousandth: 400, at: 200 }));
        assert_eq!(grid_steps(&Region::new(300.0, 0.0, 500.0, 1000.0).unwrap()), (25, 100));
    }

    #[test]
    fn there_are_enough_lines_and_not_too_many() {
        for tenths in 50..=10_000 {
            let span = f64::from(tenths) / 10.0;
            let lines = span / f64::from(choose_step(span));
            assert!((4.99..12.6).contains(&lines), "{lines} lines over {span}");
        }
        assert_eq!(choose_step(0.3), 1);
    }

    #[test]
    fn a_number_never_covers_another() {
        for (width, height) in [(1568, 157), (157, 1568), (300, 300), (1280, 853)] {
            let frame = PixelRect { x: 0, y: 0, width, height };
            let (across, down) =
                (place_lines(100, (0, width), width, width), place_lines(100, (0, height), height, height));
            let plates = place_numbers(&across, &down, 18.0, frame, &EditContext::default());
            assert!(plates.len() > 6, "{width}×{height} has {}", plates.len());
            for (index, plate) in plates.iter().enumerate() {
                assert!(plates[..index].iter().all(|other| !other.bounds.intersects(&plate.bounds)));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_part_of_any_picture_can_be_viewed(
            (width, height) in prop_oneof![(1..40u32, 1..40u32), (1..400u32, 1..6u32), (1..6u32, 1..400u32)],
            (left, top) in (0.0..1000.0f64, 0.0..1000.0f64),
            (right, bottom) in (0.0..=1000.0f64, 0.0..=1000.0f64),
            longest in 1..300u32,
            gray in any::<bool>(),
        ) {
            let pixels = match gray {
                true => GrayImage::new(width, height).into(),
                false => RgbImage::new(width, height).into(),
            };
            let picture = Picture::new(pixels, Format::Png);
            let region = Region::new(left, top, right, bottom).ok();
            for grid in [true, false] {
                let seen = view(&picture, &View { longest, region, grid }, &EditContext::default()).unwrap();
                let seen = decode(&seen.bytes, &EditContext::default()).unwrap();
                prop_assert!(seen.width().max(seen.height()) <= longest);
                let part = region.unwrap_or(Region::FULL).to_pixels(width, height);
                let most = 2 * part.width.max(part.height);
                prop_assert!(seen.width().max(seen.height()) <= most);
            }
        }
    }
}
