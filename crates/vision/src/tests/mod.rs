//! The models on real pictures: expected boxes, masks and text.

mod detection;
mod masks;
mod reading;

use image::RgbImage;
use imaging::Region;

fn picture(name: &str) -> RgbImage {
    let path = format!("{}/../../tests/images/{name}", env!("CARGO_MANIFEST_DIR"));
    image::open(&path).unwrap_or_else(|error| panic!("{path}: {error}")).into_rgb8()
}

/// Intersection over union of two regions.
fn overlap(one: Region, other: Region) -> f64 {
    let width = one.right().min(other.right()) - one.left().max(other.left());
    let height = one.bottom().min(other.bottom()) - one.top().max(other.top());
    let area = |region: Region| (region.right() - region.left()) * (region.bottom() - region.top());
    let shared = width.max(0.0) * height.max(0.0);
    shared / (area(one) + area(other) - shared)
}
