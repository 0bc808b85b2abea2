//! Filters for a picture or a part of it: the list, default strengths and dispatch. Pixels outside the part stay bit
//! for bit, and alpha never changes.

mod detail;
mod tones;

use image::DynamicImage;
use serde::{Deserialize, Serialize};

use crate::picture::map_buffer;
use crate::{Color, EditContext, ImagingError, Picture, PixelRect, Region};

pub(super) use detail::mean_color;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filter {
    Grayscale,
    Sepia,
    Invert,
    Blur,
    Sharpen,
    Edges,
    Sketch,
    Posterize,
    Vignette,
    Pixelate,
    Duotone,
    Grain,
}

impl Filter {
    pub const ALL: [Self; 12] = [
        Self::Grayscale,
        Self::Sepia,
        Self::Invert,
        Self::Blur,
        Self::Sharpen,
        Self::Edges,
        Self::Sketch,
        Self::Posterize,
        Self::Vignette,
        Self::Pixelate,
        Self::Duotone,
        Self::Grain,
    ];

    /// In percent; suits most pictures.
    pub fn default_strength(self) -> f64 {
        match self {
            Self::Grayscale | Self::Sepia | Self::Invert | Self::Duotone => 100.0,
            Self::Blur => 30.0,
            Self::Pixelate => 25.0,
            Self::Grain => 40.0,
            Self::Sharpen | Self::Edges | Self::Sketch | Self::Vignette => 50.0,
            Self::Posterize => 60.0,
        }
    }
}

/// A filter with its strength and region.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FilterSettings {
    pub filter: Filter,
    /// In percent, above 0 and at most 100; `None` is [`Filter::default_strength`].
    pub strength: Option<f64>,
    /// `None` is the whole picture.
    pub region: Option<Region>,
    /// For a duotone: what black and white become.
    pub colors: [Color; 2],
}

impl FilterSettings {
    pub const DEFAULT_DUOTONE_COLORS: [Color; 2] = [Color::rgb(27, 20, 84), Color::rgb(255, 214, 153)];

    pub fn new(filter: Filter) -> Self {
        Self { filter, strength: None, region: None, colors: Self::DEFAULT_DUOTONE_COLORS }
    }
}

impl From<Filter> for FilterSettings {
    fn from(filter: Filter) -> Self {
        Self::new(filter)
    }
}

pub fn filter(
    picture: Picture,
    filtering: impl Into<FilterSettings>,
    context: &EditContext,
) -> Result<Picture, ImagingError> {
    let FilterSettings { filter, strength, region, colors } = filtering.into();
    let percent = strength.unwrap_or(filter.default_strength());
    if !(percent > 0.0 && percent <= 100.0) {
        return Err(ImagingError::BadArgument(format!(
            "strength is {percent}, but must be above 0 and at most 100 (percent)."
        )));
    }
    let strength = (percent / 100.0) as f32;
    let frame = (picture.width(), picture.height());
    let part = region.unwrap_or(Region::FULL).to_pixels(frame.0, frame.1);
    if filter == Filter::Grayscale && strength == 1.0 && region.is_none() {
        return picture.try_map(|pixels| Ok(without_color(pixels)));
    }
    let picture = match filter {
        Filter::Sepia | Filter::Duotone => picture.into_color(),
        _ => picture,
    };
    picture.try_map(|pixels| {
        map_buffer!(pixels, |buffer, N| {
            let mut buffer = buffer;
            let mut canvas: Canvas<'_, _, N> = Canvas { samples: &mut buffer, frame, part, context };
            match filter {
                Filter::Grayscale => canvas.grayscale(strength),
                Filter::Sepia => canvas.sepia(strength),
                Filter::Invert => canvas.invert(strength),
                Filter::Posterize => canvas.posterize(strength),
                Filter::Vignette => canvas.vignette(strength),
                Filter::Duotone => canvas.duotone(colors, strength),
                Filter::Grain => canvas.grain(strength),
                Filter::Blur => canvas.blur(strength),
                Filter::Sharpen => canvas.sharpen(strength),
                Filter::Edges => canvas.edges(strength),
                Filter::Sketch => canvas.sketch(strength),
                Filter::Pixelate => canvas.pixelate(strength),
            }?;
            Some(buffer)
        })
    })
}

/// The part of a picture that a filter may change, in pixels of `N` channels.
pub(super) struct Canvas<'a, S, const N: usize> {
    pub samples: &'a mut [S],
    pub frame: (u32, u32),
    pub part: PixelRect,
    pub context: &'a EditContext,
}

impl<S, const N: usize> Canvas<'_, S, N> {
    /// The shorter side, by which all sizes scale.
    fn shorter(&self) -> f32 {
        self.frame.0.min(self.frame.1) as f32
    }
}

fn without_color(pixels: DynamicImage) -> DynamicImage {
    match pixels {
        DynamicImage::ImageRgb8(_) => pixels.into_luma8().into(),
        DynamicImage::ImageRgba8(_) => pixels.into_luma_alpha8().into(),
        DynamicImage::ImageRgb16(_) => pixels.into_luma16().into(),
        DynamicImage::ImageRgba16(_) => pixels.into_luma_alpha16().into(),
        gray => gray,
    }
}
