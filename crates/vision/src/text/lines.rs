//! Reads one line of text: straightened, 48 pixels high, decoded by CTC.

use std::sync::LazyLock;

use image::{Rgb, RgbImage};
use imageproc::geometric_transformations::{Border, Interpolation, Projection, warp_into};
use imaging::StopFlag;
use rten_tensor::NdTensor;

use super::regions::TextBox;
use crate::VisionError;
use crate::models::Models;
use crate::pixels::{Scaling, planes, resized, tile};
use crate::weights::ModelFile;

const HEIGHT: u32 = 48;
/// Longer lines are squeezed.
const MAX_WIDTH: u32 = 2400;
const WIDTH_STEP: u32 = 16;
/// A box this much higher than wide is text that runs downwards.
const VERTICAL: f32 = 1.5;

/// The characters of the model's classes; class 0 is the blank and the last one is the space.
static CHARACTERS: LazyLock<Vec<char>> = LazyLock::new(|| {
    let listed = include_str!("../../../../assets/models/ppocrv6_tiny_dict.txt");
    listed.lines().filter_map(|line| line.chars().next()).chain([' ']).collect()
});

pub(super) struct ReadLine {
    pub text: String,
    pub score: f32,
    /// Where each character begins, as a share of the line.
    pub starts: Vec<f32>,
    /// The corners in the order of reading.
    pub corners: [(f32, f32); 4],
}

impl Models {
    pub(super) fn read_line(
        &self,
        pixels: &RgbImage,
        found: &TextBox,
        stop: &StopFlag,
    ) -> Result<Option<ReadLine>, VisionError> {
        let distance = |one: (f32, f32), other: (f32, f32)| (one.0 - other.0).hypot(one.1 - other.1);
        let [a, b, c, d] = found.corners;
        let (wide, tall) = (distance(a, b), distance(b, c));
        let along_first = wide * VERTICAL >= tall;
        let corners = if along_first { [a, b, c, d] } else { [d, a, b, c] };
        let (wide, tall) = if along_first { (wide, tall) } else { (tall, wide) };
        let width = (wide / tall.max(1.0) * HEIGHT as f32) as u32;
        let width = width.div_ceil(WIDTH_STEP).max(1).saturating_mul(WIDTH_STEP).min(MAX_WIDTH);
        let Some(line) = straightened(pixels, corners, width)? else { return Ok(None) };
        let input: NdTensor<f32, 4> = planes(&line, Scaling::SIGNED);
        let (shape, values) = self.run_one(ModelFile::TextLines, &input, stop)?;
        let classes = shape.last().copied().unwrap_or_default();
        if classes != CHARACTERS.len() + 1 {
            return Err(VisionError::failed("the characters do not fit the model of text"));
        }
        Ok(Some(decode(&values, classes, corners)))
    }
}

/// Greedy CTC: the best class of each step, repetitions and blanks left out.
fn decode(values: &[f32], classes: usize, corners: [(f32, f32); 4]) -> ReadLine {
    let steps = (values.len() / classes).max(1);
    let (mut text, mut starts, mut scores) = (String::new(), Vec::new(), Vec::new());
    let mut previous = 0;
    for (step, scores_of_step) in values.chunks_exact(classes).enumerate() {
        let best = scores_of_step.iter().copied().enumerate().max_by(|one, other| one.1.total_cmp(&other.1));
        let Some((class, score)) = best else { continue };
        if class != 0 && class != previous {
            text.extend(class.checked_sub(1).and_then(|index| CHARACTERS.get(index)));
            starts.push(step as f32 / steps as f32);
            scores.push(score);
        }
        previous = class;
    }
    let score = scores.iter().sum::<f32>() / scores.len().max(1) as f32;
    ReadLine { text, score, starts, corners }
}

/// The line as an upright picture of this width. `None` if its corners make no rectangle.
fn straightened(
    pixels: &RgbImage,
    corners: [(f32, f32); 4],
    width: u32,
) -> Result<Option<RgbImage>, VisionError> {
    let least =
        |of: fn(&(f32, f32)) -> f32| corners.iter().map(of).fold(f32::INFINITY, f32::min).max(0.0) as u32;
    let most = |of: fn(&(f32, f32)) -> f32| corners.iter().map(of).fold(0.0, f32::max).ceil() as u32;
    let (left, top) = (least(|corner| corner.0), least(|corner| corner.1));
    let right = most(|corner| corner.0).min(pixels.width());
    let bottom = most(|corner| corner.1).min(pixels.height());
    if right <= left || bottom <= top {
        return Ok(None);
    }
    let part = tile(pixels, left, top, right - left, bottom - top);
    // Letters far larger than the line would lose strokes in the projection: reduce first.
    let tall = (corners[0].0 - corners[3].0).hypot(corners[0].1 - corners[3].1).max(1.0);
    let reduce = (HEIGHT as f32 * 1.5 / tall).min(1.0);
    let side = |length: u32| ((length as f32 * reduce) as u32).max(1);
    let small = resized(&part, side(part.width()), side(part.height()))?;
    let across = small.width() as f32 / part.width() as f32;
    let down = small.height() as f32 / part.height() as f32;
    let from = corners.map(|(x, y)| ((x - left as f32) * across, (y - top as f32) * down));
    let (right, bottom) = (width as f32, HEIGHT as f32);
    let to = [(0.0, 0.0), (right, 0.0), (right, bottom), (0.0, bottom)];
    let Some(projection) = Projection::from_control_points(from, to) else { return Ok(None) };
    let mut line = RgbImage::new(width, HEIGHT);
    warp_into(&small, projection, Interpolation::Bilinear, Border::Replicate, &mut line);
    line.pixels_mut().for_each(|pixel: &mut Rgb<u8>| pixel.0.reverse());
    Ok(Some(line))
}
