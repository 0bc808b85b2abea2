//! Lines of text as boxes, which may be rotated: a map of probabilities, its connected parts, and the smallest rectangle
//! around each, grown to what the model shrank in training.

use image::{GrayImage, Luma, RgbImage};
use imageproc::geometry::min_area_rect;
use imageproc::point::Point;
use imageproc::region_labelling::{Connectivity, connected_components};
use imaging::StopFlag;

use crate::VisionError;
use crate::boxes::Scored;
use crate::models::Models;
use crate::pixels::{Scaling, planes, resized};
use crate::weights::ModelFile;

/// The longest side of the picture as the model sees it. Small pictures are enlarged: letters need ten pixels.
const MAX_SIDE: u32 = 1280;
const MIN_SIDE: u32 = 736;
const MAX_ENLARGEMENT: f32 = 2.0;
const SIDE_STEP: u32 = 32;
/// A pixel of text.
const MIN_PROBABILITY: f32 = 0.25;
/// A line of text, on average over its pixels.
const MIN_BOX_SCORE: f32 = 0.5;
/// How much a box grows, as a factor of its area over its perimeter.
const GROWTH: f32 = 1.6;
/// Lower boxes are dust, in pixels of the model.
const MIN_HEIGHT: f32 = 3.0;
const MAX_BOXES: usize = 300;

/// A rectangle around a line: top left, top right, bottom right and bottom left, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TextBox {
    pub corners: [(f32, f32); 4],
    pub score: f32,
}

impl TextBox {
    pub fn bounds(&self) -> Scored {
        let least = |of: fn(&(f32, f32)) -> f32| self.corners.iter().map(of).fold(f32::INFINITY, f32::min);
        let most = |of: fn(&(f32, f32)) -> f32| self.corners.iter().map(of).fold(f32::NEG_INFINITY, f32::max);
        Scored {
            left: least(|corner| corner.0),
            top: least(|corner| corner.1),
            right: most(|corner| corner.0),
            bottom: most(|corner| corner.1),
            score: self.score,
        }
    }
}

impl Models {
    pub(super) fn text_boxes(&self, pixels: &RgbImage, stop: &StopFlag) -> Result<Vec<TextBox>, VisionError> {
        let longest = pixels.width().max(pixels.height()).max(1) as f32;
        let factor =
            (MAX_SIDE as f32 / longest).min(1.0).max((MIN_SIDE as f32 / longest).min(MAX_ENLARGEMENT));
        let side =
            |length: u32| ((length as f32 * factor / SIDE_STEP as f32).round() as u32).max(1) * SIDE_STEP;
        let (width, height) = (side(pixels.width()), side(pixels.height()));
        let input = planes(&resized(pixels, width, height)?, Scaling::IMAGE_NET);
        let (_, map) = self.run_one(ModelFile::TextRegions, &input, stop)?;
        if map.len() != (width * height) as usize {
            return Err(VisionError::failed("a map of text of another size"));
        }
        let across = pixels.width() as f32 / width as f32;
        let down = pixels.height() as f32 / height as f32;
        let scaled =
            |found: TextBox| TextBox { corners: found.corners.map(|(x, y)| (x * across, y * down)), ..found };
        Ok(boxes_of(&map, width, height).into_iter().map(scaled).collect())
    }
}

/// The boxes of a map of probabilities.
fn boxes_of(map: &[f32], width: u32, height: u32) -> Vec<TextBox> {
    let text = GrayImage::from_fn(width, height, |x, y| {
        Luma([if map[(y * width + x) as usize] >= MIN_PROBABILITY { 255 } else { 0 }])
    });
    let parts = connected_components(&text, Connectivity::Eight, Luma([0_u8]));
    let mut sums: Vec<(f32, u32, Vec<Point<i32>>)> = Vec::new();
    for (x, y, part) in parts.enumerate_pixels() {
        let Some(index) = (part.0[0] as usize).checked_sub(1) else { continue };
        if sums.len() <= index {
            sums.resize_with(index + 1, Default::default);
        }
        let (sum, count, outline) = &mut sums[index];
        *sum += map[(y * width + x) as usize];
        *count += 1;
        // Only the ends of each row can be on the hull.
        let inner = |x: Option<u32>| {
            x.filter(|x| *x < width).is_some_and(|x| parts.get_pixel(x, y).0[0] == part.0[0])
        };
        if !inner(x.checked_sub(1)) || !inner(Some(x + 1)) {
            outline.push(Point::new(x as i32, y as i32));
        }
    }
    let mut found: Vec<TextBox> = sums
        .into_iter()
        .filter_map(|(sum, count, outline)| {
            let score = sum / count.max(1) as f32;
            (score >= MIN_BOX_SCORE && outline.len() > 2).then(|| text_box(&outline, score)).flatten()
        })
        .collect();
    found.sort_by(|one, other| other.bounds().area().total_cmp(&one.bounds().area()));
    found.truncate(MAX_BOXES);
    found
}

/// The smallest rectangle around a part, grown, with its corners in order.
fn text_box(outline: &[Point<i32>], score: f32) -> Option<TextBox> {
    let corners = min_area_rect(outline).map(|point| (point.x as f32 + 0.5, point.y as f32 + 0.5));
    let distance = |one: (f32, f32), other: (f32, f32)| (one.0 - other.0).hypot(one.1 - other.1);
    let (wide, tall) = (distance(corners[0], corners[1]) + 1.0, distance(corners[1], corners[2]) + 1.0);
    if wide.min(tall) < MIN_HEIGHT {
        return None;
    }
    let growth = wide * tall * GROWTH / (2.0 * (wide + tall));
    let center =
        corners.iter().fold((0.0, 0.0), |sum, corner| (sum.0 + corner.0 / 4.0, sum.1 + corner.1 / 4.0));
    // The directions along the longer and the shorter side; a line runs along the longer one, to the right.
    let unit = |one: (f32, f32), other: (f32, f32)| {
        let length = distance(one, other);
        if length < 1e-3 { (1.0, 0.0) } else { ((other.0 - one.0) / length, (other.1 - one.1) / length) }
    };
    let (mut along, long, short) = if wide >= tall {
        (unit(corners[0], corners[1]), wide, tall)
    } else {
        (unit(corners[1], corners[2]), tall, wide)
    };
    // Words as high as wide, such as "to", are upright unless they clearly are not.
    let (mut long, mut short) = (long, short);
    if long < short * 1.5 && along.1.abs() > along.0.abs() {
        (along, long, short) = ((along.1, -along.0), short, long);
    }
    if along.0 < 0.0 || (along.0 == 0.0 && along.1 < 0.0) {
        along = (-along.0, -along.1);
    }
    let across = (-along.1, along.0);
    let (half_long, half_short) = (long / 2.0 + growth, short / 2.0 + growth);
    let corner = |right: f32, down: f32| {
        (
            center.0 + along.0 * half_long * right + across.0 * half_short * down,
            center.1 + along.1 * half_long * right + across.1 * half_short * down,
        )
    };
    Some(TextBox {
        corners: [corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)],
        score,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_of_text_gives_one_box_around_it() {
        let (width, height) = (128_u32, 64_u32);
        let mut map = vec![0.0; (width * height) as usize];
        for y in 20..30 {
            for x in 10..90 {
                map[y * width as usize + x] = 0.9;
            }
        }
        let found = boxes_of(&map, width, height);
        assert_eq!(found.len(), 1);
        let bounds = found[0].bounds();
        assert!(
            bounds.left < 8.0 && bounds.right > 92.0 && bounds.top < 17.0 && bounds.bottom > 33.0,
            "{bounds:?}"
        );
        assert!(found[0].corners[0].0 < found[0].corners[1].0, "the line runs to the right");
    }
}
