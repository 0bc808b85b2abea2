//! Full colour to at most 256: exactly where there are no more, otherwise the best palette found for this frame,
//! with the error of each pixel handed on to its neighbours so that skies do not turn into bands.

use color_quant::NeuQuant;
use std::collections::HashMap;

use crate::imaging::{ImagingError, Work};

/// One entry stays free for transparency.
const MOST_COLORS: usize = 255;
/// Of 30: how thoroughly colours are sampled, 1 being slowest.
const SAMPLING: i32 = 10;
/// How much of a pixel's error its neighbours take, in 256ths. All of it makes flat areas crawl with noise.
const DIFFUSION: i32 = 208;
/// Bits per channel by which nearest colours are remembered.
const BITS: u32 = 6;

/// `None` pixels are transparent. Gives an index per pixel, the palette, and which index is transparent, if any.
pub(super) fn indexed(
    pixels: &[Option<[u8; 3]>],
    width: usize,
    work: &Work,
) -> Result<(Vec<u8>, Vec<u8>, Option<u8>), ImagingError> {
    let (indices, mut palette) = match exact(pixels) {
        Some(found) => found,
        None => nearest(pixels, width, work)?,
    };
    let clear = (palette.len() / 3) as u8;
    let has_clear = pixels.iter().any(Option::is_none);
    if has_clear {
        palette.extend([0, 0, 0]);
    }
    let buffer = indices.into_iter().map(|index| index.unwrap_or(clear)).collect();
    Ok((buffer, palette, has_clear.then_some(clear)))
}

type Indexed = (Vec<Option<u8>>, Vec<u8>);

fn exact(pixels: &[Option<[u8; 3]>]) -> Option<Indexed> {
    let mut known: HashMap<[u8; 3], u8> = HashMap::new();
    let mut palette = Vec::new();
    let mut indices = Vec::with_capacity(pixels.len());
    let mut last = None;
    for pixel in pixels {
        let Some(color) = *pixel else {
            indices.push(None);
            continue;
        };
        if let Some((seen, index)) = last
            && seen == color
        {
            indices.push(Some(index));
            continue;
        }
        let index = match known.get(&color) {
            Some(index) => *index,
            None if known.len() == MOST_COLORS => return None,
            None => {
                let index = known.len() as u8;
                known.insert(color, index);
                palette.extend(color);
                index
            }
        };
        last = Some((color, index));
        indices.push(Some(index));
    }
    Some((indices, palette))
}

fn nearest(pixels: &[Option<[u8; 3]>], width: usize, work: &Work) -> Result<Indexed, ImagingError> {
    let opaque: Vec<u8> = pixels.iter().flatten().flat_map(|[r, g, b]| [*r, *g, *b, 255]).collect();
    let quantizer = NeuQuant::new(SAMPLING, MOST_COLORS, &opaque);
    drop(opaque);
    let palette = quantizer.color_map_rgb();
    let mut remembered = vec![u16::MAX; 1 << (3 * BITS)];
    let mut index_of = |color: [i32; 3]| {
        let slot = color.iter().fold(0, |slot, channel| slot << BITS | (channel >> (8 - BITS)) as usize);
        if remembered[slot] == u16::MAX {
            let [r, g, b] = color.map(|channel| channel as u8);
            remembered[slot] = quantizer.index_of(&[r, g, b, 255]) as u16;
        }
        remembered[slot] as u8
    };
    let mut indices = Vec::with_capacity(pixels.len());
    // The errors for this row and the next, with a column to spare on both sides.
    let mut here = vec![[0i32; 3]; width + 2];
    let mut below = here.clone();
    for row in pixels.chunks(width.max(1)) {
        work.go_on()?;
        for (x, pixel) in row.iter().enumerate() {
            let Some(wanted) = pixel else {
                indices.push(None);
                continue;
            };
            let mut color = [0; 3];
            for (channel, value) in color.iter_mut().enumerate() {
                *value = (i32::from(wanted[channel]) + here[x + 1][channel] / 16).clamp(0, 255);
            }
            let index = index_of(color);
            let got = palette.get(usize::from(index) * 3..).unwrap_or_default();
            for (channel, (value, got)) in color.iter().zip(got).enumerate() {
                let error = (value - i32::from(*got)) * DIFFUSION / 256;
                here[x + 2][channel] += error * 7;
                below[x][channel] += error * 3;
                below[x + 1][channel] += error * 5;
                below[x + 2][channel] += error;
            }
            indices.push(Some(index));
        }
        std::mem::swap(&mut here, &mut below);
        below.fill([0; 3]);
    }
    Ok((indices, palette))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_colours_stay_exactly_what_they_are() {
        let pixels = [Some([1, 2, 3]), None, Some([200, 0, 9]), Some([1, 2, 3])];
        let (buffer, palette, clear) = indexed(&pixels, 2, &Work::default()).unwrap();
        assert_eq!((buffer, palette, clear), (vec![0, 2, 1, 0], vec![1, 2, 3, 200, 0, 9, 0, 0, 0], Some(2)));
    }

    #[test]
    fn many_colours_come_close_and_keep_their_average() {
        let pixels: Vec<_> =
            (0..128 * 128).map(|i| Some([(i % 128) as u8 * 2, (i / 128) as u8 * 2, 90])).collect();
        let (buffer, palette, clear) = indexed(&pixels, 128, &Work::default()).unwrap();
        assert_eq!(clear, None);
        let (mut off, mut far) = ([0i64; 3], 0);
        for (pixel, index) in pixels.iter().flatten().zip(buffer) {
            for channel in 0..3 {
                let error = i64::from(palette[usize::from(index) * 3 + channel]) - i64::from(pixel[channel]);
                off[channel] += error;
                far = far.max(error.abs());
            }
        }
        assert!(off.iter().all(|sum| sum.abs() < 2 * 128 * 128), "{off:?}");
        assert!(far < 64, "{far}");
    }
}
