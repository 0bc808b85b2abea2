//! Combines several pictures on one canvas. `arrange` and `rows` compute the layout; here the pictures and captions
//! are drawn, one at a time.

mod arrange;
mod rows;
#[cfg(test)]
mod tests;

use image::{DynamicImage, ImageBuffer, Pixel, Rgb, Rgba};
use serde::{Deserialize, Serialize};

use self::arrange::{Arrangement, Caption, arrange};
use super::{Fit, resize_to_cell};
use crate::paint::{self, PaintShape};
use crate::text::{Align, Lines, TextBlock, TextStyle};
use crate::{Color, EditContext, Fonts, Format, ImagingError, Picture, PixelRect, SourceError, Sources};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollageLayout {
    /// Rows as in a photo album: whole pictures, all rows equally wide.
    #[default]
    Grid,
    Row,
    Column,
    /// Exactly two pictures of the same height, with a line between them.
    BeforeAfter,
    /// Small pictures in cells of one size, each with its caption below.
    ContactSheet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollageBackground {
    Color(Color),
    Transparent,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Collage {
    pub layout: CollageLayout,
    /// Pictures per row, in cells of one size, for grids and contact sheets.
    pub columns: Option<u32>,
    /// The longer side. Defaults to 2048, or less if that would only enlarge every picture.
    pub longest: Option<u32>,
    /// Between pictures and around them, in pixels.
    pub gap: Option<u32>,
    pub background: CollageBackground,
    /// One per picture, or none at all; empty captions are not drawn.
    pub captions: Vec<String>,
}

pub(super) const DEFAULT_LONGEST: u32 = 2048;

impl Collage {
    /// An upper bound for the pixels of the canvas.
    pub fn most_pixels(&self) -> u64 {
        u64::from(self.longest.unwrap_or(DEFAULT_LONGEST)).pow(2)
    }
}

/// Where a picture goes on the canvas.
#[derive(Debug, Clone, PartialEq)]
struct CollageCell {
    rect: PixelRect,
    /// How a picture of another shape is fitted into its cell.
    fit: Fit,
    caption: Option<Caption>,
}

pub fn collage(sources: &Sources, collage: &Collage, context: &EditContext) -> Result<Picture, SourceError> {
    let arrangement = arrange(&sources.sizes()?, collage)?;
    context.limits.check(arrangement.width, arrangement.height)?;
    let pixels: DynamicImage = match collage.background {
        CollageBackground::Color(color) => {
            let blank = Rgb([color.r, color.g, color.b]);
            compose(sources, collage, &arrangement, blank, |picture| picture.flatten_onto(color), context)?
                .into()
        }
        CollageBackground::Transparent => {
            compose(sources, collage, &arrangement, Rgba([0; 4]), Picture::into_srgb_rgba8, context)?.into()
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
    context: &EditContext,
) -> Result<ImageBuffer<P, Vec<u8>>, SourceError> {
    let mut canvas = ImageBuffer::from_pixel(arrangement.width, arrangement.height, blank);
    for (index, cell) in arrangement.cells.iter().enumerate() {
        context.check_stopped()?;
        let rect = cell.rect;
        let picture = sources.open(index, context)?;
        let picture = resize_to_cell(picture, rect.width, rect.height, cell.fit, context)
            .map_err(SourceError::at(index))?;
        draw_picture(&mut canvas, &pixels_of(picture), rect);
    }
    let on = match collage.background {
        CollageBackground::Color(color) => color,
        CollageBackground::Transparent => Color::WHITE,
    };
    for line in &arrangement.dividers {
        let form = PaintShape::Rectangle { bounds: (*line).into(), radius: 0.0 };
        paint::fill(&mut canvas, form, *line, Color::WHITE, 1.0);
    }
    for (index, cell) in arrangement.cells.iter().enumerate() {
        let text = match collage.captions.get(index) {
            Some(text) => text.as_str(),
            None if collage.layout == CollageLayout::BeforeAfter => ["Before", "After"][index.min(1)],
            None => "",
        };
        if let Some(caption) = cell.caption {
            draw_caption(&mut canvas, text, caption, cell.rect, on, &context.fonts);
        }
    }
    Ok(canvas)
}

/// Centres the picture in its cell; it may fill less than all of it.
fn draw_picture<P: Pixel<Subpixel = u8>>(
    canvas: &mut ImageBuffer<P, Vec<u8>>,
    picture: &ImageBuffer<P, Vec<u8>>,
    rect: PixelRect,
) {
    let channels = usize::from(P::CHANNEL_COUNT);
    let (width, height) = (picture.width().min(rect.width), picture.height().min(rect.height));
    let left = (rect.x + (rect.width - width) / 2) as usize * channels;
    let top = (rect.y + (rect.height - height) / 2) as usize;
    let length = width as usize * channels;
    let (from_row, to_row) = (picture.width() as usize * channels, canvas.width() as usize * channels);
    let rows = picture.as_raw().chunks(from_row.max(1)).take(height as usize);
    for (from, to) in rows.zip(canvas.chunks_mut(to_row.max(1)).skip(top)) {
        if let (Some(from), Some(to)) = (from.get(..length), to.get_mut(left..left + length)) {
            to.copy_from_slice(from);
        }
    }
}

fn draw_caption<P: Pixel<Subpixel = u8>>(
    canvas: &mut ImageBuffer<P, Vec<u8>>,
    text: &str,
    caption: Caption,
    rect: PixelRect,
    on: Color,
    fonts: &Fonts,
) {
    let line = |size: f32, width: f32| {
        let area = (width, size * 2.0);
        TextBlock::new(
            fonts,
            text,
            &TextStyle { size, area, lines: Lines::One, align: Align::Left, edge: 0.0 },
        )
    };
    match caption {
        Caption::Below { area, size } => {
            let Some(line) = line(size, area.width as f32) else { return };
            let x = area.x + area.width.saturating_sub(line.width()) / 2;
            line.draw(canvas, (x, area.y), area, on.readable_on_top());
        }
        Caption::Inside { size, top } => {
            let pad = (size * 0.45).round();
            let Some(line) = line(size, rect.width as f32 - 6.0 * pad) else { return };
            let width = ((line.width() as f32 + 2.0 * pad).ceil() as u32).min(rect.width);
            let height = ((size + pad).ceil() as u32).min(rect.height);
            let inset = (pad as u32 * 2).min((rect.width - width) / 2).min((rect.height - height) / 2);
            let y = if top { rect.y + inset } else { rect.bottom() - inset - height };
            let plate = PixelRect { x: rect.x + inset, y, width, height };
            let form = PaintShape::Rectangle { bounds: plate.into(), radius: pad };
            paint::fill(canvas, form, plate, Color::rgb(16, 16, 16), 0.68);
            let middle = |side: u32, inner: u32| side.saturating_sub(inner) / 2;
            let at = (plate.x + middle(width, line.width()), y + middle(height, line.height()));
            line.draw(canvas, at, plate, Color::WHITE);
        }
    }
}

impl CollageBackground {
    pub fn parse(text: &str) -> Result<Self, ImagingError> {
        if text.trim().eq_ignore_ascii_case("transparent") {
            return Ok(Self::Transparent);
        }
        Color::parse(text).map(Self::Color)
    }
}

impl Default for CollageBackground {
    fn default() -> Self {
        Self::Color(Color::WHITE)
    }
}
