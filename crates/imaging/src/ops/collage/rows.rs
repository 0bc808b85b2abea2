//! Arranges pictures of any shape in rows that are all as wide as the canvas, as in a photo album.

use crate::PixelRect;

/// How many pictures go into each row, in order, so that the whole comes near the `pleasing` aspect ratio and rows
/// have similar heights.
pub(super) fn balance_rows(shapes: &[f64], pleasing: f64) -> Vec<usize> {
    let cost = |counts: &Vec<usize>| {
        let lengths = row_ratios(shapes, counts);
        let height: f64 = lengths.iter().map(|length| 1.0 / length).sum();
        let tallest = lengths.iter().fold(f64::INFINITY, |least, length| least.min(*length));
        let lowest = lengths.iter().fold(0.0f64, |most, length| most.max(*length));
        (1.0 / height / pleasing).ln().abs() + 0.35 * (lowest / tallest).ln()
    };
    let choices = (1..=shapes.len()).map(|rows| split_rows(shapes, rows));
    choices.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or_default()
}

/// The sum of the aspect ratios in each row, which is the ratio of the row.
fn row_ratios(shapes: &[f64], counts: &[usize]) -> Vec<f64> {
    let mut rest = shapes.iter();
    counts.iter().map(|count| rest.by_ref().take(*count).sum::<f64>().max(1e-6)).collect()
}

/// Splits into this many rows whose ratios differ as little as possible.
fn split_rows(shapes: &[f64], rows: usize) -> Vec<usize> {
    let mut before = vec![0.0];
    for shape in shapes {
        before.push(before.last().copied().unwrap_or(0.0) + shape);
    }
    let fair = before.last().copied().unwrap_or(0.0) / rows as f64;
    // The least cost of the first `end` pictures in so many rows, and where the last of these rows starts.
    let mut best = vec![vec![(f64::INFINITY, 0usize); shapes.len() + 1]; rows + 1];
    best[0][0] = (0.0, 0);
    for row in 1..=rows {
        for end in row..=shapes.len() {
            for start in row - 1..end {
                let cost = best[row - 1][start].0 + ((before[end] - before[start]) / fair).ln().powi(2);
                if cost < best[row][end].0 {
                    best[row][end] = (cost, start);
                }
            }
        }
    }
    let mut counts = Vec::new();
    let mut end = shapes.len();
    for row in (1..=rows).rev() {
        let start = best[row][end].1;
        counts.push(end - start);
        end = start;
    }
    counts.reverse();
    counts
}

/// Width and height of the canvas, whose longer side is `longest`, and a cell per picture.
pub(super) fn lay_out_rows(
    shapes: &[f64],
    counts: &[usize],
    longest: u32,
    gap: u32,
    margin: u32,
) -> (u32, u32, Vec<PixelRect>) {
    let (room, gap, margin) = (f64::from(longest), f64::from(gap), f64::from(margin));
    let lengths = row_ratios(shapes, counts);
    let gaps = |count: usize| gap * (count as f64 - 1.0);
    let heights = |inner: f64| {
        let row = |(length, count): (&f64, &usize)| ((inner - gaps(*count)) / length).max(1.0);
        lengths.iter().zip(counts).map(row).collect::<Vec<_>>()
    };
    let total = |inner: f64| heights(inner).iter().sum::<f64>() + gaps(counts.len()) + 2.0 * margin;
    let mut inner = (room - 2.0 * margin).max(1.0);
    if total(inner) > room {
        let unit: f64 = lengths.iter().map(|length| 1.0 / length).sum();
        let lost: f64 = lengths.iter().zip(counts).map(|(length, count)| gaps(*count) / length).sum();
        inner = ((room - 2.0 * margin - gaps(counts.len()) + lost) / unit).clamp(1.0, inner);
    }
    let side = |length: f64| (length.round() as u32).clamp(1, longest);
    let (width, height) = (side(inner + 2.0 * margin), side(total(inner)));
    let mut cells = Vec::with_capacity(shapes.len());
    let mut rest = shapes.iter();
    let mut top = margin;
    for ((row, count), length) in heights(inner).into_iter().zip(counts).zip(&lengths) {
        let scale = (inner - gaps(*count)).max(1.0) / length;
        let mut left = margin;
        for shape in rest.by_ref().take(*count) {
            let (x, across) = span(left, left + shape * scale, width);
            let (y, down) = span(top, top + row, height);
            cells.push(PixelRect { x, y, width: across, height: down });
            left += shape * scale + gap;
        }
        top += row + gap;
    }
    (width, height, cells)
}

/// Whole pixels, at least one, inside the canvas. Rounding the ends, not the lengths, keeps gaps even.
fn span(near: f64, far: f64, side: u32) -> (u32, u32) {
    let start = (near.round() as u32).min(side - 1);
    let end = (far.round() as u32).clamp(start + 1, side);
    (start, end - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_equal_pictures_make_two_by_two_and_wide_ones_are_stacked() {
        assert_eq!(balance_rows(&[1.5; 4], 1.25), [2, 2]);
        assert_eq!(balance_rows(&[1.5; 2], 1.25), [1, 1]);
        assert_eq!(balance_rows(&[0.67; 2], 1.25), [2]);
        assert_eq!(balance_rows(&[1.33; 9], 1.25), [3, 3, 3]);
        assert_eq!(balance_rows(&[1.0], 1.25), [1]);
    }

    #[test]
    fn all_rows_are_equally_wide_and_keep_shapes() {
        let shapes = [1.5, 0.66, 1.0, 1.78, 0.75];
        let (width, height, cells) = lay_out_rows(&shapes, &[2, 3], 1000, 10, 10);
        assert_eq!((width.max(height), cells.len()), (1000, 5));
        assert_eq!((cells[1].right(), cells[4].right()), (width - 10, width - 10));
        assert_eq!(cells[4].bottom(), height - 10);
        for (rect, shape) in cells.iter().zip(shapes) {
            let got = f64::from(rect.width) / f64::from(rect.height);
            assert!((got / shape).ln().abs() < 0.02, "{got} for {shape}");
        }
    }
}
