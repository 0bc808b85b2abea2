//! Makes parts of a picture unreadable for good. What is left is a function of so little of the original that no
//! method, however clever, gets it back; why each style keeps that promise is said where it is made.

use image::DynamicImage;
use serde::{Deserialize, Serialize};

use super::filter::mean_color;
use crate::picture::{Sample, map_buffer};
use crate::pixels::{LUMA, each_pixel, luma_of, set_color};
use crate::{Color, EditContext, ImagingError, Picture, PixelRect, Region};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RedactionStyle {
    /// One colour: nothing at all is left.
    #[default]
    Fill,
    /// A few large blocks.
    Pixelate,
    /// The same few blocks, flowing into each other.
    Blur,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Redaction {
    pub regions: Vec<Region>,
    pub style: RedactionStyle,
    /// Of a fill.
    pub color: Color,
}

/// How far beyond its region a redaction reaches, as a part of the shorter side: people and models draw boxes
/// tightly, and soft edges of letters betray them.
const MARGIN: f64 = 0.01;
const LEAST_MARGIN: u32 = 2;
/// Blocks along the shorter side of a square part. A line of text is long and low: there, blocks must not be
/// smaller than its letters, so the longer the part is, the fewer blocks it has across.
const BLOCKS_ACROSS: f64 = 6.0;
const MOST_BLOCKS_ALONG: u32 = 12;
/// Of a block, in pixels: what is small is likely to be letters, and must not be told apart by its blocks.
const LEAST_BLOCK: u32 = 24;
/// Degrees of brightness that are told apart. With all of them, guesses could be rendered, averaged and compared,
/// letter by letter; with so few, different texts give the same blocks.
const SHADES: f32 = 7.0;
/// The same for how far a colour is from gray.
const COLOR_STEP: f32 = 0.14;

pub fn redact(
    picture: Picture,
    redaction: &Redaction,
    context: &EditContext,
) -> Result<Picture, ImagingError> {
    if redaction.regions.is_empty() {
        return Err(ImagingError::BadArgument("Name at least one region to redact.".to_owned()));
    }
    let frame = (picture.width(), picture.height());
    let covers: Vec<_> = redaction.regions.iter().map(|region| covered(*region, frame)).collect();
    let Color { r, g, b } = redaction.color;
    let picture = match redaction.style {
        RedactionStyle::Fill if r != g || g != b => picture.into_color(),
        _ => picture,
    };
    picture.try_map(|pixels: DynamicImage| {
        map_buffer!(pixels, |buffer, N| {
            let mut buffer = buffer;
            for cover in covers {
                // Where parts overlap, the later one sees only what the earlier left.
                let paint = Paint::new::<_, N>(&buffer, frame.0, cover, redaction);
                each_pixel::<_, N>(&mut buffer, frame.0, cover, context, |pixel, x, y| {
                    set_color(pixel, paint.at(x, y));
                    // The outline of what was transparent can be as telling as colours are.
                    make_opaque(pixel);
                })?;
            }
            Some(buffer)
        })
    })
}

/// The pixels a redaction of this region covers.
fn covered(region: Region, (width, height): (u32, u32)) -> PixelRect {
    let margin = (f64::from(width.min(height)) * MARGIN).ceil() as u32;
    region.to_pixels(width, height).grown(margin.max(LEAST_MARGIN), width, height)
}

fn make_opaque<S: Sample, const N: usize>(pixel: &mut [S; N]) {
    if N.is_multiple_of(2)
        && let Some(alpha) = pixel.last_mut()
    {
        *alpha = S::from_unit(1.0);
    }
}

/// All that goes into the new pixels: one colour, or at most three dozen out of a few hundred.
enum Paint {
    Solid([f32; 3]),
    Blocks { blocks: Blocks, smooth: bool },
}

impl Paint {
    fn new<S: Sample, const N: usize>(
        samples: &[S],
        width: u32,
        cover: PixelRect,
        redaction: &Redaction,
    ) -> Self {
        let blocks = || Blocks::new::<S, N>(samples, width, cover);
        match redaction.style {
            RedactionStyle::Fill => {
                let Color { r, g, b } = redaction.color;
                Self::Solid([r, g, b].map(Sample::to_unit))
            }
            RedactionStyle::Pixelate => Self::Blocks { blocks: blocks(), smooth: false },
            // A gaussian can be undone in part by deconvolution. This is none: it is drawn from the blocks
            // alone, so undoing it gives the blocks.
            RedactionStyle::Blur => Self::Blocks { blocks: blocks(), smooth: true },
        }
    }

    fn at(&self, x: u32, y: u32) -> [f32; 3] {
        match self {
            Self::Solid(color) => *color,
            Self::Blocks { blocks, smooth: false } => blocks.hard(x, y),
            Self::Blocks { blocks, smooth: true } => blocks.soft(x, y),
        }
    }
}

struct Blocks {
    cover: PixelRect,
    columns: u32,
    rows: u32,
    colors: Vec<[f32; 3]>,
}

impl Blocks {
    fn new<S: Sample, const N: usize>(samples: &[S], width: u32, cover: PixelRect) -> Self {
        let (columns, rows) = grid(cover.width, cover.height);
        let mut colors = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                let (x, y) = (edge(column, columns, cover.width), edge(row, rows, cover.height));
                let block = PixelRect {
                    x: cover.x + x,
                    y: cover.y + y,
                    width: edge(column + 1, columns, cover.width) - x,
                    height: edge(row + 1, rows, cover.height) - y,
                };
                // Where all is transparent there is nothing to be seen, and nothing may show up.
                let mean = mean_color::<S, N>(samples, width, block).unwrap_or([0.5; 3]);
                colors.push(rounded(mean));
            }
        }
        Self { cover, columns, rows, colors }
    }

    fn hard(&self, x: u32, y: u32) -> [f32; 3] {
        let index = |offset: u32, blocks: u32, side: u32| {
            (0..blocks).rev().find(|block| edge(*block, blocks, side) <= offset).unwrap_or_default()
        };
        self.color(
            i64::from(index(x - self.cover.x, self.columns, self.cover.width)),
            i64::from(index(y - self.cover.y, self.rows, self.cover.height)),
        )
    }

    /// A cubic B-spline over the blocks: as smooth as a wide blur.
    fn soft(&self, x: u32, y: u32) -> [f32; 3] {
        let place = |offset: u32, blocks: u32, side: u32| {
            let place = (offset as f32 + 0.5) * blocks as f32 / side as f32 - 0.5;
            (place.floor() as i64, spline(place - place.floor()))
        };
        let (column, across) = place(x - self.cover.x, self.columns, self.cover.width);
        let (row, down) = place(y - self.cover.y, self.rows, self.cover.height);
        let mut sum = [0.0; 3];
        for (dy, weight_y) in (-1..).zip(down) {
            for (dx, weight_x) in (-1..).zip(across) {
                for (sum, value) in sum.iter_mut().zip(self.color(column + dx, row + dy)) {
                    *sum += value * weight_x * weight_y;
                }
            }
        }
        sum
    }

    /// Outside the grid, the nearest block.
    fn color(&self, column: i64, row: i64) -> [f32; 3] {
        let inside = |index: i64, blocks: u32| index.clamp(0, i64::from(blocks) - 1) as usize;
        let index = inside(row, self.rows) * self.columns as usize + inside(column, self.columns);
        self.colors.get(index).copied().unwrap_or_default()
    }
}

/// The nearest of the few colours there are. Gray stays gray, so that nothing takes on a tint of its own.
fn rounded(mean: [f32; 3]) -> [f32; 3] {
    let brightness = (luma_of(mean) * SHADES).floor().min(SHADES - 1.0) / (SHADES - 1.0);
    let away = |value: f32| ((value - luma_of(mean)) / COLOR_STEP).round() * COLOR_STEP;
    let (red, blue) = (brightness + away(mean[0]), brightness + away(mean[2]));
    let green = (brightness - LUMA[0] * red - LUMA[2] * blue) / LUMA[1];
    [red, green, blue].map(|value| value.clamp(0.0, 1.0))
}

/// How many blocks lie side by side and one above the other.
fn grid(width: u32, height: u32) -> (u32, u32) {
    let (longer, shorter) = (width.max(height), width.min(height));
    let ratio = f64::from(longer) / f64::from(shorter);
    let roomy = |blocks: u32, side: u32| blocks.min(side / LEAST_BLOCK).max(1);
    let across = roomy((BLOCKS_ACROSS / ratio).floor() as u32, shorter);
    let along = roomy(((f64::from(across) * ratio).round() as u32).min(MOST_BLOCKS_ALONG), longer);
    if width >= height { (along, across) } else { (across, along) }
}

/// Where a block of a side begins.
fn edge(block: u32, blocks: u32, side: u32) -> u32 {
    (u64::from(block) * u64::from(side) / u64::from(blocks)) as u32
}

fn spline(t: f32) -> [f32; 4] {
    let s = 1.0 - t;
    [
        s * s * s / 6.0,
        (3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0,
        (3.0 * s * s * s - 6.0 * s * s + 4.0) / 6.0,
        t * t * t / 6.0,
    ]
}
