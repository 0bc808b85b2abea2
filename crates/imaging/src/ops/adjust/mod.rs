//! Light, colour and sharpness of a picture or a part of it. All changes of light combine into one curve over
//! brightness, so that any mix costs one pass and keeps hues; see [`curve`].

mod curve;

use crate::picture::{Sample, map_buffer};
use crate::pixels::{LUMA, alpha, color, each_pixel, luma, luma_of, rows_of, set_color};
use crate::{EditContext, ImagingError, Picture, PixelRect, Region};

use super::filter::Canvas;
use curve::{Curve, Levels};

/// Amounts from -100 to 100; 0 leaves the picture as it is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Adjustment {
    /// Of the middle tones; black and white stay.
    pub brightness: f64,
    pub contrast: f64,
    /// Amount of light; 50 is one stop.
    pub exposure: f64,
    pub saturation: f64,
    /// Positive is more yellow, negative more blue.
    pub warmth: f64,
    /// Negative softens.
    pub sharpness: f64,
    /// Positive brightens shadows.
    pub shadows: f64,
    /// Negative darkens highlights and so recovers detail.
    pub highlights: f64,
    /// The darkest parts become black and the brightest white, without a colour cast.
    pub auto_levels: bool,
    /// `None` is the whole picture.
    pub region: Option<Region>,
}

impl Adjustment {
    pub fn amounts(&self) -> [(&'static str, f64); 8] {
        [
            ("brightness", self.brightness),
            ("contrast", self.contrast),
            ("exposure", self.exposure),
            ("saturation", self.saturation),
            ("warmth", self.warmth),
            ("sharpness", self.sharpness),
            ("shadows", self.shadows),
            ("highlights", self.highlights),
        ]
    }

    fn changes_tones(&self) -> bool {
        let Self { sharpness: _, region: _, auto_levels, .. } = *self;
        auto_levels || self.amounts().iter().any(|(name, amount)| *name != "sharpness" && *amount != 0.0)
    }
}

/// Pixels with less alpha do not count for the brightness of the picture.
const MIN_VISIBLE_ALPHA: f32 = 0.5;
/// Steps of the histogram: finer than the eye or eight bits.
const HISTOGRAM_STEPS: usize = 1024;

pub fn adjust(
    picture: Picture,
    adjustment: &Adjustment,
    context: &EditContext,
) -> Result<Picture, ImagingError> {
    for (name, amount) in adjustment.amounts() {
        if !(-100.0..=100.0).contains(&amount) {
            return Err(ImagingError::BadArgument(format!(
                "{name} is {amount}, but must be a number from -100 to 100 (0 leaves it as it is)."
            )));
        }
    }
    let frame = (picture.width(), picture.height());
    let part = adjustment.region.unwrap_or(Region::FULL).to_pixels(frame.0, frame.1);
    picture.try_map(|pixels| {
        map_buffer!(pixels, |buffer, N| {
            let mut buffer = buffer;
            if adjustment.changes_tones() {
                tone::<_, N>(&mut buffer, frame.0, part, adjustment, context)?;
            }
            let mut canvas: Canvas<'_, _, N> = Canvas { samples: &mut buffer, frame, part, context };
            let amount = (adjustment.sharpness / 100.0) as f32;
            if amount > 0.0 {
                canvas.unsharp_mask(amount * 2.0)?;
            } else if amount < 0.0 {
                canvas.soften(canvas.detail_size() * 1.5, (-amount).powf(0.7))?;
            }
            Some(buffer)
        })
    })
}

fn tone<S: Sample, const N: usize>(
    samples: &mut [S],
    width: u32,
    part: PixelRect,
    adjustment: &Adjustment,
    context: &EditContext,
) -> Result<(), ImagingError> {
    let levels = if adjustment.auto_levels {
        Levels::from_histogram(&measure_histogram::<S, N>(samples, width, part, context)?)
    } else {
        None
    };
    let curve = Curve::new(adjustment, levels);
    if N < 3 {
        return each_pixel::<S, N>(samples, width, part, context, |pixel, _, _| {
            let (shade, _) = curve.at(luma(pixel));
            set_color(pixel, [shade; 3]);
        });
    }
    let light = light_factors(adjustment.warmth);
    each_pixel::<S, N>(samples, width, part, context, |pixel, _, _| {
        let [r, g, b] = color(pixel);
        let lit = [r * light[0], g * light[1], b * light[2]];
        let before = luma_of(lit);
        let (after, vividness) = curve.at(before);
        set_color(pixel, fit_into_range(lit.map(|value| value - before), after, vividness));
    })
}

/// The colour of this brightness at the distance `away` from gray times `vividness`, limited to what can be shown.
/// Clipping channels instead would change the hue.
fn fit_into_range(away: [f32; 3], brightness: f32, vividness: f32) -> [f32; 3] {
    let [r, g, b] = away;
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    let above = if most > 0.0 { (1.0 - brightness) / most } else { f32::INFINITY };
    let below = if least < 0.0 { -brightness / least } else { f32::INFINITY };
    let vividness = vividness.min(above).min(below);
    away.map(|value| brightness + value * vividness)
}

/// The factor of each channel under warmer or cooler light. Light is only removed, so that white takes on the tint;
/// the curve restores the brightness.
fn light_factors(warmth: f64) -> [f32; 3] {
    let amount = (warmth / 100.0) as f32;
    if amount >= 0.0 {
        [1.0, 1.0 - 0.08 * amount, 1.0 - 0.34 * amount]
    } else {
        [1.0 + 0.30 * amount, 1.0 + 0.11 * amount, 1.0]
    }
}

/// The share of its brightness that gray keeps under this light.
fn gray_under_light(warmth: f64) -> f32 {
    light_factors(warmth).iter().zip(LUMA).map(|(light, weight)| light * weight).sum()
}

/// The histogram of brightness.
fn measure_histogram<S: Sample, const N: usize>(
    samples: &[S],
    width: u32,
    part: PixelRect,
    context: &EditContext,
) -> Result<Vec<u64>, ImagingError> {
    let mut counts = vec![0u64; HISTOGRAM_STEPS];
    for (_, row) in rows_of::<S, N>(samples, width, part) {
        context.check_stopped()?;
        for pixel in row.iter().filter(|pixel| alpha(pixel) >= MIN_VISIBLE_ALPHA) {
            let shade = (luma(pixel) * (HISTOGRAM_STEPS - 1) as f32 + 0.5) as usize;
            if let Some(count) = counts.get_mut(shade) {
                *count += 1;
            }
        }
    }
    Ok(counts)
}
