//! Few colours for many: the best palette for a picture, and its pixels drawn with that palette.

use std::collections::HashMap;

use image::RgbaImage;

use super::{EditContext, ImagingError};

/// As many as a byte can tell apart.
const MOST: usize = 256;
/// Below half, a pixel of a format without half-transparency is not there.
const VISIBLE: u8 = 128;
const BITS: u32 = 5;
/// The table of nearest colours is finer than the one they were chosen by: errors of a whole bin would show.
const NEAREST_BITS: u32 = 6;

pub(super) struct Indexed {
    /// Red, green and blue of each colour in turn.
    pub palette: Vec<u8>,
    pub indices: Vec<u8>,
    pub transparent: Option<u8>,
}

/// A colour and how many pixels it stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Swatch {
    pub color: [u8; 3],
    pub pixels: u64,
}

/// Exact where the colours suffice; otherwise with the error of each pixel handed on to its neighbours, so that
/// gradients stay smooth from afar.
pub(super) fn index(pixels: &RgbaImage, context: &EditContext) -> Result<Indexed, ImagingError> {
    let hidden = pixels.pixels().any(|p| p.0[3] < VISIBLE);
    let most = if hidden { MOST - 1 } else { MOST };
    let mut indexed = match exact(pixels, most) {
        Some(indexed) => indexed,
        None => {
            let visible = pixels.pixels().filter(|p| p.0[3] >= VISIBLE).map(|p| [p.0[0], p.0[1], p.0[2]]);
            let colors: Vec<_> = choose(visible, most).into_iter().map(|swatch| swatch.color).collect();
            context.check_stopped()?;
            Indexed {
                indices: dither(pixels, &colors, context)?,
                palette: colors.concat(),
                transparent: None,
            }
        }
    };
    if hidden {
        let nothing = (indexed.palette.len() / 3) as u8;
        indexed.palette.extend([0; 3]);
        indexed.transparent = Some(nothing);
        for (index, pixel) in indexed.indices.iter_mut().zip(pixels.pixels()) {
            if pixel.0[3] < VISIBLE {
                *index = nothing;
            }
        }
    }
    Ok(indexed)
}

fn exact(pixels: &RgbaImage, most: usize) -> Option<Indexed> {
    let mut known: HashMap<[u8; 3], u8> = HashMap::new();
    let mut palette = Vec::new();
    let mut indices = Vec::with_capacity(pixels.len() / 4);
    for pixel in pixels.pixels() {
        let [color @ .., alpha] = pixel.0;
        let index = match known.get(&color) {
            Some(index) => *index,
            None if alpha < VISIBLE => 0,
            None if known.len() == most => return None,
            None => {
                let index = known.len() as u8;
                known.insert(color, index);
                palette.extend(color);
                index
            }
        };
        indices.push(index);
    }
    Some(Indexed { palette, indices, transparent: None })
}

/// At most so many colours, the commonest first: the picture's colours are cut in two where they differ most, again
/// and again.
pub(super) fn choose(colors: impl Iterator<Item = [u8; 3]>, most: usize) -> Vec<Swatch> {
    let mut bins = vec![([0u64; 3], 0u64); 1 << (3 * BITS)];
    for color in colors {
        let (sums, count) = &mut bins[bin(color, BITS)];
        *count += 1;
        for (sum, channel) in sums.iter_mut().zip(color) {
            *sum += u64::from(channel);
        }
    }
    let swatches: Vec<_> = bins
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(sums, count)| Swatch {
            color: sums.map(|sum| ((sum + count / 2) / count) as u8),
            pixels: count,
        })
        .collect();
    if swatches.is_empty() {
        return Vec::new();
    }
    let mut boxes = vec![Cut::of(swatches)];
    while boxes.len() < most {
        let worst = boxes.iter().enumerate().max_by(|(_, a), (_, b)| a.error.total_cmp(&b.error));
        let Some((at, _)) = worst.filter(|(_, cut)| cut.swatches.len() > 1 && cut.error > 0.0) else { break };
        let (low, high) = boxes.swap_remove(at).halves();
        boxes.extend([low, high]);
    }
    let mut chosen: Vec<_> = boxes.iter().map(Cut::mean).collect();
    chosen.sort_by_key(|swatch| (std::cmp::Reverse(swatch.pixels), swatch.color));
    chosen
}

fn bin(color: [u8; 3], bits: u32) -> usize {
    color.iter().fold(0, |bin, channel| bin << bits | usize::from(*channel >> (8 - bits)))
}

struct Cut {
    swatches: Vec<Swatch>,
    axis: usize,
    middle: f64,
    /// How wrong it would be to show all of them as one.
    error: f64,
}

impl Cut {
    fn of(swatches: Vec<Swatch>) -> Self {
        let total: f64 = swatches.iter().map(|s| s.pixels as f64).sum();
        let mut cut = Self { swatches, axis: 0, middle: 0.0, error: 0.0 };
        let mut widest = -1.0;
        for axis in 0..3 {
            let values = || cut.swatches.iter().map(|s| (f64::from(s.color[axis]), s.pixels as f64));
            let mean = values().map(|(value, pixels)| value * pixels).sum::<f64>() / total;
            let spread: f64 = values().map(|(value, pixels)| (value - mean).powi(2) * pixels).sum();
            cut.error += spread;
            if spread > widest {
                (widest, cut.axis, cut.middle) = (spread, axis, mean);
            }
        }
        cut
    }

    fn halves(self) -> (Self, Self) {
        let below = |swatch: &Swatch| f64::from(swatch.color[self.axis]) <= self.middle;
        let (low, high): (Vec<_>, Vec<_>) = self.swatches.into_iter().partition(below);
        (Self::of(low), Self::of(high))
    }

    fn mean(&self) -> Swatch {
        let pixels = self.swatches.iter().map(|s| s.pixels).sum::<u64>().max(1);
        let mean = |axis: usize| {
            let sum: u64 = self.swatches.iter().map(|s| u64::from(s.color[axis]) * s.pixels).sum();
            ((sum + pixels / 2) / pixels) as u8
        };
        Swatch { color: [mean(0), mean(1), mean(2)], pixels }
    }
}

/// Floyd and Steinberg's way, every other row backwards so that no direction shows.
fn dither(pixels: &RgbaImage, palette: &[[u8; 3]], context: &EditContext) -> Result<Vec<u8>, ImagingError> {
    let width = pixels.width() as usize;
    let mut nearest: Vec<Option<u8>> = vec![None; 1 << (3 * NEAREST_BITS)];
    let mut indices = vec![0; width * pixels.height() as usize];
    let mut errors = vec![[0i32; 3]; width + 2];
    let mut below = errors.clone();
    for (y, row) in pixels.rows().enumerate() {
        context.check_stopped()?;
        let row: Vec<_> = row.collect();
        let backwards = y % 2 == 1;
        let (ahead, behind) = if backwards { (0, 2) } else { (2, 0) };
        for step in 0..width {
            let x = if backwards { width - 1 - step } else { step };
            let mut wanted = [0u8; 3];
            for channel in 0..3 {
                let value = i32::from(row[x].0[channel]) + errors[x + 1][channel] / 16;
                wanted[channel] = value.clamp(0, 255) as u8;
            }
            let at = bin(wanted, NEAREST_BITS);
            let index = *nearest[at].get_or_insert_with(|| nearest_of(wanted, palette));
            indices[y * width + x] = index;
            if row[x].0[3] < VISIBLE {
                continue;
            }
            for channel in 0..3 {
                let error = i32::from(wanted[channel]) - i32::from(palette[usize::from(index)][channel]);
                errors[x + ahead][channel] += error * 7;
                below[x + behind][channel] += error * 3;
                below[x + 1][channel] += error * 5;
                below[x + ahead][channel] += error;
            }
        }
        std::mem::swap(&mut errors, &mut below);
        below.fill([0; 3]);
    }
    Ok(indices)
}

fn nearest_of(color: [u8; 3], palette: &[[u8; 3]]) -> u8 {
    let distance = |other: &[u8; 3]| {
        let d = |axis: usize| i32::from(color[axis]) - i32::from(other[axis]);
        // Eyes see green best and blue least.
        3 * d(0).pow(2) + 6 * d(1).pow(2) + d(2).pow(2)
    };
    let best = palette.iter().enumerate().min_by_key(|(_, other)| distance(other));
    best.map_or(0, |(index, _)| index as u8)
}
