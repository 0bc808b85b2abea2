//! Makes an animation from stills. Each still is fitted into the frame of the first; crossfades are optional.

use image::{Rgba, RgbaImage, imageops};
use serde::Deserialize;

use super::scan::AnimationHeader;
use super::{AnimationWriter, check_length};
use crate::ops::{Fit, resize_to_cell};
use crate::{Color, EditContext, Encoded, Format, Picture, SourceError, Sources};

/// Milliseconds per step of a crossfade: smooth, and a multiple of GIF's time unit of 10 ms.
const FADE_STEP_MILLISECONDS: u32 = 80;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnimationFormat {
    #[default]
    Gif,
    WebP,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Animation {
    pub format: AnimationFormat,
    /// How long each picture is shown.
    pub milliseconds: u32,
    /// How long each crossfade takes, in addition.
    pub crossfade: u32,
    pub forever: bool,
    /// The longer side at most; a smaller first picture is not enlarged.
    pub longest: u32,
    /// Fills the frame around pictures of another shape. Defaults to black, or to transparent if all pictures have
    /// alpha.
    pub background: Option<Color>,
}

impl Animation {
    /// The frame size for a first picture of this size.
    pub fn frame(&self, (width, height): (u32, u32)) -> (u32, u32) {
        let factor = (f64::from(self.longest) / f64::from(width.max(height))).min(1.0);
        let side = |length: u32| (f64::from(length) * factor).round().max(1.0) as u32;
        (side(width), side(height))
    }

    fn fade_steps(&self) -> u32 {
        self.crossfade / FADE_STEP_MILLISECONDS
    }
}

pub fn animate(
    sources: &Sources,
    animation: &Animation,
    context: &EditContext,
) -> Result<Encoded, SourceError> {
    let size = animation.frame(sources.size(0)?);
    let fades = animation.fade_steps();
    let stills = sources.len() as u64;
    let changes = if animation.forever { stills } else { stills.saturating_sub(1) };
    check_length(stills + changes * u64::from(fades), size, &context.limits)?;
    let background_pixel = match animation.background {
        Some(Color { r, g, b }) => Rgba([r, g, b, 255]),
        None if sources.all_have_alpha() => Rgba([0; 4]),
        None => Rgba([0, 0, 0, 255]),
    };
    let (format, once) = match animation.format {
        AnimationFormat::Gif => (Format::Gif, None),
        AnimationFormat::WebP => (Format::WebP, Some(1)),
    };
    let loop_count = if animation.forever { Some(0) } else { once };
    let mut writer =
        AnimationWriter::new(format, size, &AnimationHeader { frames: stills, loop_count, lossless: false })?;
    let mut first: Option<RgbaImage> = None;
    let mut last: Option<RgbaImage> = None;
    for index in 0..sources.len() {
        context.check_stopped()?;
        let picture = sources.open(index, context)?;
        let still =
            fit_into_frame(picture, size, background_pixel, context).map_err(SourceError::at(index))?;
        if let Some(last) = &last {
            add_crossfade(&mut writer, last, &still, fades, context)?;
        }
        writer.add(still.clone(), animation.milliseconds, context)?;
        if fades > 0 {
            first.get_or_insert_with(|| still.clone());
            last = Some(still);
        }
    }
    if let (Some(last), Some(first), true) = (last, first, animation.forever) {
        add_crossfade(&mut writer, &last, &first, fades, context)?;
    }
    Ok(writer.finish(context)?)
}

fn fit_into_frame(
    picture: Picture,
    (width, height): (u32, u32),
    background_pixel: Rgba<u8>,
    context: &EditContext,
) -> Result<RgbaImage, crate::ImagingError> {
    let inside = resize_to_cell(picture, width, height, Fit::Fit, context)?.into_srgb_rgba8();
    let mut frame = RgbaImage::from_pixel(width, height, background_pixel);
    let x = (width - inside.width().min(width)) / 2;
    let y = (height - inside.height().min(height)) / 2;
    if background_pixel.0[3] == 0 {
        imageops::replace(&mut frame, &inside, x.into(), y.into());
    } else {
        imageops::overlay(&mut frame, &inside, x.into(), y.into());
    }
    Ok(frame)
}

fn add_crossfade(
    writer: &mut AnimationWriter,
    from: &RgbaImage,
    to: &RgbaImage,
    steps: u32,
    context: &EditContext,
) -> Result<(), SourceError> {
    for step in 1..=steps {
        context.check_stopped()?;
        let (new, all) = (step, steps + 1);
        let mut between = from.clone();
        for (mixed, to) in between.pixels_mut().zip(to.pixels()) {
            let (old_part, new_part) = (u32::from(mixed.0[3]) * (all - new), u32::from(to.0[3]) * new);
            let opacity = old_part + new_part;
            // Colours are weighted by alpha.
            for (sample, to) in mixed.0.iter_mut().zip(to.0).take(3) {
                let sum = u32::from(*sample) * old_part + u32::from(to) * new_part;
                *sample = ((sum + opacity / 2) / opacity.max(1)) as u8;
            }
            mixed.0[3] = ((opacity + all / 2) / all) as u8;
        }
        writer.add(between, FADE_STEP_MILLISECONDS, context)?;
    }
    Ok(())
}
