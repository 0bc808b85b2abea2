//! Several pictures on one canvas. Where each goes is in `arrange` and `rows`; here they are put there, with their
//! captions, one at a time.

mod arrange;
mod rows;
#[cfg(test)]
mod tests;

use image::{DynamicImage, ImageBuffer, Pixel, Rgb, Rgba};
use serde::{Deserialize, Serialize};

use self::arrange::{Arrangement, Caption, arrange};
use super::Fit;
use crate::paint::{self, Form};
use crate::sources::{Sources, Unusable, at, flattened, sized, with_alpha};
use crate::text::{Align, Block, Lines, Setting};
use crate::{Color, Fonts, Format, ImagingError, Picture, PixelRect, Work};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollageLayout {
    /// Rows as in a photo album: every picture whole, every row as wide as the others.
    #[default]
    Grid,
    Row,
    Column,
    /// Exactly two, of the same height, with a line between them.
    BeforeAfter,
    /// Small, all in cells of a size, each with its caption below.
    ContactSheet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    Color(Color),
    Transparent,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Collage {
    pub layout: CollageLayout,
    /// Pictures per row, in cells of a size, for grids and contact sheets.
    pub columns: Option<u32>,
    /// The longer side. Without one it is 2048, or less if that would only enlarge every picture.
    pub longest: Option<u32>,
    /// Between pictures and around them, in pixels.
    pub gap: Option<u32>,
    pub background: Background,
    /// One per picture, or none at all; an empty one is not written.
    pub captions: Vec<String>,
}

pub(super) const DEFAULT_LONGEST: u32 = 2048;

impl Collage {
    /// More pixels than the canvas will have.
    pub fn most_pixels(&self) -> u64 {
        u64::from(self.longest.unwrap_or(DEFAULT_LONGEST)).pow(2)
    }
}

/// A picture in its place.
#[derive(Debug, Clone, PartialEq)]
struct Place {
    cell: PixelRect,
    /// What becomes of a picture of another shape than its cell.
    fit: Fit,
    caption: Option<Caption>,
}

pub fn collage(sources: &Sources, collage: &Collage, work: &Work) -> Result<Picture, Unusable> {
    let arrangement = arrange(&sources.sizes()?, collage)?;
    work.limits.check(arrangement.width, arrangement.height)?;
    let pixels: DynamicImage = match collage.background {
        Background::Color(color) => {
            let blank = Rgb([color.r, color.g, color.b]);
            compose(sources, collage, &arrangement, blank, |picture| flattened(picture, color), work)?.into()
        }
        Background::Transparent => {
            compose(sources, collage, &arrangement, Rgba([0; 4]), with_alpha, work)?.into()
        }
    };
    let format = if sources.are_graphics() { Format::Png } else { Format::Jpeg };
    Ok(Picture::new(pixels, format))
}

fn compose<P: Pixel<Subpixel = u8>>(
    sources: &Sources,
    collage: &Collage,
    arrangement: &Arrangement,
    blank: P,
    pixels_of: impl Fn(Picture) -> ImageBuffer<P, Vec<u8>>,
    work: &Work,
) -> Result<ImageBuffer<P, Vec<u8>>, Unusable> {
    let mut canvas = ImageBuffer::from_pixel(arrangement.width, arrangement.height, blank);
    for (index, place) in arrangement.places.iter().enumerate() {
        work.go_on()?;
        let cell = place.cell;
        let picture = sources.open(index, work)?;
        let picture = sized(picture, cell.width, cell.height, place.fit, work).map_err(at(index))?;
        put(&mut canvas, &pixels_of(picture), cell);
    }
    let on = match collage.background {
        Background::Color(color) => color,
        Background::Transparent => Color::WHITE,
    };
    for line in &arrangement.dividers {
        let form = Form::Rectangle { bounds: (*line).into(), radius: 0.0 };
        paint::fill(&mut canvas, form, *line, Color::WHITE, 1.0);
    }
    for (index, place) in arrangement.places.iter().enumerate() {
        let text = match collage.captions.get(index) {
            Some(text) => text.as_str(),
            None if collage.layout == CollageLayout::BeforeAfter => ["Before", "After"][index.min(1)],
            None => "",
        };
        if let Some(caption) = place.caption {
            write(&mut canvas, text, caption, place.cell, on, &work.fonts);
        }
    }
    Ok(canvas)
}

/// In the middle of its cell, of which it may fill less than all.
fn put<P: Pixel<Subpixel = u8>>(
    canvas: &mut ImageBuffer<P, Vec<u8>>,
    picture: &ImageBuffer<P, Vec<u8>>,
    cell: PixelRect,
) {
    let channels = usize::from(P::CHANNEL_COUNT);
    let (width, height) = (picture.width().min(cell.width), picture.height().min(cell.height));
    let left = (cell.x + (cell.width - width) / 2) as usize * channels;
    let top = (cell.y + (cell.height - height) / 2) as usize;
    let length = width as usize * channels;
    let (from_row, to_row) = (picture.width() as usize * channels, canvas.width() as usize * channels);
    let rows = picture.as_raw().chunks(from_row.max(1)).take(height as usize);
    for (from, to) in rows.zip(canvas.chunks_mut(to_row.max(1)).skip(top)) {
        if let (Some(from), Some(to)) = (from.get(..length), to.get_mut(left..left + length)) {
            to.copy_from_slice(from);
        }
    }
}

fn write<P: Pixel<Subpixel = u8>>(
    canvas: &mut ImageBuffer<P, Vec<u8>>,
    text: &str,
    caption: Caption,
    cell: PixelRect,
    on: Color,
    fonts: &Fonts,
) {
    let line = |size: f32, width: f32| {
        let room = (width, size * 2.0);
        Block::new(fonts, text, &Setting { size, room, lines: Lines::One, align: Align::Left, edge: 0.0 })
    };
    match caption {
        Caption::Below { area, size } => {
            let Some(line) = line(size, area.width as f32) else { return };
            let x = area.x + area.width.saturating_sub(line.width()) / 2;
            line.draw(canvas, (x, area.y), area, on.readable_on_top());
        }
        Caption::Inside { size, top } => {
            let pad = (size * 0.45).round();
            let Some(line) = line(size, cell.width as f32 - 6.0 * pad) else { return };
            let width = ((line.width() as f32 + 2.0 * pad).ceil() as u32).min(cell.width);
            let height = ((size + pad).ceil() as u32).min(cell.height);
            let inset = (pad as u32 * 2).min((cell.width - width) / 2).min((cell.height - height) / 2);
            let y = if top { cell.y + inset } else { cell.bottom() - inset - height };
            let plate = PixelRect { x: cell.x + inset, y, width, height };
            let form = Form::Rectangle { bounds: plate.into(), radius: pad };
            paint::fill(canvas, form, plate, Color::rgb(16, 16, 16), 0.68);
            let middle = |side: u32, inner: u32| side.saturating_sub(inner) / 2;
            let at = (plate.x + middle(width, line.width()), y + middle(height, line.height()));
            line.draw(canvas, at, plate, Color::WHITE);
        }
    }
}

impl Background {
    pub fn parse(text: &str) -> Result<Self, ImagingError> {
        if text.trim().eq_ignore_ascii_case("transparent") {
            return Ok(Self::Transparent);
        }
        Color::parse(text).map(Self::Color)
    }
}

impl Default for Background {
    fn default() -> Self {
        Self::Color(Color::WHITE)
    }
}
