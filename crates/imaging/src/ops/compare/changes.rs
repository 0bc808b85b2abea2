//! Which pixels of a picture changed, by how much, and in which regions.

use image::RgbImage;

use crate::{EditContext, ImagingError, PixelRect};

/// A pixel counts as changed if it differs by `MIN_SINGLE_DIFFERENCE` of 255, or together with its neighbours by `MIN_MEAN_DIFFERENCE`. Smaller
/// differences come from compression.
const MIN_SINGLE_DIFFERENCE: u8 = 40;
const MIN_MEAN_DIFFERENCE: u8 = 14;
const MAX_REGIONS: usize = 5;
/// Changes nearer than this share of the longer side (1/40) form one region.
const MERGE_DISTANCE_DIVISOR: u32 = 40;
/// The strongest change is shown at full heat, unless it is fainter than this.
const MIN_HEAT_SCALE: u8 = 48;

pub(super) struct Changes {
    width: u32,
    /// The difference of each pixel, smoothed where the mean is more telling.
    by: Vec<u8>,
    changed: usize,
    top: u8,
    pub regions: Vec<PixelRect>,
}

impl Changes {
    pub fn between(a: &RgbImage, b: &RgbImage, context: &EditContext) -> Result<Self, ImagingError> {
        let (width, height) = a.dimensions();
        let most = |(p, q): (&image::Rgb<u8>, &image::Rgb<u8>)| {
            let by = |channel: usize| p.0[channel].abs_diff(q.0[channel]);
            // Brightness weighs more than colour, for eyes and for JPEG.
            brightness(p.0).abs_diff(brightness(q.0)).max(by(0).max(by(1)).max(by(2)) / 2)
        };
        let alone: Vec<u8> = a.pixels().zip(b.pixels()).map(most).collect();
        context.check_stopped()?;
        let mut by = mean_of_neighbours(&alone, width as usize, context)?;
        let mut changed = 0;
        let mut counts = [0usize; 256];
        for (by, alone) in by.iter_mut().zip(&alone) {
            if *alone >= MIN_SINGLE_DIFFERENCE || *by >= MIN_MEAN_DIFFERENCE {
                *by = (*by).max(*alone).max(1);
                changed += 1;
                counts[usize::from(*by)] += 1;
            } else {
                *by = 0;
            }
        }
        // The 99th percentile sets the scale of the heat.
        let mut beyond = changed / 100;
        let top = counts.iter().rposition(|count| {
            let found = *count > beyond;
            beyond = beyond.saturating_sub(*count);
            found
        });
        let top = (top.unwrap_or(0) as u8).max(MIN_HEAT_SCALE);
        let regions = regions(&by, width, height);
        Ok(Self { width, by, changed, top, regions })
    }

    pub fn share(&self) -> f64 {
        self.changed as f64 / self.by.len().max(1) as f64
    }

    /// 0 where nothing changed, up to 1.
    pub fn heat(&self, x: u32, y: u32) -> f32 {
        let by = self.by.get(y as usize * self.width as usize + x as usize).copied().unwrap_or(0);
        (f32::from(by) / f32::from(self.top)).min(1.0).powf(0.7)
    }
}

fn brightness([r, g, b]: [u8; 3]) -> u8 {
    ((77 * u32::from(r) + 150 * u32::from(g) + 29 * u32::from(b)) >> 8) as u8
}

/// The mean of each pixel and its eight neighbours.
fn mean_of_neighbours(by: &[u8], width: usize, context: &EditContext) -> Result<Vec<u8>, ImagingError> {
    let height = by.len() / width.max(1);
    let mut smooth = vec![0; by.len()];
    for y in 0..height {
        context.check_stopped()?;
        let rows = y.saturating_sub(1)..(y + 2).min(height);
        for x in 0..width {
            let columns = x.saturating_sub(1)..(x + 2).min(width);
            let mut sum = 0u32;
            for row in rows.clone() {
                let start = row * width;
                sum += by[start + columns.start..start + columns.end]
                    .iter()
                    .map(|by| u32::from(*by))
                    .sum::<u32>();
            }
            smooth[y * width + x] = (sum / (rows.len() * columns.len()) as u32) as u8;
        }
    }
    Ok(smooth)
}

/// A square of pixels and the changes in it.
#[derive(Clone, Copy)]
struct Tile {
    changed: u32,
    left: u32,
    top: u32,
    right: u32,
    bottom: u32,
}

impl Tile {
    const EMPTY: Self = Self { changed: 0, left: u32::MAX, top: u32::MAX, right: 0, bottom: 0 };

    fn and(self, other: Self) -> Self {
        Self {
            changed: self.changed + other.changed,
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
        }
    }
}

/// Groups nearby changes into regions, the largest first; specks beside them are left out.
fn regions(by: &[u8], width: u32, height: u32) -> Vec<PixelRect> {
    let tile = (width.max(height) / MERGE_DISTANCE_DIVISOR).max(4);
    let (across, down) = (width.div_ceil(tile) as usize, height.div_ceil(tile) as usize);
    let mut tiles = vec![Tile::EMPTY; across * down];
    for (y, row) in (0..).zip(by.chunks(width.max(1) as usize)) {
        for (x, by) in (0..).zip(row) {
            if *by > 0 {
                let slot = &mut tiles[(y / tile) as usize * across + (x / tile) as usize];
                *slot = slot.and(Tile { changed: 1, left: x, top: y, right: x + 1, bottom: y + 1 });
            }
        }
    }
    let mut found = Vec::new();
    for start in 0..tiles.len() {
        let mut region = Tile::EMPTY;
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            let here = std::mem::replace(&mut tiles[at], Tile::EMPTY);
            if here.changed == 0 {
                continue;
            }
            region = region.and(here);
            let (x, y) = (at % across, at / across);
            for row in y.saturating_sub(1)..(y + 2).min(down) {
                open.extend((x.saturating_sub(1)..(x + 2).min(across)).map(|column| row * across + column));
            }
        }
        if region.changed > 0 {
            found.push(region);
        }
    }
    found.sort_by_key(|region| std::cmp::Reverse(region.changed));
    let worth = found.first().map_or(0, |largest| largest.changed / 50);
    let kept = found.into_iter().take(MAX_REGIONS).filter(|region| region.changed > worth);
    kept.map(|region| PixelRect {
        x: region.left,
        y: region.top,
        width: region.right - region.left,
        height: region.bottom - region.top,
    })
    .collect()
}
