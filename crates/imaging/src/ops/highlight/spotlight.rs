//! Darkens the surroundings of spotlights.

use image::{ImageBuffer, Pixel};

use super::{HighlightShape, PlacedHighlight};
use crate::picture::Sample;
use crate::{EditContext, ImagingError};

/// The share of brightness that the surroundings keep.
const KEPT_BRIGHTNESS: f32 = 0.32;

/// Integer arithmetic, because most of a large picture goes through here.
pub(super) trait Dim: Sample {
    fn dim(self) -> Self;
}

impl Dim for u8 {
    fn dim(self) -> Self {
        const KEEP: u16 = (KEPT_BRIGHTNESS * 256.0 + 0.5) as u16;
        ((u16::from(self) * KEEP + 128) >> 8) as u8
    }
}

impl Dim for u16 {
    fn dim(self) -> Self {
        const KEEP: u32 = (KEPT_BRIGHTNESS * 65536.0 + 0.5) as u32;
        ((u32::from(self) * KEEP + 32768) >> 16) as u16
    }
}

/// Darkens everything outside of the spotlights; does nothing if there are none.
pub(super) fn darken_surroundings<P: Pixel>(
    canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>,
    placed: &[PlacedHighlight],
    context: &EditContext,
) -> Result<(), ImagingError>
where
    P::Subpixel: Dim,
{
    let lit: Vec<_> =
        placed.iter().filter(|highlight| highlight.shape == HighlightShape::Spotlight).collect();
    if lit.is_empty() {
        return Ok(());
    }
    let channels = usize::from(P::CHANNEL_COUNT);
    let width = canvas.width();
    for (y, row) in (0..).zip(canvas.chunks_exact_mut((width as usize * channels).max(1))) {
        context.check_stopped()?;
        let near: Vec<_> = lit
            .iter()
            .filter(|highlight| (highlight.outer.y..highlight.outer.bottom()).contains(&y))
            .collect();
        let hollow = |highlight: &PlacedHighlight| {
            highlight.outline.inner.inner_columns(y).unwrap_or((highlight.outer.x, highlight.outer.x))
        };
        // Between these columns a row is all dark, all bright, or an edge.
        let mut turns = vec![0, width];
        turns.extend(near.iter().flat_map(|highlight| {
            let (from, to) = hollow(highlight);
            [highlight.outer.x, from, to, highlight.outer.right()]
        }));
        turns.retain(|turn| *turn <= width);
        turns.sort_unstable();
        for piece in turns.windows(2) {
            let (from, to) = (piece[0], piece[1]);
            let inside = |(start, end): (u32, u32)| start <= from && to <= end;
            if from == to || near.iter().any(|highlight| inside(hollow(highlight))) {
                continue;
            }
            let samples = &mut row[from as usize * channels..to as usize * channels];
            if !near.iter().any(|highlight| inside((highlight.outer.x, highlight.outer.right()))) {
                darken::<P>(samples);
                continue;
            }
            for (x, pixel) in (from..).zip(samples.chunks_exact_mut(channels)) {
                let light =
                    near.iter().map(|highlight| highlight.outline.inner.coverage(x, y)).fold(0.0, f32::max);
                for sample in pixel.iter_mut().take(3).filter(|_| light < 1.0) {
                    *sample = P::Subpixel::from_unit(
                        sample.to_unit() * (KEPT_BRIGHTNESS + (1.0 - KEPT_BRIGHTNESS) * light),
                    );
                }
            }
        }
    }
    Ok(())
}

fn darken<P: Pixel>(samples: &mut [P::Subpixel])
where
    P::Subpixel: Dim,
{
    if P::HAS_ALPHA {
        for [colors @ .., _] in samples.as_chunks_mut::<4>().0 {
            colors.iter_mut().for_each(|sample| *sample = sample.dim());
        }
    } else {
        samples.iter_mut().for_each(|sample| *sample = sample.dim());
    }
}
