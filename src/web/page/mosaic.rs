//! Arranges the photos of an album like Telegram: rows of one height that fill the width, or one tall photo with the
//! others beside it. Uses the stored sizes, so that the layout is stable while pictures load.

/// Width / height in tenths. The content policy forbids inline styles, so each ratio is a CSS class.
pub type Tenths = u32;

const MIN_RATIO: Tenths = 5;
const MAX_RATIO: Tenths = 22;
/// The only photo of a row is at least this wide.
const MIN_SINGLE_ROW_RATIO: Tenths = 12;
const MAX_PER_ROW: usize = 4;
/// Larger albums are cut into rows of three.
const MAX_OPTIMIZED: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A single photo with its own shape.
    Alone,
    Rows,
    /// The first photo on the left, the others in a column on the right.
    Side,
}

/// The rows of an album; each photo with its ratio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mosaic {
    pub layout: Layout,
    pub rows: Vec<Vec<Tenths>>,
}

pub fn arrange(shapes: &[(i64, i64)]) -> Mosaic {
    let ratios: Vec<Tenths> = shapes.iter().map(|(width, height)| ratio_of(*width, *height)).collect();
    let first = ratios.first().copied().unwrap_or(10);
    let (layout, cuts) = match ratios.len() {
        0 | 1 => (Layout::Alone, vec![ratios.len()]),
        2 if ratios.iter().all(|ratio| *ratio >= 17) => (Layout::Rows, vec![1, 1]),
        2 => (Layout::Rows, vec![2]),
        3 | 4 if first < 9 => (Layout::Side, vec![1, ratios.len() - 1]),
        3 => (Layout::Rows, vec![1, 2]),
        4 if first >= 13 => (Layout::Rows, vec![1, 3]),
        4 => (Layout::Rows, vec![2, 2]),
        count if count > MAX_OPTIMIZED => (Layout::Rows, rows_of_three(count)),
        _ => (Layout::Rows, best_rows(&ratios)),
    };
    let mut rest = ratios.as_slice();
    let rows = cuts.into_iter().map(|count| {
        let (row, after) = rest.split_at(count.min(rest.len()));
        rest = after;
        match (layout, row) {
            (Layout::Rows, [alone]) => vec![(*alone).max(MIN_SINGLE_ROW_RATIO)],
            _ => row.to_vec(),
        }
    });
    Mosaic { layout, rows: rows.collect() }
}

fn ratio_of(width: i64, height: i64) -> Tenths {
    let ratio = width.max(1) as f64 / height.max(1) as f64;
    ((ratio * 10.0).round() as Tenths).clamp(MIN_RATIO, MAX_RATIO)
}

fn rows_of_three(count: usize) -> Vec<usize> {
    let mut rows = vec![3; count / 3];
    // A single last photo would be as large as three.
    match count % 3 {
        1 => {
            rows.pop();
            rows.extend([2, 2]);
        }
        2 => rows.push(2),
        _ => {}
    }
    rows
}

/// The division into rows with the lowest cost.
fn best_rows(ratios: &[Tenths]) -> Vec<usize> {
    let mut ways = Vec::new();
    divide(ratios.len(), &mut Vec::new(), &mut ways);
    ways.into_iter()
        .min_by(|a, b| cost(ratios, a).total_cmp(&cost(ratios, b)))
        .unwrap_or_else(|| rows_of_three(ratios.len()))
}

fn divide(left: usize, so_far: &mut Vec<usize>, ways: &mut Vec<Vec<usize>>) {
    if left == 0 {
        ways.push(so_far.clone());
        return;
    }
    for count in 1..=left.min(MAX_PER_ROW) {
        so_far.push(count);
        divide(left - count, so_far, ways);
        so_far.pop();
    }
}

/// The cost of a division: distance from the ideal album height, uneven rows, short rows below long ones, and rows with
/// one photo.
fn cost(ratios: &[Tenths], rows: &[usize]) -> f64 {
    let mut rest = ratios;
    let heights: Vec<f64> = rows
        .iter()
        .map(|count| {
            let (row, after) = rest.split_at(*count);
            rest = after;
            let sum: Tenths = row.iter().sum();
            10.0 / f64::from(if row.len() == 1 { sum.max(MIN_SINGLE_ROW_RATIO) } else { sum })
        })
        .collect();
    let whole: f64 = heights.iter().sum();
    let even: f64 = heights.windows(2).map(|pair| (pair[0] - pair[1]).abs()).sum();
    let growing = rows.windows(2).filter(|pair| pair[1] < pair[0]).count();
    let lonely = rows.iter().filter(|count| **count == 1).count();
    (whole - 0.9).abs() * 2.0 + even * 0.6 + growing as f64 * 0.25 + lonely as f64 * 0.5
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(shapes: &[(i64, i64)]) -> (Layout, Vec<usize>) {
        let mosaic = arrange(shapes);
        (mosaic.layout, mosaic.rows.iter().map(Vec::len).collect())
    }

    #[test]
    fn small_albums_are_arranged_as_in_telegram() {
        let (wide, tall, square) = ((1600, 900), (900, 1600), (100, 100));
        assert_eq!(counts(&[wide]), (Layout::Alone, vec![1]));
        assert_eq!(counts(&[wide, wide]), (Layout::Rows, vec![1, 1]));
        assert_eq!(counts(&[tall, wide]), (Layout::Rows, vec![2]));
        assert_eq!(counts(&[tall, wide, wide]), (Layout::Side, vec![1, 2]));
        assert_eq!(counts(&[wide, tall, square]), (Layout::Rows, vec![1, 2]));
        assert_eq!(counts(&[tall, wide, wide, square]), (Layout::Side, vec![1, 3]));
        assert_eq!(counts(&[wide, square, square, square]), (Layout::Rows, vec![1, 3]));
        assert_eq!(counts(&[square; 4]), (Layout::Rows, vec![2, 2]));
        assert_eq!(counts(&[square; 10]), (Layout::Rows, vec![3, 3, 4]));
        assert_eq!(counts(&[square; 13]).1, [3, 3, 3, 2, 2]);
    }

    proptest! {
        #[test]
        fn every_photo_is_placed_once_with_a_known_ratio(
            shapes in proptest::collection::vec((0..5000i64, 0..5000i64), 0..16)
        ) {
            let mosaic = arrange(&shapes);
            let placed: Vec<Tenths> = mosaic.rows.concat();
            prop_assert_eq!(placed.len(), shapes.len());
            prop_assert!(placed.iter().all(|ratio| (MIN_RATIO..=MAX_RATIO).contains(ratio)));
            prop_assert!(mosaic.rows.iter().all(|row| row.len() <= MAX_PER_ROW));
        }
    }
}
