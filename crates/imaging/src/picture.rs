//! A decoded, upright picture, and access to its samples at any depth.

use image::{DynamicImage, Rgb, RgbImage, RgbaImage};

use crate::file::Compression;
use crate::format::JPEG_MAX_SIDE;
use crate::{Color, Format, ImagingError, buffer_pool, color_profile};

/// A decoded picture. Pixels are 8 or 16 bits deep, gray or colour, with or without alpha; never floating point.
#[derive(Debug, Clone)]
pub struct Picture {
    pub(super) pixels: DynamicImage,
    source: Format,
    /// The colour profile, kept so that wide-gamut photos look the same after an edit; see [`encode`](super::encode).
    pub(super) icc: Option<Vec<u8>>,
    pub(super) compression: Compression,
}

impl Picture {
    /// `source_format` decides the output format; see [`Picture::output_format`].
    pub fn new(pixels: DynamicImage, source: Format) -> Self {
        let pixels = match pixels {
            DynamicImage::ImageRgb32F(_) => DynamicImage::ImageRgb16(pixels.into_rgb16()),
            DynamicImage::ImageRgba32F(_) => DynamicImage::ImageRgba16(pixels.into_rgba16()),
            other => other,
        };
        Self { pixels, source, icc: None, compression: Compression::expected(source) }
    }

    pub(super) fn with_icc(self, icc: Option<Vec<u8>>) -> Self {
        Self { icc, ..self }
    }

    pub(super) fn with_compression(self, compression: Compression) -> Self {
        Self { compression, ..self }
    }

    pub fn width(&self) -> u32 {
        self.pixels.width()
    }

    pub fn height(&self) -> u32 {
        self.pixels.height()
    }

    /// The memory that the pixels take.
    pub fn bytes(&self) -> u64 {
        self.pixels.as_bytes().len() as u64
    }

    pub fn has_alpha(&self) -> bool {
        self.pixels.color().has_alpha()
    }

    /// Whether every pixel is opaque: many files carry an alpha channel that hides nothing.
    pub(crate) fn is_opaque(&self) -> bool {
        match &self.pixels {
            DynamicImage::ImageRgba8(buffer) => buffer.pixels().all(|p| p.0[3] == u8::MAX),
            DynamicImage::ImageLumaA8(buffer) => buffer.pixels().all(|p| p.0[1] == u8::MAX),
            DynamicImage::ImageRgba16(buffer) => buffer.pixels().all(|p| p.0[3] == u16::MAX),
            DynamicImage::ImageLumaA16(buffer) => buffer.pixels().all(|p| p.0[1] == u16::MAX),
            _ => true,
        }
    }

    pub fn pixels(&self) -> &DynamicImage {
        &self.pixels
    }

    /// The format that [`encode`](super::encode) writes: JPEG for photos, PNG for everything that JPEG would harm.
    pub fn output_format(&self) -> Format {
        match self.compression {
            Compression::Jpeg(_) | Compression::Lossy if !self.has_alpha() && self.fits_jpeg() => {
                Format::Jpeg
            }
            _ => Format::Png,
        }
    }

    fn fits_jpeg(&self) -> bool {
        self.width().max(self.height()) <= JPEG_MAX_SIDE
    }

    /// Replaces the pixels; format, profile and compression stay.
    pub(super) fn try_map(
        self,
        edit: impl FnOnce(DynamicImage) -> Result<DynamicImage, ImagingError>,
    ) -> Result<Self, ImagingError> {
        Ok(Self { pixels: edit(self.pixels)?, ..self })
    }

    /// A picture of other pixels with the same format, profile and compression.
    pub(super) fn with_pixels(&self, pixels: DynamicImage) -> Self {
        Self { pixels, source: self.source, icc: self.icc.clone(), compression: self.compression }
    }

    /// Converts gray pixels to colour ones of the same depth, so that colour can be drawn on them.
    pub(super) fn into_color(mut self) -> Self {
        if !self.pixels.color().has_color()
            && let Some(gray) = self.icc.take()
        {
            self.pixels = color_profile::grays_to_srgb(&self.pixels, &gray).unwrap_or(self.pixels);
        }
        self.pixels = match self.pixels {
            gray @ DynamicImage::ImageLuma8(_) => gray.into_rgb8().into(),
            gray @ DynamicImage::ImageLumaA8(_) => gray.into_rgba8().into(),
            gray @ DynamicImage::ImageLuma16(_) => gray.into_rgb16().into(),
            gray @ DynamicImage::ImageLumaA16(_) => gray.into_rgba16().into(),
            color => color,
        };
        self
    }

    pub(super) fn into_alpha(mut self) -> Self {
        self.pixels = match self.pixels {
            opaque @ DynamicImage::ImageLuma8(_) => opaque.into_luma_alpha8().into(),
            opaque @ DynamicImage::ImageRgb8(_) => opaque.into_rgba8().into(),
            opaque @ DynamicImage::ImageLuma16(_) => opaque.into_luma_alpha16().into(),
            opaque @ DynamicImage::ImageRgb16(_) => opaque.into_rgba16().into(),
            alpha => alpha,
        };
        self
    }

    /// 8-bit pixels in sRGB, the colour space in which pictures of different profiles are combined.
    pub(crate) fn into_srgb_rgba8(self) -> RgbaImage {
        self.into_srgb().into_rgba8()
    }

    /// 8-bit pixels in sRGB without alpha, as models see the picture: what is transparent is white.
    pub fn into_rgb8(self) -> RgbImage {
        self.flatten_onto(Color::WHITE)
    }

    /// 8-bit pixels in sRGB, laid over an opaque background.
    pub(crate) fn flatten_onto(self, background: Color) -> RgbImage {
        if !self.has_alpha() {
            return self.into_srgb().into_rgb8();
        }
        let pixels = self.into_srgb_rgba8();
        let below = [background.r, background.g, background.b].map(u32::from);
        let mut flat = RgbImage::new(pixels.width(), pixels.height());
        for (to, from) in flat.pixels_mut().zip(pixels.pixels()) {
            let alpha = u32::from(from.0[3]);
            let mix = |channel: usize| {
                ((u32::from(from.0[channel]) * alpha + below[channel] * (255 - alpha) + 127) / 255) as u8
            };
            *to = Rgb([mix(0), mix(1), mix(2)]);
        }
        flat
    }

    fn into_srgb(self) -> DynamicImage {
        let converted = self.icc.as_deref().and_then(|icc| color_profile::to_srgb(&self.pixels, icc));
        converted.unwrap_or(self.pixels)
    }

    /// Drops the picture and keeps its memory for the next one made on this thread.
    pub fn recycle(self) {
        buffer_pool::recycle(self.pixels);
    }
}

/// One channel of one pixel, as a number from 0 to 1.
pub(super) trait Sample: image::Primitive {
    fn to_unit(self) -> f32;
    fn from_unit(unit: f32) -> Self;
}

impl Sample for u8 {
    fn to_unit(self) -> f32 {
        f32::from(self) * (1.0 / 255.0)
    }

    fn from_unit(unit: f32) -> Self {
        (unit * 255.0 + 0.5) as u8
    }
}

impl Sample for u16 {
    fn to_unit(self) -> f32 {
        f32::from(self) * (1.0 / 65535.0)
    }

    fn from_unit(unit: f32) -> Self {
        (unit * 65535.0 + 0.5) as u16
    }
}

/// Runs the same code on any pixel buffer. `$channels` is a constant inside `$body`, which returns an `Option` of a
/// buffer of the same kind.
macro_rules! map_buffer {
    ($pixels:expr, |$buffer:ident, $channels:ident| $body:expr) => {
        match $pixels {
            image::DynamicImage::ImageLuma8($buffer) => {
                const $channels: usize = 1;
                $body.map(image::DynamicImage::ImageLuma8)
            }
            image::DynamicImage::ImageLumaA8($buffer) => {
                const $channels: usize = 2;
                $body.map(image::DynamicImage::ImageLumaA8)
            }
            image::DynamicImage::ImageRgb8($buffer) => {
                const $channels: usize = 3;
                $body.map(image::DynamicImage::ImageRgb8)
            }
            image::DynamicImage::ImageRgba8($buffer) => {
                const $channels: usize = 4;
                $body.map(image::DynamicImage::ImageRgba8)
            }
            image::DynamicImage::ImageLuma16($buffer) => {
                const $channels: usize = 1;
                $body.map(image::DynamicImage::ImageLuma16)
            }
            image::DynamicImage::ImageLumaA16($buffer) => {
                const $channels: usize = 2;
                $body.map(image::DynamicImage::ImageLumaA16)
            }
            image::DynamicImage::ImageRgb16($buffer) => {
                const $channels: usize = 3;
                $body.map(image::DynamicImage::ImageRgb16)
            }
            image::DynamicImage::ImageRgba16($buffer) => {
                const $channels: usize = 4;
                $body.map(image::DynamicImage::ImageRgba16)
            }
            _ => None,
        }
        .ok_or_else(|| $crate::ImagingError::failed("pixels of an unexpected kind or size"))
    };
}
pub(super) use map_buffer;

/// The same for code that paints in place on a colour picture; call `into_color` first.
macro_rules! paint_buffer {
    ($pixels:expr, |$buffer:ident| $body:expr) => {
        match $pixels {
            image::DynamicImage::ImageRgb8($buffer) => Ok($body),
            image::DynamicImage::ImageRgba8($buffer) => Ok($body),
            image::DynamicImage::ImageRgb16($buffer) => Ok($body),
            image::DynamicImage::ImageRgba16($buffer) => Ok($body),
            _ => Err($crate::ImagingError::failed("colour drawn on pixels without colour")),
        }
    };
}
pub(super) use paint_buffer;
