//! Animated GIF and WebP: editing every frame, and making an animation from stills. One frame is in memory at a time;
//! only the encoded output grows.

mod animate;
mod gif;
mod scan;
#[cfg(test)]
mod tests;
mod webp;

pub use animate::{Animation, AnimationFormat, animate};

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use image::codecs::{gif::GifDecoder, webp::WebPDecoder};
use image::{AnimationDecoder, DynamicImage, Frames, ImageDecoder, ImageError, ImageResult, RgbaImage};

use self::scan::AnimationHeader;
use crate::file::{decoder_error, read_header};
use crate::{EditContext, Encoded, Format, ImagingError, Limits, Picture, TooLarge, geometry, probe};

/// The largest animation that is written.
pub const MAX_ANIMATION_BYTES: u64 = 64 << 20;

const MAX_FRAMES: u64 = 500;
/// All frames together may have this many times the pixels of the largest allowed picture.
const MAX_TOTAL_PICTURES: u64 = 10;

/// Whether [`edit_frames`] applies to this file. An APNG counts as a still: only its first frame is edited.
pub fn is_animated(bytes: &[u8]) -> bool {
    matches!(Format::sniff(bytes), Some(Format::Gif | Format::WebP))
        && probe(bytes).is_ok_and(|probe| probe.animated)
}

/// Edits every frame of an animated GIF or WebP as it is displayed. Delays and loop count stay.
pub fn edit_frames(
    bytes: &[u8],
    context: &EditContext,
    edit: &dyn Fn(Picture, &EditContext) -> Result<Picture, ImagingError>,
) -> Result<Encoded, ImagingError> {
    let (format, stored) = read_header(bytes)?;
    let limits = &context.limits;
    limits.check(stored.extent.0, stored.extent.1)?;
    let damaged = |detail: &str| ImagingError::Damaged { format, detail: detail.to_owned() };
    let header = match format {
        Format::Gif => scan::scan_gif_with_extent(bytes),
        Format::WebP => scan::scan_webp(bytes).map(|header| (header, (0, 0))),
        _ => None,
    };
    let (header, farthest) = header.ok_or_else(|| damaged("no frames"))?;
    // A later frame may be larger than the canvas, and the decoder allocates it.
    let extent = (stored.width.max(farthest.0), stored.height.max(farthest.1));
    check_length(header.frames, extent, limits)?;
    let catch_panic = |step: &mut dyn FnMut() -> Option<ImageResult<image::Frame>>| {
        catch_unwind(AssertUnwindSafe(step)).map_err(|_| damaged("the decoder panicked"))
    };
    let mut frames = catch_unwind(AssertUnwindSafe(|| open(bytes, format, limits)))
        .map_err(|_| damaged("the decoder panicked"))?
        .map_err(|error| decoder_error(format, error))?;
    let mut writer: Option<AnimationWriter> = None;
    while let Some(next) = catch_panic(&mut || frames.next())? {
        context.check_stopped()?;
        let frame = match next {
            Ok(frame) => frame,
            Err(ImageError::Limits(_)) => {
                return Err(TooLarge { width: stored.width, height: stored.height, limits: *limits }.into());
            }
            // Viewers show a truncated animation up to the cut, so edits do the same.
            Err(_) if writer.is_some() => break,
            Err(error) => return Err(decoder_error(format, error)),
        };
        let (numerator, denominator) = frame.delay().numer_denom_ms();
        let delay = (numerator + denominator / 2) / denominator.max(1);
        let pixels = geometry::orient(DynamicImage::ImageRgba8(frame.into_buffer()), stored.orientation)?;
        let edited = edit(Picture::new(pixels, format), context)?.pixels.into_rgba8();
        let writer = match &mut writer {
            Some(writer) => writer,
            none => {
                check_length(header.frames, edited.dimensions(), limits)?;
                none.insert(AnimationWriter::new(format, edited.dimensions(), &header)?)
            }
        };
        writer.add(edited, delay, context)?;
    }
    writer.ok_or_else(|| damaged("no frames"))?.finish(context)
}

fn open<'a>(bytes: &'a [u8], format: Format, limits: &Limits) -> ImageResult<Frames<'a>> {
    let reader = Cursor::new(bytes);
    Ok(match format {
        Format::WebP => {
            let mut decoder = WebPDecoder::new(reader)?;
            decoder.set_limits(limits.for_decoder())?;
            decoder.into_frames()
        }
        _ => {
            let mut decoder = GifDecoder::new(reader)?;
            decoder.set_limits(limits.for_decoder())?;
            decoder.into_frames()
        }
    })
}

fn check_length(frames: u64, (width, height): (u32, u32), limits: &Limits) -> Result<(), ImagingError> {
    limits.check(width, height)?;
    if frames > MAX_FRAMES {
        return Err(ImagingError::BadArgument(format!(
            "This animation has {frames} frames, which is too many: at most {MAX_FRAMES} are allowed. Use a \
             shorter one."
        )));
    }
    let most = limits.max_pixels.saturating_mul(MAX_TOTAL_PICTURES);
    if frames.saturating_mul(u64::from(width) * u64::from(height)) > most {
        return Err(ImagingError::BadArgument(format!(
            "This animation would have {frames} frames of {width}×{height}, which is too much: at most {} megapixels \
             in all frames together are allowed. Use a smaller or shorter one.",
            most / 1_000_000
        )));
    }
    Ok(())
}

/// Writes an animation. All frames have the size of the first.
enum AnimationWriter {
    Gif(gif::GifWriter),
    WebP(webp::WebpWriter),
}

impl AnimationWriter {
    fn new(format: Format, size: (u32, u32), header: &AnimationHeader) -> Result<Self, ImagingError> {
        match format {
            Format::WebP => {
                webp::WebpWriter::new(size, header.loop_count.unwrap_or(1), header.lossless).map(Self::WebP)
            }
            _ => gif::GifWriter::new(size, header.loop_count).map(Self::Gif),
        }
    }

    /// `delay` is the display time of the frame in milliseconds.
    fn add(&mut self, frame: RgbaImage, delay: u32, context: &EditContext) -> Result<(), ImagingError> {
        let size = match self {
            Self::Gif(writer) => writer.size(),
            Self::WebP(writer) => writer.size(),
        };
        if frame.dimensions() != size {
            return Err(ImagingError::BadArgument(
                "This edit gives the frames of the animation different sizes. Say the size or the region outright."
                    .to_owned(),
            ));
        }
        match self {
            Self::Gif(writer) => writer.add(frame, delay, context),
            Self::WebP(writer) => writer.add(frame, delay),
        }?;
        let written = match self {
            Self::Gif(writer) => writer.bytes(),
            Self::WebP(writer) => writer.bytes(),
        };
        if written as u64 > MAX_ANIMATION_BYTES {
            return Err(ImagingError::BadArgument(format!(
                "This animation would be larger than {} MB. Use a smaller or shorter one.",
                MAX_ANIMATION_BYTES >> 20
            )));
        }
        Ok(())
    }

    fn finish(self, context: &EditContext) -> Result<Encoded, ImagingError> {
        let (bytes, format) = match self {
            Self::Gif(writer) => (writer.finish(context)?, Format::Gif),
            Self::WebP(writer) => (writer.finish()?, Format::WebP),
        };
        Ok(Encoded::new(bytes, format))
    }
}

/// The smallest rectangle around all pixels in which two frames of one size differ: left, top, right, bottom.
fn find_changed_bounds(before: &RgbaImage, after: &RgbaImage) -> Option<(u32, u32, u32, u32)> {
    let row = |image: &RgbaImage, y: u32| {
        let length = image.width() as usize * 4;
        let start = y as usize * length;
        start..start + length
    };
    let mut bounds: Option<(u32, u32, u32, u32)> = None;
    for y in 0..after.height() {
        let (old, new) = (&before.as_raw()[row(before, y)], &after.as_raw()[row(after, y)]);
        if old == new {
            continue;
        }
        let differ = |(old, new): (&[u8; 4], &[u8; 4])| old != new;
        let mut pairs = old.as_chunks::<4>().0.iter().zip(new.as_chunks::<4>().0);
        let first = pairs.clone().position(differ).unwrap_or(0) as u32;
        let last = pairs.rposition(differ).unwrap_or(0) as u32;
        bounds = Some(match bounds {
            None => (first, y, last + 1, y + 1),
            Some((left, top, right, _)) => (left.min(first), top, right.max(last + 1), y + 1),
        });
    }
    bounds
}
