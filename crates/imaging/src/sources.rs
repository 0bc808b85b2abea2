//! Several pictures on their way into one. They stay files until their turn comes, so that only one of them is
//! decoded at a time, and each is brought to the colours (sRGB, 8 bits) that the common picture has.

use bytes::Bytes;
use image::{DynamicImage, Rgb, RgbImage, RgbaImage};

use super::ops::{Fit, ResizeTo, resize};
use super::{Color, Format, ImagingError, Picture, Work, decode, probe, profile};

#[derive(Debug, Clone)]
pub struct Sources(Vec<Bytes>);

/// Why nothing came of several pictures, and whose fault it is if it is one picture's alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Unusable {
    pub index: Option<usize>,
    pub error: ImagingError,
}

impl From<ImagingError> for Unusable {
    fn from(error: ImagingError) -> Self {
        Self { index: None, error }
    }
}

impl Sources {
    pub fn new(files: Vec<Bytes>) -> Self {
        Self(files)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Upright, from the header alone.
    pub fn size(&self, index: usize) -> Result<(u32, u32), Unusable> {
        let probe = self.header(index)?;
        Ok((probe.width, probe.height))
    }

    pub(super) fn sizes(&self) -> Result<Vec<(u32, u32)>, Unusable> {
        (0..self.len()).map(|index| self.size(index)).collect()
    }

    pub fn open(&self, index: usize, work: &Work) -> Result<Picture, Unusable> {
        self.file(index).and_then(|bytes| decode(bytes, work)).map_err(at(index))
    }

    /// Which pictures cannot be opened, from `first` on. One that fails costs a new arrangement of the rest, so it
    /// pays to know them all before that.
    pub fn damaged(&self, first: usize, work: &Work) -> Result<Vec<(usize, ImagingError)>, ImagingError> {
        let mut damaged = Vec::new();
        for index in first..self.len() {
            match self.open(index, work) {
                Ok(_) => {}
                Err(Unusable { error: ImagingError::Stopped, .. }) => return Err(ImagingError::Stopped),
                Err(Unusable { error, .. }) => damaged.push((index, error)),
            }
        }
        Ok(damaged)
    }

    pub fn remove(&mut self, index: usize) {
        if index < self.0.len() {
            self.0.remove(index);
        }
    }

    /// Whether something may shine through every one of them.
    pub(super) fn all_have_alpha(&self) -> bool {
        (0..self.len()).all(|index| self.header(index).is_ok_and(|probe| probe.alpha))
    }

    /// Whether none of them is of a format that photos come in: then neither should be what is made of them.
    pub(super) fn are_graphics(&self) -> bool {
        let is_graphic = |format| matches!(format, Format::Png | Format::Gif | Format::Bmp | Format::Tiff);
        (0..self.len()).all(|index| self.header(index).is_ok_and(|probe| is_graphic(probe.format)))
    }

    fn header(&self, index: usize) -> Result<super::Probe, Unusable> {
        self.file(index).and_then(|bytes| probe(bytes)).map_err(at(index))
    }

    fn file(&self, index: usize) -> Result<&Bytes, ImagingError> {
        self.0.get(index).ok_or_else(|| ImagingError::failed("no such source"))
    }
}

pub(super) fn at(index: usize) -> impl Fn(ImagingError) -> Unusable {
    move |error| match error {
        ImagingError::Stopped => Unusable { index: None, error },
        error => Unusable { index: Some(index), error },
    }
}

/// A picture brought to the size of its place. A shape that is nearly the place's is stretched by the last pixel
/// rather than cut; `fit` says what becomes of others.
pub(super) fn sized(
    picture: Picture,
    width: u32,
    height: u32,
    fit: Fit,
    work: &Work,
) -> Result<Picture, ImagingError> {
    let (w, h) = (f64::from(picture.width()), f64::from(picture.height()));
    let off = (w * f64::from(height) / (h * f64::from(width))).ln().abs();
    let fit = if off < 0.02 { Fit::Stretch } else { fit };
    let to = ResizeTo::new(Some(width.into()), Some(height.into()), None, None, Some(fit))?;
    resize(picture, to, work)
}

/// What shines through shows `background`.
pub(super) fn flattened(picture: Picture, background: Color) -> RgbImage {
    if !picture.has_alpha() {
        return in_srgb(picture).into_rgb8();
    }
    let pixels = with_alpha(picture);
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

pub(super) fn with_alpha(picture: Picture) -> RgbaImage {
    in_srgb(picture).into_rgba8()
}

/// Pictures of different colour spaces can only meet in one that all of them know.
fn in_srgb(picture: Picture) -> DynamicImage {
    let shown = picture.icc.as_deref().and_then(|icc| profile::to_srgb(&picture.pixels, icc));
    shown.unwrap_or(picture.pixels)
}
