//! Colour quantisation: the best palette for a picture, and its pixels as indices into that palette.

use std::collections::HashMap;

use image::RgbaImage;

use super::{EditContext, ImagingError};

/// As many colours as a byte can index.
const MAX_COLORS: usize = 256;
/// Formats without partial transparency show a pixel only from this alpha on.
const MIN_VISIBLE_ALPHA: u8 = 128;
const BITS: u32 = 5;
/// The lookup of nearest colours is finer than the bins of the palette choice: errors of a whole bin would show.
const NEAREST_BITS: u32 = 6;

pub(super) struct IndexedImage {
    /// Red, green and blue of each colour in turn.
    pub palette: Vec<u8>,
    pub indices: Vec<u8>,
    pub transparent: Option<u8>,
}

/// A colour and the number of pixels it stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Swatch {
    pub color: [u8; 3],
    pub pixels: u64,
}

/// Exact if the palette has enough colours. Otherwise dithered: the error of each pixel is spread to its neighbours,
/// so gradients stay smooth.
pub(super) fn quantize(pixels: &RgbaImage, context: &EditContext) -> Result<IndexedImage, ImagingError> {
    let hidden = pixels.pixels().any(|p| p.0[3] < MIN_VISIBLE_ALPHA);
    let most = if hidden { MAX_COLORS - 1 } else { MAX_COLORS };
    let mut indexed = match index_exactly(pixels, most) {
        Some(indexed) => indexed,
        None => {
            let visible =
                pixels.pixels().filter(|p| p.0[3] >= MIN_VISIBLE_ALPHA).map(|p| [p.0[0], p.0[1], p.0[2]]);
            let colors: Vec<_> =
                choose_colors(visible, most).into_iter().map(|swatch| swatch.color).collect();
            context.check_stopped()?;
            IndexedImage {
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
            if pixel.0[3] < MIN_VISIBLE_ALPHA {
                *index = nothing;
            }
        }
    }
    Ok(indexed)
}

fn index_exactly(pixels: &RgbaImage, most: usize) -> Option<IndexedImage> {
    let mut known: HashMap<[u8; 3], u8> = HashMap::new();
    let mut palette = Vec::new();
    let mut indices = Vec::with_capacity(pixels.len() / 4);
    for pixel in pixels.pixels() {
        let [color @ .., alpha] = pixel.0;
        let index = match known.get(&color) {
            Some(index) => *index,
            None if alpha < MIN_VISIBLE_ALPHA => 0,
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
    Some(IndexedImage { palette, indices, transparent: None })
}

/// At most this many colours, the most common first, by median cut: the set of colours is split where it differs
/// most, again and again.
pub(super) fn choose_colors(colors: impl Iterator<Item = [u8; 3]>, most: usize) -> Vec<Swatch> {
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
    let mut boxes = vec![ColorBox::of(swatches)];
    while boxes.len() < most {
        let worst = boxes.iter().enumerate().max_by(|(_, a), (_, b)| a.error.total_cmp(&b.error));
        let Some((at, _)) = worst.filter(|(_, cut)| cut.swatches.len() > 1 && cut.error > 0.0) else { break };
        let (low, high) = boxes.swap_remove(at).halves();
        boxes.extend([low, high]);
    }
    let mut chosen: Vec<_> = boxes.iter().map(ColorBox::mean).collect();
    chosen.sort_by_key(|swatch| (std::cmp::Reverse(swatch.pixels), swatch.color));
    chosen
}

fn bin(color: [u8; 3], bits: u32) -> usize {
    color.iter().fold(0, |bin, channel| bin << bits | usize::from(*channel >> (8 - bits)))
}

struct ColorBox {
    swatches: Vec<Swatch>,
    axis: usize,
    middle: f64,
    /// The error if all colours of the cut were shown as one.
    error: f64,
}

impl ColorBox {
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

/// Floyd-Steinberg dithering; every other row runs backwards, so that no direction shows.
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
            if row[x].0[3] < MIN_VISIBLE_ALPHA {
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
