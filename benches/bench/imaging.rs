//! One edit of a large photo, against the least any edit must do: decode and encode. Peak memory is taken in a
//! process of its own.

use super::{
    program::memory_of,
    report::{Section, Unit, median, millis},
};
use anyhow::{Context as _, anyhow};
use image::{DynamicImage, imageops::FilterType};
use libjpeg_turbo_rs::{Encoder, PixelFormat, decompress_to};
use photothread::imaging::{self, Limits, Region, ops};
use std::{fs, hint::black_box, process::Command, time::Instant};

/// The argument that makes this program do one edit and tell its peak memory.
pub const ONE_EDIT: &str = "one-edit";
const RUNS: usize = 15;
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/images/photo_flower.jpg");
const QUALITY: u8 = 90;

pub fn measure() -> anyhow::Result<Section> {
    let photo = large_photo()?;
    let (mut floors, mut edits) = (Vec::new(), Vec::new());
    // Turn by turn, so that what else the machine does hits both alike.
    for _ in 0..RUNS {
        floors.push(timed(|| floor(&photo))?);
        edits.push(timed(|| edit(&photo))?);
    }
    let (floor, edit) = (median(&mut floors), median(&mut edits));
    let about = format!(
        "A 12-megapixel JPEG: decode, highlight one region, encode at quality {QUALITY}; median of {RUNS}. The floor is \
         libjpeg-turbo's algorithms (libjpeg-turbo-rs) decoding and encoding the same photo and doing nothing else, in \
         turns with the edit."
    );
    let mut section = Section::new("One edit of a photo", about);
    section.note("decode, highlight, encode", Unit::Milliseconds, edit);
    section.note("floor: decode, encode", Unit::Milliseconds, floor);
    section.note("edit ÷ floor", Unit::Times, edit / floor);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("photo.jpg");
    fs::write(&path, &photo)?;
    match pillow(&path.display().to_string()) {
        Some(time) => section.note("the same edit with Pillow ÷ floor", Unit::Times, time / floor),
        None => section.remark("the same edit with Pillow ÷ floor", "not installed here"),
    }
    let child = Command::new(std::env::current_exe()?).arg(ONE_EDIT).arg(&path).output()?;
    let peak = String::from_utf8(child.stdout)?;
    let peak = peak.trim().parse().context("the edit in a process of its own said nothing")?;
    section.note("peak memory of a process that does one edit (VmHWM)", Unit::Megabytes, peak);
    Ok(section)
}

/// Does one edit and prints this process's peak memory.
pub fn edit_once(path: &str) -> anyhow::Result<()> {
    edit(&fs::read(path)?)?;
    println!("{}", memory_of("self", "status", "VmHWM").context("no VmHWM in /proc")?);
    Ok(())
}

fn timed(work: impl FnOnce() -> anyhow::Result<Vec<u8>>) -> anyhow::Result<f64> {
    let since = Instant::now();
    black_box(work()?);
    Ok(millis(since.elapsed()))
}

/// 4000 × 3000, with the noise a camera would add: an enlarged picture alone would be too easy to encode.
fn large_photo() -> anyhow::Result<Vec<u8>> {
    let sample = image::load_from_memory(&fs::read(SAMPLE)?)?;
    let mut pixels = sample.resize_exact(4000, 3000, FilterType::Triangle).into_rgb8();
    let mut noise = 1u32;
    for value in pixels.iter_mut() {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *value = value.saturating_add((noise >> 29) as u8);
    }
    let pixels = DynamicImage::ImageRgb8(pixels);
    encode(pixels.as_bytes(), 4000, 3000)
}

fn encode(pixels: &[u8], width: usize, height: usize) -> anyhow::Result<Vec<u8>> {
    let encoder = Encoder::new(pixels, width, height, PixelFormat::Rgb).quality(QUALITY);
    encoder.encode().map_err(|error| anyhow!("the JPEG encoder: {error}"))
}

fn floor(photo: &[u8]) -> anyhow::Result<Vec<u8>> {
    let picture = decompress_to(photo, PixelFormat::Rgb).map_err(|e| anyhow!("the JPEG decoder: {e}"))?;
    encode(&picture.data, picture.width, picture.height)
}

fn edit(photo: &[u8]) -> anyhow::Result<Vec<u8>> {
    let picture = imaging::decode(photo, &Limits::default())?;
    let region = Region::new(200.0, 200.0, 600.0, 700.0).map_err(|error| anyhow!("{error}"))?;
    let picture = ops::highlight(picture, &[ops::Highlight::new(region)])?;
    Ok(imaging::encode(&picture)?.bytes)
}

const PILLOW: &str = "
import io, sys, time
from PIL import Image, ImageDraw
photo = open(sys.argv[1], 'rb').read()
times = []
for _ in range(7):
    since = time.perf_counter()
    picture = Image.open(io.BytesIO(photo)).convert('RGB')
    ImageDraw.Draw(picture).rectangle([800, 600, 2400, 2100], outline='red', width=21)
    picture.save(io.BytesIO(), 'JPEG', quality=90)
    times.append((time.perf_counter() - since) * 1000)
print(sorted(times)[3])
";

fn pillow(path: &str) -> Option<f64> {
    let run = Command::new("python3").args(["-c", PILLOW, path]).output().ok()?;
    String::from_utf8(run.stdout).ok()?.trim().parse().ok()
}
