//! Makes regions of a picture unreadable for good. The result depends on so little of the original that no method can
//! recover it; each style explains why below.

use image::DynamicImage;
use serde::{Deserialize, Serialize};

use super::filter::mean_color;
use crate::picture::{Sample, map_buffer};
use crate::pixels::{LUMA, each_pixel, luma_of, set_color};
use crate::{Color, EditContext, ImagingError, Picture, PixelRect, Region};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RedactionStyle {
    /// One colour: nothing of the original is left.
    #[default]
    Fill,
    /// A few large blocks.
    Pixelate,
    /// The same blocks, smoothly interpolated.
    Blur,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Redaction {
    pub regions: Vec<Region>,
    pub style: RedactionStyle,
    /// The colour of a fill.
    pub color: Color,
}

/// Margin around each region as a share of the shorter side: people and models draw boxes tightly, and soft edges of
/// letters would reveal them.
const MARGIN_SHARE: f64 = 0.01;
const MIN_MARGIN: u32 = 2;
/// Blocks along the shorter side of a square region. Text is long and low, and its blocks must not be smaller than
/// its letters: the longer the region, the fewer blocks across.
const MAX_BLOCKS_ACROSS: f64 = 6.0;
const MAX_BLOCKS_ALONG: u32 = 12;
/// The smallest block in pixels: small regions are likely to be letters.
const MIN_BLOCK_SIDE: u32 = 24;
/// Number of brightness levels. With all levels, an attacker could render guesses, average them and compare, letter
/// by letter. With so few, different texts give the same blocks.
const BRIGHTNESS_LEVELS: f32 = 7.0;
/// The same for the distance of a colour from gray.
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
    let covers: Vec<_> = redaction.regions.iter().map(|region| covered_rect(*region, frame)).collect();
    let Color { r, g, b } = redaction.color;
    let picture = match redaction.style {
        RedactionStyle::Fill if r != g || g != b => picture.into_color(),
        _ => picture,
    };
    picture.try_map(|pixels: DynamicImage| {
        map_buffer!(pixels, |buffer, N| {
            let mut buffer = buffer;
            for cover in covers {
                // Where regions overlap, the later one sees only the result of the earlier.
                let paint = RedactionPaint::new::<_, N>(&buffer, frame.0, cover, redaction);
                each_pixel::<_, N>(&mut buffer, frame.0, cover, context, |pixel, x, y| {
                    set_color(pixel, paint.at(x, y));
                    // The outline of transparent areas can reveal as much as colours.
                    make_opaque(pixel);
                })?;
            }
            Some(buffer)
        })
    })
}

/// The pixels that a redaction of this region covers.
fn covered_rect(region: Region, (width, height): (u32, u32)) -> PixelRect {
    let margin = (f64::from(width.min(height)) * MARGIN_SHARE).ceil() as u32;
    region.to_pixels(width, height).grown(margin.max(MIN_MARGIN), width, height)
}

fn make_opaque<S: Sample, const N: usize>(pixel: &mut [S; N]) {
    if N.is_multiple_of(2)
        && let Some(alpha) = pixel.last_mut()
    {
        *alpha = S::from_unit(1.0);
    }
}

/// Everything that the new pixels depend on: one colour, or at most three dozen of a few hundred colours.
enum RedactionPaint {
    Solid([f32; 3]),
    BlockGrid { blocks: BlockGrid, smooth: bool },
}

impl RedactionPaint {
    fn new<S: Sample, const N: usize>(
        samples: &[S],
        width: u32,
        cover: PixelRect,
        redaction: &Redaction,
    ) -> Self {
        let blocks = || BlockGrid::new::<S, N>(samples, width, cover);
        match redaction.style {
            RedactionStyle::Fill => {
                let Color { r, g, b } = redaction.color;
                Self::Solid([r, g, b].map(Sample::to_unit))
            }
            RedactionStyle::Pixelate => Self::BlockGrid { blocks: blocks(), smooth: false },
            // Deconvolution could partly undo a gaussian blur. This is none: it is drawn from the blocks alone, so
            // undoing it gives the blocks.
            RedactionStyle::Blur => Self::BlockGrid { blocks: blocks(), smooth: true },
        }
    }

    fn at(&self, x: u32, y: u32) -> [f32; 3] {
        match self {
            Self::Solid(color) => *color,
            Self::BlockGrid { blocks, smooth: false } => blocks.hard(x, y),
            Self::BlockGrid { blocks, smooth: true } => blocks.soft(x, y),
        }
    }
}

struct BlockGrid {
    cover: PixelRect,
    columns: u32,
    rows: u32,
    colors: Vec<[f32; 3]>,
}

impl BlockGrid {
    fn new<S: Sample, const N: usize>(samples: &[S], width: u32, cover: PixelRect) -> Self {
        let (columns, rows) = count_blocks(cover.width, cover.height);
        let mut colors = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                let (x, y) =
                    (block_start(column, columns, cover.width), block_start(row, rows, cover.height));
                let block = PixelRect {
                    x: cover.x + x,
                    y: cover.y + y,
                    width: block_start(column + 1, columns, cover.width) - x,
                    height: block_start(row + 1, rows, cover.height) - y,
                };
                // Fully transparent blocks show nothing, and no hidden colour may appear.
                let mean = mean_color::<S, N>(samples, width, block).unwrap_or([0.5; 3]);
                colors.push(round_color(mean));
            }
        }
        Self { cover, columns, rows, colors }
    }

    fn hard(&self, x: u32, y: u32) -> [f32; 3] {
        let index = |offset: u32, blocks: u32, side: u32| {
            (0..blocks).rev().find(|block| block_start(*block, blocks, side) <= offset).unwrap_or_default()
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

    /// Outside the grid: the nearest block.
    fn color(&self, column: i64, row: i64) -> [f32; 3] {
        let inside = |index: i64, blocks: u32| index.clamp(0, i64::from(blocks) - 1) as usize;
        let index = inside(row, self.rows) * self.columns as usize + inside(column, self.columns);
        self.colors.get(index).copied().unwrap_or_default()
    }
}

/// The nearest of the allowed colours. Gray stays gray, so that nothing takes on a tint.
fn round_color(mean: [f32; 3]) -> [f32; 3] {
    let brightness =
        (luma_of(mean) * BRIGHTNESS_LEVELS).floor().min(BRIGHTNESS_LEVELS - 1.0) / (BRIGHTNESS_LEVELS - 1.0);
    let away = |value: f32| ((value - luma_of(mean)) / COLOR_STEP).round() * COLOR_STEP;
    let (red, blue) = (brightness + away(mean[0]), brightness + away(mean[2]));
    let green = (brightness - LUMA[0] * red - LUMA[2] * blue) / LUMA[1];
    [red, green, blue].map(|value| value.clamp(0.0, 1.0))
}

/// The number of blocks across and down.
fn count_blocks(width: u32, height: u32) -> (u32, u32) {
    let (longer, shorter) = (width.max(height), width.min(height));
    let ratio = f64::from(longer) / f64::from(shorter);
    let roomy = |blocks: u32, side: u32| blocks.min(side / MIN_BLOCK_SIDE).max(1);
    let across = roomy((MAX_BLOCKS_ACROSS / ratio).floor() as u32, shorter);
    let along = roomy(((f64::from(across) * ratio).round() as u32).min(MAX_BLOCKS_ALONG), longer);
    if width >= height { (along, across) } else { (across, along) }
}

/// Where a block begins.
fn block_start(block: u32, blocks: u32, side: u32) -> u32 {
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
