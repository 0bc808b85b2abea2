//! Converts an image file to another format, quality, size in bytes or metadata policy. Pixels are re-encoded only if
//! the request needs it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use image::DynamicImage;
use serde::Deserialize;

use crate::codecs::{embed, encode_jpeg, encode_png, profile_to_write};
use crate::file::{has_position, read_exif, read_header, read_portable_exif, strip_metadata};
use crate::format::JPEG_MAX_SIDE;
use crate::ops::{ResizeTo, resized};
use crate::{EditContext, Encoded, Format, ImagingError, Picture, color_profile, decode, palette};

/// The lowest quality of the search. Below it, a smaller picture looks better than a coarser one.
const MIN_QUALITY: u8 = 35;
/// The quality to aim for when the picture must be scaled down.
const SCALED_QUALITY: u8 = 60;
const DEFAULT_WEBP_QUALITY: u8 = 85;
const WEBP_MAX_SIDE: u32 = 16_383;
const GIF_MAX_SIDE: u32 = 65_535;
/// The most bytes that a file format adds around an embedded block.
const MAX_CHUNK_OVERHEAD: u64 = 64;
/// The search gives up below this side length.
const MIN_SIDE: u32 = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConversionFormat {
    Jpeg,
    Png,
    WebP,
    Gif,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetadataPolicy {
    #[default]
    Strip,
    Keep,
}

/// The requested output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conversion {
    pub to: ConversionFormat,
    /// 1 to 100, for JPEG and lossy WebP.
    pub quality: Option<u8>,
    pub max_bytes: Option<u64>,
    pub metadata: MetadataPolicy,
    /// For WebP.
    pub lossless: bool,
}

impl ConversionFormat {
    pub fn format(self) -> Format {
        match self {
            Self::Jpeg => Format::Jpeg,
            Self::Png => Format::Png,
            Self::WebP => Format::WebP,
            Self::Gif => Format::Gif,
        }
    }

    fn max_side(self) -> u32 {
        match self {
            Self::Jpeg => JPEG_MAX_SIDE,
            Self::Png => u32::MAX,
            Self::WebP => WEBP_MAX_SIDE,
            Self::Gif => GIF_MAX_SIDE,
        }
    }

    fn check_side(self, side: u32) -> Result<(), ImagingError> {
        if side <= self.max_side() {
            return Ok(());
        }
        Err(ImagingError::BadArgument(format!(
            "A {} picture can be at most {} pixels per side, but this one has {side}. Use png, or make it smaller \
             with resize_image first.",
            self.format(),
            self.max_side()
        )))
    }
}

pub fn convert(bytes: &[u8], request: &Conversion, context: &EditContext) -> Result<Encoded, ImagingError> {
    let (format, stored) = read_header(bytes)?;
    context.limits.check(stored.extent.0, stored.extent.1)?;
    let exif = match request.metadata {
        MetadataPolicy::Keep => read_portable_exif(bytes, format),
        MetadataPolicy::Strip => None,
    };
    request.to.check_side(stored.width.max(stored.height))?;
    let mut notes = Vec::new();
    let upright = stored.orientation == image::metadata::Orientation::NoTransforms;
    let encoded = match copy_without_reencoding(bytes, format, request).filter(|_| upright) {
        Some(encoded) => {
            notes.push(format!("It was {format} already: its pixels were not touched"));
            encoded
        }
        None => {
            let picture = decode(bytes, context)?;
            if stored.animated {
                notes.push("It was animated: only its first frame was taken".to_owned());
            }
            encode_with_metadata(picture, request, exif.clone(), &mut notes, context)?
        }
    };
    notes.extend(describe_metadata(request, exif));
    Ok(with_note(encoded, notes))
}

/// The same for a picture that is not a file, and so has no metadata to keep.
pub fn convert_picture(
    picture: Picture,
    request: &Conversion,
    context: &EditContext,
) -> Result<Encoded, ImagingError> {
    request.to.check_side(picture.width().max(picture.height()))?;
    let mut notes = Vec::new();
    let encoded = encode_with_metadata(picture, request, None, &mut notes, context)?;
    notes.extend(describe_metadata(request, None));
    Ok(with_note(encoded, notes))
}

fn with_note(encoded: Encoded, mut notes: Vec<String>) -> Encoded {
    notes.push(describe_size(encoded.bytes.len() as u64));
    Encoded { note: Some(notes.join(". ") + "."), ..encoded }
}

fn encode_with_metadata(
    picture: Picture,
    request: &Conversion,
    exif: Option<Vec<u8>>,
    notes: &mut Vec<String>,
    context: &EditContext,
) -> Result<Encoded, ImagingError> {
    let picture = drop_heavy_profile(prepare_pixels(picture, request.to, notes)?, request);
    // Chosen before the size search, because it counts towards the size.
    let block = exif.filter(|_| request.to != ConversionFormat::Gif);
    // PNG and JPEG encoders write the profile themselves; GIF cannot hold one.
    let icc = profile_to_write(&picture).1.filter(|_| request.to == ConversionFormat::WebP);
    let added = [block.as_ref().map(Vec::len), icc.map(<[u8]>::len)];
    let overhead = added.into_iter().flatten().map(|length| length as u64 + MAX_CHUNK_OVERHEAD).sum();
    let made = SizeSearch { request, overhead, context }.run(&picture, notes)?;
    embed(made, block, icc)
}

/// The file itself, without its metadata if asked. `None` if the request needs new pixels.
fn copy_without_reencoding(bytes: &[u8], format: Format, request: &Conversion) -> Option<Encoded> {
    if format != request.to.format() || request.quality.is_some() || request.lossless {
        return None;
    }
    // Also checked when metadata is kept: a file with a broken structure must not be passed on.
    let stripped = catch_unwind(|| strip_metadata(bytes, format)).ok()??;
    let file = match request.metadata {
        MetadataPolicy::Strip => stripped,
        MetadataPolicy::Keep => bytes.to_vec(),
    };
    let fits = request.max_bytes.is_none_or(|most| file.len() as u64 <= most);
    fits.then(|| Encoded::new(file, format))
}

fn describe_metadata(request: &Conversion, exif: Option<Vec<u8>>) -> Option<String> {
    if request.metadata == MetadataPolicy::Strip {
        return None;
    }
    let Some(exif) = exif else { return Some("It had no Exif data to keep".to_owned()) };
    if request.to == ConversionFormat::Gif {
        return Some("GIF has no place for Exif data, so it was left out".to_owned());
    }
    let position = read_exif(exif).is_some_and(|exif| has_position(&exif));
    Some(if position {
        "Exif data kept. Careful: the place where it was taken (GPS) is in the file".to_owned()
    } else {
        "Exif data kept".to_owned()
    })
}

/// Converts pixels to what the format can hold, and notes what is lost.
fn prepare_pixels(
    picture: Picture,
    to: ConversionFormat,
    notes: &mut Vec<String>,
) -> Result<Picture, ImagingError> {
    let color = picture.pixels.color();
    if to != ConversionFormat::Png && color.bytes_per_pixel() / color.channel_count() == 2 {
        notes.push(format!("16 bits per channel became 8: {} holds no more", to.format()));
    }
    if to != ConversionFormat::Jpeg || !picture.has_alpha() {
        return Ok(picture);
    }
    let hidden = !picture.is_opaque();
    if hidden {
        notes.push("JPEG has no transparency: what shone through is white now".to_owned());
    }
    picture.try_map(|pixels| Ok(flatten_onto_white(&pixels)))
}

/// Converts the colours to sRGB and drops the profile if it would fill a good part of a small file.
fn drop_heavy_profile(picture: Picture, request: &Conversion) -> Picture {
    let heavy = |icc: &&[u8]| request.max_bytes.is_some_and(|most| icc.len() as u64 > most / 8);
    let converted =
        picture.icc.as_deref().filter(heavy).and_then(|icc| color_profile::to_srgb(&picture.pixels, icc));
    match converted {
        Some(pixels) => picture.with_pixels(pixels).with_icc(None),
        None => picture,
    }
}

fn flatten_onto_white(pixels: &DynamicImage) -> DynamicImage {
    let blend = |color: u8, alpha: u8| {
        let (color, alpha) = (u32::from(color), u32::from(alpha));
        ((color * alpha + 255 * (255 - alpha) + 127) / 255) as u8
    };
    if pixels.color().has_color() {
        let source = pixels.to_rgba8();
        let flat = image::RgbImage::from_fn(source.width(), source.height(), |x, y| {
            let [color @ .., alpha] = source.get_pixel(x, y).0;
            image::Rgb(color.map(|channel| blend(channel, alpha)))
        });
        DynamicImage::ImageRgb8(flat)
    } else {
        let source = pixels.to_luma_alpha8();
        let flat = image::GrayImage::from_fn(source.width(), source.height(), |x, y| {
            let [gray, alpha] = source.get_pixel(x, y).0;
            image::Luma([blend(gray, alpha)])
        });
        DynamicImage::ImageLuma8(flat)
    }
}

struct SizeSearch<'a> {
    request: &'a Conversion,
    /// Bytes that will be added to the file afterwards.
    overhead: u64,
    context: &'a EditContext,
}

impl SizeSearch<'_> {
    fn run(&self, picture: &Picture, notes: &mut Vec<String>) -> Result<Encoded, ImagingError> {
        let best = self.request.quality.unwrap_or(match self.request.to {
            ConversionFormat::WebP => DEFAULT_WEBP_QUALITY,
            _ => picture.compression.edit_quality(),
        });
        let Some(most) = self.request.max_bytes.map(|most| most.saturating_sub(self.overhead)) else {
            notes.extend(self.has_quality().then(|| format!("Quality {best}")));
            return self.encode(picture, best);
        };
        if let Some((encoded, quality)) = self.find_quality(picture, best, most)? {
            notes.extend(self.has_quality().then(|| format!("Quality {quality}")));
            return Ok(encoded);
        }
        self.scale_down(picture, best, most, notes)
    }

    /// The best quality that stays within `most` bytes, if any.
    fn find_quality(
        &self,
        picture: &Picture,
        best: u8,
        most: u64,
    ) -> Result<Option<(Encoded, u8)>, ImagingError> {
        let fits = |encoded: &Encoded| encoded.bytes.len() as u64 <= most;
        let first = self.encode(picture, best)?;
        if fits(&first) {
            return Ok(Some((first, best)));
        }
        drop(first);
        if !self.has_quality() || best <= MIN_QUALITY {
            return Ok(None);
        }
        let lowest = self.encode(picture, MIN_QUALITY)?;
        if !fits(&lowest) {
            return Ok(None);
        }
        let (mut found, mut fitting, mut too_large) = (lowest, MIN_QUALITY, best);
        while too_large - fitting > 1 {
            let middle = fitting + (too_large - fitting) / 2;
            let encoded = self.encode(picture, middle)?;
            if fits(&encoded) {
                (found, fitting) = (encoded, middle);
            } else {
                too_large = middle;
            }
        }
        Ok(Some((found, fitting)))
    }

    fn scale_down(
        &self,
        picture: &Picture,
        best: u8,
        most: u64,
        notes: &mut Vec<String>,
    ) -> Result<Encoded, ImagingError> {
        let longest = f64::from(picture.width().max(picture.height()));
        let aim = best.min(SCALED_QUALITY);
        let mut side = longest;
        let mut size = self.encode(picture, aim)?.bytes.len() as f64;
        loop {
            // Bytes follow the area. A little less, because small pictures have more detail per pixel.
            side = (side * (most as f64 / size).sqrt() * 0.97).min(side * 0.95).floor();
            if side < f64::from(MIN_SIDE) {
                return Err(ImagingError::BadArgument(self.describe_impossible_limit()));
            }
            let smaller = resized(picture, ResizeTo::longest(side as u32)?, self.context)?;
            if let Some((encoded, quality)) = self.find_quality(&smaller, best, most)? {
                notes.push(format!(
                    "Scaled down from {}×{} to {}×{}",
                    picture.width(),
                    picture.height(),
                    smaller.width(),
                    smaller.height()
                ));
                notes.extend(self.has_quality().then(|| format!("Quality {quality}")));
                return Ok(encoded);
            }
            size = self.encode(&smaller, aim)?.bytes.len() as f64;
        }
    }

    fn describe_impossible_limit(&self) -> String {
        let most = self.request.max_bytes.unwrap_or_default() / 1000;
        let way_out = match (self.request.to, self.overhead) {
            (_, 1..) => "Allow more, or strip the metadata.",
            (ConversionFormat::Png | ConversionFormat::Gif, _) => "Allow more, or use jpeg or webp.",
            _ => "Allow more.",
        };
        format!(
            "max_kb is {most}, which is too little for this picture as {}. {way_out}",
            self.request.to.format()
        )
    }

    fn has_quality(&self) -> bool {
        match self.request.to {
            ConversionFormat::Jpeg => true,
            ConversionFormat::WebP => !self.request.lossless,
            ConversionFormat::Png | ConversionFormat::Gif => false,
        }
    }

    fn encode(&self, picture: &Picture, quality: u8) -> Result<Encoded, ImagingError> {
        self.context.check_stopped()?;
        match self.request.to {
            ConversionFormat::Jpeg => encode_jpeg(picture, quality),
            ConversionFormat::Png => encode_png(picture),
            ConversionFormat::WebP => encode_webp(picture, quality, self.request.lossless),
            ConversionFormat::Gif => encode_gif(picture, self.context),
        }
    }
}

/// Does not write the colour profile; it is embedded afterwards.
fn encode_webp(picture: &Picture, quality: u8, lossless: bool) -> Result<Encoded, ImagingError> {
    let (other, _) = profile_to_write(picture);
    let pixels = other.as_ref().unwrap_or(&picture.pixels);
    let converted;
    let pixels = match pixels {
        DynamicImage::ImageRgb8(_) | DynamicImage::ImageRgba8(_) => pixels,
        other => {
            converted = if other.color().has_alpha() {
                DynamicImage::ImageRgba8(other.to_rgba8())
            } else {
                DynamicImage::ImageRgb8(other.to_rgb8())
            };
            &converted
        }
    };
    let (width, height) = (pixels.width(), pixels.height());
    let layout = if pixels.color().has_alpha() { webp::PixelLayout::Rgba } else { webp::PixelLayout::Rgb };
    let encoded = catch_unwind(AssertUnwindSafe(|| {
        let encoder = webp::Encoder::new(pixels.as_bytes(), layout, width, height);
        encoder.encode_simple(lossless, f32::from(quality)).map(|memory| memory.to_vec())
    }));
    let bytes = encoded
        .map_err(|_| ImagingError::failed("the WebP encoder panicked"))?
        .map_err(|error| ImagingError::failed(format!("{error:?}")))?;
    Ok(Encoded::new(bytes, Format::WebP))
}

fn encode_gif(picture: &Picture, context: &EditContext) -> Result<Encoded, ImagingError> {
    let side = |pixels: u32| u16::try_from(pixels).map_err(ImagingError::failed);
    let (width, height) = (side(picture.width())?, side(picture.height())?);
    // GIF cannot hold a profile, so the colours are converted.
    let ordinary = match profile_to_write(picture) {
        (None, Some(profile)) => color_profile::to_srgb(&picture.pixels, profile),
        (other, _) => other,
    };
    let pixels = ordinary.as_ref().unwrap_or(&picture.pixels).to_rgba8();
    let indexed = palette::quantize(&pixels, context)?;
    let mut bytes = Vec::new();
    let mut encoder =
        ::gif::Encoder::new(&mut bytes, width, height, &indexed.palette).map_err(ImagingError::failed)?;
    let frame = ::gif::Frame {
        width,
        height,
        buffer: indexed.indices.into(),
        transparent: indexed.transparent,
        ..Default::default()
    };
    encoder.write_frame(&frame).map_err(ImagingError::failed)?;
    drop(encoder);
    Ok(Encoded::new(bytes, Format::Gif))
}

/// In thousands of bytes, like the limits in requests.
fn describe_size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{:.1} MB", bytes as f64 / 1_000_000.0),
    }
}
