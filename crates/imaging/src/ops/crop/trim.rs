//! Finds borders of one colour: bars, margins of scans and screenshots, transparent space around a drawing.

use std::fmt;

use image::{DynamicImage, ImageBuffer, Pixel};

use crate::picture::Sample;
use crate::{EditContext, ImagingError, Picture, PixelRect};

/// How far a pixel may be from the colour of its border, in any channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrimTolerance {
    percent: f64,
}

impl TrimTolerance {
    pub fn percent(percent: f64) -> Result<Self, ImagingError> {
        if (0.0..=50.0).contains(&percent) {
            return Ok(Self { percent });
        }
        Err(ImagingError::BadArgument(format!(
            "tolerance is {percent}, but must be a number from 0 to 50 (percent)."
        )))
    }

    fn unit(self) -> f32 {
        // Half a step of an 8-bit sample, so that equal colours stay equal after rounding.
        (self.percent / 100.0) as f32 + 0.5 / 255.0
    }
}

impl Default for TrimTolerance {
    /// JPEG artefacts in a plain border stay below this.
    fn default() -> Self {
        Self { percent: 5.0 }
    }
}

/// Pixels of border on each side. At least one side has a border, and something is left inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Borders {
    pub left: u32,
    pub top: u32,
    pub right: u32,
    pub bottom: u32,
}

impl Borders {
    /// The part inside, if there is any.
    pub(super) fn inside(self, width: u32, height: u32) -> Option<PixelRect> {
        let width = width.checked_sub(self.left + self.right)?;
        let height = height.checked_sub(self.top + self.bottom)?;
        (width > 0 && height > 0).then_some(PixelRect { x: self.left, y: self.top, width, height })
    }
}

impl fmt::Display for Borders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sides = [("left", self.left), ("top", self.top), ("right", self.right), ("bottom", self.bottom)];
        let cut: Vec<_> = sides.iter().filter(|(_, pixels)| *pixels > 0).collect();
        for (index, (side, pixels)) in cut.iter().enumerate() {
            let joint = if index == 0 { "" } else { ", " };
            write!(f, "{joint}{pixels} px off the {side}")?;
        }
        Ok(())
    }
}

/// Finds the borders of a picture. Each side may have a colour of its own, but only one: a frame inside a frame
/// stays.
pub fn find_borders(
    picture: &Picture,
    tolerance: TrimTolerance,
    context: &EditContext,
) -> Result<Borders, ImagingError> {
    let tolerance = tolerance.unit();
    let found = match &picture.pixels {
        DynamicImage::ImageLuma8(buffer) => search::<_, 1>(buffer, tolerance, context),
        DynamicImage::ImageLumaA8(buffer) => search::<_, 2>(buffer, tolerance, context),
        DynamicImage::ImageRgb8(buffer) => search::<_, 3>(buffer, tolerance, context),
        DynamicImage::ImageRgba8(buffer) => search::<_, 4>(buffer, tolerance, context),
        DynamicImage::ImageLuma16(buffer) => search::<_, 1>(buffer, tolerance, context),
        DynamicImage::ImageLumaA16(buffer) => search::<_, 2>(buffer, tolerance, context),
        DynamicImage::ImageRgb16(buffer) => search::<_, 3>(buffer, tolerance, context),
        DynamicImage::ImageRgba16(buffer) => search::<_, 4>(buffer, tolerance, context),
        _ => Err(ImagingError::failed("pixels of an unexpected kind")),
    }?;
    if found == Borders::default() {
        return Err(ImagingError::BadArgument(
            "There is no border of one color to cut off. Raise tolerance if there is one, or give region."
                .to_owned(),
        ));
    }
    if found.inside(picture.width(), picture.height()).is_none() {
        return Err(ImagingError::BadArgument(
            "The whole picture is one color, so nothing would be left. Lower tolerance, or give region."
                .to_owned(),
        ));
    }
    Ok(found)
}

type PixelLine<'a, const N: usize> = Box<dyn Iterator<Item = [f32; N]> + 'a>;

/// Goes round the sides until none shrinks any more: a bar on the left may hide that the top is plain.
fn search<P: Pixel, const N: usize>(
    buffer: &ImageBuffer<P, Vec<P::Subpixel>>,
    tolerance: f32,
    context: &EditContext,
) -> Result<Borders, ImagingError>
where
    P::Subpixel: Sample,
{
    let (width, height) = (buffer.width() as usize, buffer.height() as usize);
    let pixels = buffer.as_chunks::<N>().0;
    let seen = |pixel: &[P::Subpixel; N]| visible_color::<P, N>(pixel);
    // The remaining ranges: first column, column after the last, and the same for rows.
    let (mut x0, mut x1, mut y0, mut y1) = (0, width, 0, height);
    let mut colors = [None; 4];
    loop {
        let before = (x0, x1, y0, y1);
        for (side, color) in colors.iter_mut().enumerate() {
            while x0 < x1 && y0 < y1 {
                context.check_stopped()?;
                let line = || -> PixelLine<'_, N> {
                    let row = |y: usize| pixels[y * width + x0..y * width + x1].iter().map(seen);
                    let column =
                        |x: usize| pixels[y0 * width + x..].iter().step_by(width).take(y1 - y0).map(seen);
                    match side {
                        0 => Box::new(row(y0)),
                        1 => Box::new(row(y1 - 1)),
                        2 => Box::new(column(x0)),
                        _ => Box::new(column(x1 - 1)),
                    }
                };
                let wanted = color.unwrap_or_else(|| average(line()));
                let plain = line().all(|pixel| {
                    pixel.iter().zip(&wanted).all(|(sample, wanted)| (sample - wanted).abs() <= tolerance)
                });
                if !plain {
                    break;
                }
                *color = Some(wanted);
                match side {
                    0 => y0 += 1,
                    1 => y1 -= 1,
                    2 => x0 += 1,
                    _ => x1 -= 1,
                }
            }
        }
        if (x0, x1, y0, y1) == before || x0 >= x1 || y0 >= y1 {
            let pixels = |count: usize| count as u32;
            return Ok(Borders {
                left: pixels(x0),
                top: pixels(y0),
                right: pixels(width - x1),
                bottom: pixels(height - y1),
            });
        }
    }
}

/// Colours as they are displayed: hidden colours make no difference.
fn visible_color<P: Pixel, const N: usize>(pixel: &[P::Subpixel; N]) -> [f32; N]
where
    P::Subpixel: Sample,
{
    let mut seen = pixel.map(Sample::to_unit);
    if P::HAS_ALPHA
        && let Some((alpha, color)) = seen.split_last_mut()
    {
        color.iter_mut().for_each(|sample| *sample *= *alpha);
    }
    seen
}

fn average<const N: usize>(line: PixelLine<'_, N>) -> [f32; N] {
    let mut sum = [0.0f64; N];
    let mut count = 0.0f64;
    for pixel in line {
        count += 1.0;
        sum.iter_mut().zip(pixel).for_each(|(sum, sample)| *sum += f64::from(sample));
    }
    sum.map(|sum| (sum / count.max(1.0)) as f32)
}
