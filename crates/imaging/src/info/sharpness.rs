//! Sharpness of the sharpest parts of a picture: a portrait before a blurred background is sharp.

use image::RgbaImage;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharpness {
    Sharp,
    SlightlySoft,
    Blurred,
}

/// Thresholds for how little a tile changes when it is blurred: the more it changes, the sharper it was. After Crete
/// et al., "The blur effect" (2007), which compares a picture with itself and needs no reference.
const SHARP_BELOW: f32 = 0.42;
const SOFT_BELOW: f32 = 0.56;
const TILES_PER_SIDE: usize = 10;
const MIN_TILE_SIDE: usize = 24;
/// Tiles whose mean step between neighbours is below this are too plain to judge.
const MIN_DETAIL: f32 = 1.5;
/// Radius of the comparison blur.
const BLUR_RADIUS: usize = 4;

pub(super) struct Luma {
    width: usize,
    height: usize,
    samples: Vec<f32>,
}

impl Luma {
    pub(super) fn of(pixels: &RgbaImage) -> Self {
        let brightness = |p: &image::Rgba<u8>| {
            let [r, g, b, a] = p.0.map(f32::from);
            // Transparent pixels count as gray, so that their edges do not look sharp.
            (0.2126 * r + 0.7152 * g + 0.0722 * b) * (a / 255.0) + 128.0 * (1.0 - a / 255.0)
        };
        Self {
            width: pixels.width() as usize,
            height: pixels.height() as usize,
            samples: pixels.pixels().map(brightness).collect(),
        }
    }

    fn transposed(&self) -> Self {
        let samples = (0..self.width).flat_map(|x| (0..self.height).map(move |y| (x, y)));
        let samples = samples.map(|(x, y)| self.samples[y * self.width + x]).collect();
        Self { width: self.height, height: self.width, samples }
    }
}

/// `None` for a picture without detail.
pub(super) fn measure(luma: &Luma) -> Option<Sharpness> {
    let blur = blur_of_sharpest_tiles(luma)?;
    Some(if blur < SHARP_BELOW {
        Sharpness::Sharp
    } else if blur < SOFT_BELOW {
        Sharpness::SlightlySoft
    } else {
        Sharpness::Blurred
    })
}

/// 0 for the sharpest edges possible, 1 for no edge at all.
fn blur_of_sharpest_tiles(luma: &Luma) -> Option<f32> {
    let across = Losses::of(luma);
    let down = Losses::of(&luma.transposed());
    let count = |side: usize| (side / MIN_TILE_SIDE).clamp(1, TILES_PER_SIDE);
    let (columns, rows) = (count(luma.width), count(luma.height));
    let mut tiles = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let xs = (column * luma.width / columns, (column + 1) * luma.width / columns);
            let ys = (row * luma.height / rows, (row + 1) * luma.height / rows);
            let blurs = [across.within(xs, ys), down.within(ys, xs)];
            // The worse direction counts: camera shake blurs one direction only.
            tiles.extend(blurs.into_iter().flatten().max_by(f32::total_cmp));
        }
    }
    tiles.sort_by(f32::total_cmp);
    tiles.get(tiles.len() / 8).copied()
}

/// For each pixel, the step to its right neighbour, and the rest of that step after a blur.
struct Losses {
    width: usize,
    steps: Vec<f32>,
    lost: Vec<f32>,
}

impl Losses {
    fn of(luma: &Luma) -> Self {
        let mut steps = Vec::with_capacity(luma.samples.len());
        let mut lost = Vec::with_capacity(luma.samples.len());
        for row in luma.samples.chunks_exact(luma.width.max(1)) {
            let last = row.len() - 1;
            let blurred = |x: usize| {
                let (from, to) = (x.saturating_sub(BLUR_RADIUS), (x + BLUR_RADIUS).min(last));
                row[from..=to].iter().sum::<f32>() / (to - from + 1) as f32
            };
            let mut here = blurred(0);
            for x in 0..row.len() {
                let next = blurred((x + 1).min(last));
                let step = (row[(x + 1).min(last)] - row[x]).abs();
                steps.push(step);
                lost.push((step - (next - here).abs()).max(0.0));
                here = next;
            }
        }
        Self { width: luma.width, steps, lost }
    }

    fn within(&self, xs: (usize, usize), ys: (usize, usize)) -> Option<f32> {
        let sum = |values: &[f32]| -> f32 {
            (ys.0..ys.1)
                .map(|y| values[y * self.width + xs.0..y * self.width + xs.1].iter().sum::<f32>())
                .sum()
        };
        let steps = sum(&self.steps);
        let pixels = ((xs.1 - xs.0) * (ys.1 - ys.0)) as f32;
        (steps > MIN_DETAIL * pixels).then(|| (steps - sum(&self.lost)) / steps)
    }
}
