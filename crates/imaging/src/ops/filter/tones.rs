//! Filters that use one pixel at a time: its colour, and for some its position.

use super::Canvas;
use crate::blur::{EdgeMode, gaussian};
use crate::picture::Sample;
use crate::pixels::{color, each_pixel, luma, mix, set_color, smooth_step};
use crate::{Color, ImagingError};

/// Where a vignette begins, as a share of the way from the centre to a corner.
const VIGNETTE_START: f32 = 0.28;
/// The share of light that a vignette of full strength takes from the corners.
const VIGNETTE_DEPTH: f32 = 0.92;
/// Side of the noise tile that grain is made of; the repetition is invisible.
const GRAIN_TILE: u32 = 512;
/// Standard deviation of grain of full strength in middle tones.
const MAX_GRAIN_DEVIATION: f32 = 0.14;

impl<S: Sample, const N: usize> Canvas<'_, S, N> {
    fn recolor(
        &mut self,
        strength: f32,
        change: impl Fn([f32; 3], u32, u32) -> [f32; 3],
    ) -> Result<(), ImagingError> {
        each_pixel::<S, N>(self.samples, self.frame.0, self.part, self.context, |pixel, x, y| {
            let before = color(pixel);
            let after = change(before, x, y);
            set_color(pixel, std::array::from_fn(|channel| mix(before[channel], after[channel], strength)));
        })
    }

    pub(super) fn grayscale(&mut self, strength: f32) -> Result<(), ImagingError> {
        each_pixel::<S, N>(self.samples, self.frame.0, self.part, self.context, |pixel, _, _| {
            let (before, gray) = (color(pixel), luma(pixel));
            set_color(pixel, before.map(|value| mix(value, gray, strength)));
        })
    }

    /// The tone that browsers draw for `sepia(1)`.
    pub(super) fn sepia(&mut self, strength: f32) -> Result<(), ImagingError> {
        self.recolor(strength, |[red, green, blue], _, _| {
            let tone = |a: f32, b: f32, c: f32| (a * red + b * green + c * blue).min(1.0);
            [tone(0.393, 0.769, 0.189), tone(0.349, 0.686, 0.168), tone(0.272, 0.534, 0.131)]
        })
    }

    pub(super) fn invert(&mut self, strength: f32) -> Result<(), ImagingError> {
        self.recolor(strength, |before, _, _| before.map(|value| 1.0 - value))
    }

    /// From a dozen levels per channel down to two.
    pub(super) fn posterize(&mut self, strength: f32) -> Result<(), ImagingError> {
        let steps = 1.0 + ((1.0 - strength) * 10.0).round();
        self.recolor(1.0, |before, _, _| before.map(|value| (value * steps).round() / steps))
    }

    /// Around the centre of the part, and as oval as the part.
    pub(super) fn vignette(&mut self, strength: f32) -> Result<(), ImagingError> {
        let part = self.part;
        let half = |side: u32| side as f32 / 2.0;
        let (middle_x, middle_y) = (part.x as f32 + half(part.width), part.y as f32 + half(part.height));
        self.recolor(1.0, |before, x, y| {
            let across = (x as f32 + 0.5 - middle_x) / half(part.width);
            let down = (y as f32 + 0.5 - middle_y) / half(part.height);
            let from_middle = ((across * across + down * down) / 2.0).sqrt();
            let light = 1.0 - strength * VIGNETTE_DEPTH * smooth_step(VIGNETTE_START, 1.0, from_middle);
            before.map(|value| value * light)
        })
    }

    pub(super) fn duotone(&mut self, colors: [Color; 2], strength: f32) -> Result<(), ImagingError> {
        let [dark, light] = colors.map(|color| [color.r, color.g, color.b].map(Sample::to_unit));
        each_pixel::<S, N>(self.samples, self.frame.0, self.part, self.context, |pixel, _, _| {
            let (before, gray) = (color(pixel), luma(pixel));
            // Two colours are flatter than black and white; a little contrast makes up for it.
            let place = mix(gray, smooth_step(0.0, 1.0, gray), 0.5);
            let tone = |channel: usize| mix(dark[channel], light[channel], place);
            set_color(pixel, std::array::from_fn(|channel| mix(before[channel], tone(channel), strength)));
        })
    }

    /// Film grain: without colour, strongest in the middle tones, scaled with the picture, and deterministic.
    pub(super) fn grain(&mut self, strength: f32) -> Result<(), ImagingError> {
        let tile = make_noise_tile((self.shorter() / 1500.0).clamp(0.55, 4.0));
        let spread = strength * MAX_GRAIN_DEVIATION;
        each_pixel::<S, N>(self.samples, self.frame.0, self.part, self.context, |pixel, x, y| {
            let place = (y % GRAIN_TILE) * GRAIN_TILE + x % GRAIN_TILE;
            let [grain] = tile.get(place as usize).copied().unwrap_or_default();
            let (before, gray) = (color(pixel), luma(pixel));
            let change = grain * spread * (gray * (1.0 - gray)).max(0.0).sqrt();
            set_color(pixel, before.map(|value| value + change));
        })
    }
}

/// A seamless tile of noise with mean 0 and standard deviation 1.
fn make_noise_tile(grain_size: f32) -> Vec<[f32; 1]> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    let white: Vec<_> = (0..GRAIN_TILE * GRAIN_TILE).map(|_| [uniform() + uniform() + uniform()]).collect();
    let mut tile = gaussian(&white, GRAIN_TILE, GRAIN_TILE, grain_size, EdgeMode::Wrap);
    let count = tile.len() as f64;
    let mean = tile.iter().map(|[value]| f64::from(*value)).sum::<f64>() / count;
    let variance = tile.iter().map(|[value]| (f64::from(*value) - mean).powi(2)).sum::<f64>() / count;
    let scale = 1.0 / variance.sqrt().max(1e-6);
    tile.iter_mut().for_each(|[value]| *value = ((f64::from(*value) - mean) * scale) as f32);
    tile
}
