//! How bright a picture is, and how much of it is clipped to black or white.

use image::RgbaImage;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exposure {
    /// Mean brightness of the visible pixels, 0 to 1.
    pub mean: f64,
    /// Share of pixels with every channel clipped.
    pub black: f64,
    pub white: f64,
    pub verdict: Brightness,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brightness {
    Underexposed,
    Dark,
    Balanced,
    Bright,
    Overexposed,
}

pub(super) fn measure(pixels: &RgbaImage) -> Exposure {
    let mut histogram = [0u64; 256];
    let (mut black, mut white) = (0u64, 0u64);
    for pixel in pixels.pixels().filter(|p| p.0[3] >= 128) {
        let [r, g, b, _] = pixel.0;
        let luma = (u32::from(r) * 54 + u32::from(g) * 183 + u32::from(b) * 19) >> 8;
        histogram[luma as usize] += 1;
        black += u64::from(r.max(g).max(b) <= 3);
        white += u64::from(r.min(g).min(b) >= 252);
    }
    let all = histogram.iter().sum::<u64>().max(1) as f64;
    let mean =
        histogram.iter().enumerate().map(|(luma, n)| luma as f64 * *n as f64).sum::<f64>() / all / 255.0;
    let percentile = |share: f64| {
        let mut seen = 0;
        let reached = histogram.iter().position(|n| {
            seen += n;
            seen as f64 >= share * all
        });
        reached.unwrap_or(255) as f64 / 255.0
    };
    let (black, white) = (black as f64 / all, white as f64 / all);
    let verdict = if percentile(0.98) < 0.45 {
        Brightness::Underexposed
    } else if mean > 0.78 && (white > 0.15 || percentile(0.05) > 0.45) {
        Brightness::Overexposed
    } else if mean < 0.25 {
        Brightness::Dark
    } else if mean > 0.70 {
        Brightness::Bright
    } else {
        Brightness::Balanced
    };
    Exposure { mean, black, white, verdict }
}
