//! Computes the cell of each picture of a collage and the position of its caption. Works on sizes only, without
//! pixels.

use super::rows::{balance_rows, lay_out_rows};
use super::{Collage, CollageCell, CollageLayout, DEFAULT_LONGEST};
use crate::ops::Fit;
use crate::{ImagingError, PixelRect};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arrangement {
    pub width: u32,
    pub height: u32,
    pub cells: Vec<CollageCell>,
    pub dividers: Vec<PixelRect>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Caption {
    /// On the background.
    Below { area: PixelRect, size: f32 },
    /// On a plate in a left corner of the picture.
    Inside { size: f32, top: bool },
}

/// The preferred aspect ratio: collages are viewed on screens and phones.
const PREFERRED_RATIO: f64 = 1.25;
/// On a smaller canvas captions are unreadable.
const MIN_SIDE: u32 = 640;
/// Cells are at most this wide; longer strips are shown whole with empty space around them.
const MAX_CELL_RATIO: f64 = 4.0;
const MAX_CELL_RATIO_IN_LINE: f64 = 20.0;

pub(super) fn arrange(sizes: &[(u32, u32)], collage: &Collage) -> Result<Arrangement, ImagingError> {
    if sizes.is_empty() {
        return Err(ImagingError::BadArgument("A collage needs pictures.".to_owned()));
    }
    if collage.layout == CollageLayout::BeforeAfter && sizes.len() != 2 {
        return Err(ImagingError::BadArgument(format!(
            "before_after needs exactly two pictures, not {}.",
            sizes.len()
        )));
    }
    if let Some(longest) = collage.longest {
        return Ok(arrange_at_size(sizes, collage, longest));
    }
    let largest = arrange_at_size(sizes, collage, DEFAULT_LONGEST);
    let enlarged = largest.cells.iter().zip(sizes).map(|(cell, &(width, height))| {
        let by = |to: u32, from: u32| f64::from(to) / f64::from(from);
        by(cell.rect.width, width).min(by(cell.rect.height, height))
    });
    let least = enlarged.fold(f64::INFINITY, f64::min);
    if least <= 1.0 {
        return Ok(largest);
    }
    let enough = (f64::from(DEFAULT_LONGEST) / least).round() as u32;
    Ok(arrange_at_size(sizes, collage, enough.max(MIN_SIDE)))
}

fn arrange_at_size(sizes: &[(u32, u32)], collage: &Collage, longest: u32) -> Arrangement {
    let shape = |&(width, height): &(u32, u32)| f64::from(width) / f64::from(height);
    let within = |most: f64| sizes.iter().map(|size| shape(size).clamp(1.0 / most, most)).collect::<Vec<_>>();
    // Most of the canvas is for pictures, however many there are.
    let most_gap = longest / (4 * sizes.len() as u32 + 4);
    let gap = |parts: u32| collage.gap.unwrap_or(longest / parts).min(most_gap);
    match (collage.layout, collage.columns) {
        (CollageLayout::Row, _) => {
            arrange_in_lay_out_rows(&within(MAX_CELL_RATIO_IN_LINE), &[sizes.len()], longest, gap(128))
        }
        (CollageLayout::Column, _) => {
            arrange_in_lay_out_rows(&within(MAX_CELL_RATIO_IN_LINE), &vec![1; sizes.len()], longest, gap(128))
        }
        (CollageLayout::Grid, None) => {
            let shapes = within(MAX_CELL_RATIO);
            arrange_in_lay_out_rows(&shapes, &balance_rows(&shapes, PREFERRED_RATIO), longest, gap(128))
        }
        (CollageLayout::BeforeAfter, _) => {
            arrange_before_after(&within(MAX_CELL_RATIO_IN_LINE), longest, collage.gap.unwrap_or(0))
        }
        (CollageLayout::Grid, Some(columns)) => {
            CellGrid { columns: Some(columns), caption: 0.0, fit: Fit::Fill, gap: gap(128) }
                .arrange(&within(2.0), longest)
        }
        (CollageLayout::ContactSheet, columns) => {
            CellGrid { columns, caption: 1.0, fit: Fit::Fit, gap: gap(64) }.arrange(&within(1.5), longest)
        }
    }
}

fn arrange_in_lay_out_rows(shapes: &[f64], counts: &[usize], longest: u32, gap: u32) -> Arrangement {
    let (width, height, cells) = lay_out_rows(shapes, counts, longest, gap, gap);
    let size = caption_size(longest);
    let caption = Some(Caption::Inside { size, top: false });
    let cell = |rect| CollageCell { rect, fit: Fit::Fit, caption };
    Arrangement { width, height, cells: cells.into_iter().map(cell).collect(), dividers: Vec::new() }
}

fn arrange_before_after(shapes: &[f64], longest: u32, margin: u32) -> Arrangement {
    let line = (longest / 340).max(2).min(longest / 8);
    let margin = margin.min(longest / 12);
    let (width, height, cells) = lay_out_rows(shapes, &[2], longest, line, margin);
    let dividers = match cells.as_slice() {
        [before, after] if before.right() < after.x => {
            let between = after.x - before.right();
            vec![PixelRect { x: before.right(), y: before.y, width: between, height: before.height }]
        }
        _ => Vec::new(),
    };
    let caption = Some(Caption::Inside { size: caption_size(longest) * 1.15, top: true });
    let cell = |rect| CollageCell { rect, fit: Fit::Fit, caption };
    Arrangement { width, height, cells: cells.into_iter().map(cell).collect(), dividers }
}

fn caption_size(longest: u32) -> f32 {
    (longest as f32 / 64.0).max(13.0)
}

/// A grid of cells of one size.
struct CellGrid {
    columns: Option<u32>,
    /// In lines of text.
    caption: f64,
    fit: Fit,
    gap: u32,
}

impl CellGrid {
    fn arrange(&self, shapes: &[f64], longest: u32) -> Arrangement {
        let number = shapes.len() as u32;
        // The geometric mean, so that one panorama among portraits does not decide for all.
        let shape = (shapes.iter().map(|shape| shape.ln()).sum::<f64>() / f64::from(number)).exp();
        let size = (f64::from(longest) / 80.0).max(12.0);
        let band = (self.caption * size * 1.9).min(f64::from(longest) / f64::from(2 * number)).round();
        let gap = f64::from(self.gap);
        let canvas = |columns: u32| {
            let lines = number.div_ceil(columns);
            let (across, down) = (f64::from(columns), f64::from(lines));
            // Both sides as functions of the width of a cell: `fixed + slope × width`.
            let (fixed_width, fixed_height) = (gap * (across + 1.0), (gap + band) * down + gap);
            let room = f64::from(longest);
            let rect = ((room - fixed_width) / across).min((room - fixed_height) / down * shape);
            let rect = rect.max(1.0).min(room);
            (rect, fixed_width + across * rect, fixed_height + down * rect / shape)
        };
        let columns = self.columns.unwrap_or_else(|| {
            let cost = |columns: u32| {
                let (_, width, height) = canvas(columns);
                let empty = f64::from((number.div_ceil(columns) * columns) - number) / f64::from(number);
                (width / height / PREFERRED_RATIO).ln().abs() + 0.8 * empty
            };
            (1..=number).min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap_or(1)
        });
        let columns = columns.clamp(1, number);
        let (rect, width, height) = canvas(columns);
        let side = |length: f64| (length.floor() as u32).clamp(1, longest);
        let (width, height) = (side(width), side(height));
        let (cell_width, cell_height) = (side(rect).min(width), side(rect / shape).min(height));
        let cell = |index: u32| {
            let (column, line) = (index % columns, index / columns);
            // An incomplete last line is centred in a grid, but left-aligned on a contact sheet.
            let missing = columns - (number - line * columns).min(columns);
            let shift = if self.caption == 0.0 { f64::from(missing) * (rect + gap) / 2.0 } else { 0.0 };
            let x = (gap + f64::from(column) * (rect + gap) + shift).round() as u32;
            let y = (gap + f64::from(line) * (rect / shape + gap + band)).round() as u32;
            let rect = PixelRect {
                x: x.min(width - cell_width),
                y: y.min(height - cell_height),
                width: cell_width,
                height: cell_height,
            };
            let room = height - rect.bottom();
            let caption = if self.caption == 0.0 {
                Some(Caption::Inside { size: caption_size(longest), top: false })
            } else {
                let top = rect.bottom() + ((size * 0.45) as u32).min(room);
                let area = PixelRect { x: rect.x, y: top, width: rect.width, height: height - top };
                (band >= size && area.height > 0).then_some(Caption::Below { area, size: size as f32 })
            };
            CollageCell { rect, fit: self.fit, caption }
        };
        Arrangement { width, height, cells: (0..number).map(cell).collect(), dividers: Vec::new() }
    }
}
