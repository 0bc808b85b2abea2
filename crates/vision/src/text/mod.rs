//! Print and where it stands (PP-OCRv6): `regions` finds lines of text, `lines` reads them.

mod lines;
mod regions;

use image::RgbImage;
use imaging::{Region, StopFlag};

use crate::VisionError;
use crate::models::{Models, check_stopped};
use regions::TextBox;

/// A read line with less than this is no text.
const MIN_SCORE: f32 = 0.5;

/// A line of text.
#[derive(Debug, Clone, PartialEq)]
pub struct TextLine {
    pub text: String,
    /// How sure the model is of its letters on average, from 0 to 1.
    pub score: f32,
    pub region: Region,
    /// Where each character begins along the line, as a share of its length.
    starts: Vec<f32>,
    corners: [(f32, f32); 4],
    size: (u32, u32),
}

impl TextLine {
    /// The part of the line with these characters, counted from 0.
    pub fn part(&self, characters: std::ops::Range<usize>) -> Option<Region> {
        if characters.start == 0 && characters.end >= self.starts.len() {
            return Some(self.region);
        }
        // Half a character more on both sides: the model tells where a letter is, not where it ends.
        let margin = 0.5 / self.starts.len().max(1) as f32;
        let from = self.starts.get(characters.start)? - margin;
        let to = self.starts.get(characters.end).copied().unwrap_or(1.0) + margin;
        let (from, to) = (from.clamp(0.0, 1.0), to.clamp(0.0, 1.0));
        let [top_left, top_right, bottom_right, bottom_left] = self.corners;
        let between = |one: (f32, f32), other: (f32, f32), share: f32| {
            (one.0 + (other.0 - one.0) * share, one.1 + (other.1 - one.1) * share)
        };
        let corners = [
            between(top_left, top_right, from),
            between(top_left, top_right, to),
            between(bottom_left, bottom_right, to),
            between(bottom_left, bottom_right, from),
        ];
        TextBox { corners, score: self.score }.bounds().region(self.size.0, self.size.1)
    }
}

impl Models {
    /// The lines of text, from top to bottom and from left to right.
    pub fn text(&self, pixels: &RgbImage, stop: &StopFlag) -> Result<Vec<TextLine>, VisionError> {
        let (width, height) = pixels.dimensions();
        let mut boxes = self.text_boxes(pixels, stop)?;
        sort_for_reading(&mut boxes);
        let mut lines = Vec::new();
        for found in boxes {
            check_stopped(stop)?;
            let Some(region) = found.bounds().region(width, height) else { continue };
            let Some(read) = self.read_line(pixels, &found, stop)? else { continue };
            if read.score >= MIN_SCORE && !read.text.trim().is_empty() {
                lines.push(TextLine {
                    text: read.text,
                    score: read.score,
                    region,
                    starts: read.starts,
                    corners: read.corners,
                    size: (width, height),
                });
            }
        }
        Ok(lines)
    }
}

/// Lines whose middles differ by less than half their height are one row.
fn sort_for_reading(boxes: &mut Vec<TextBox>) {
    boxes.sort_by(|one, other| one.bounds().top.total_cmp(&other.bounds().top));
    let mut rows: Vec<Vec<TextBox>> = Vec::new();
    for found in boxes.drain(..) {
        let bounds = found.bounds();
        let middle = (bounds.top + bounds.bottom) / 2.0;
        let same_row = rows.last().and_then(|row| row.first()).is_some_and(|first| {
            let first = first.bounds();
            (middle - (first.top + first.bottom) / 2.0).abs() < first.height().min(bounds.height()) / 2.0
        });
        match rows.last_mut() {
            Some(row) if same_row => row.push(found),
            _ => rows.push(vec![found]),
        }
    }
    for row in &mut rows {
        row.sort_by(|one, other| one.bounds().left.total_cmp(&other.bounds().left));
    }
    *boxes = rows.into_iter().flatten().collect();
}
