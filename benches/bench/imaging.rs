//! Time of edits compared with the floor of every edit (one decode and one encode) and with other libraries. Runs
//! alternate between them. Peak memory is measured in separate processes.

use super::{
    imaging_chain::Thread,
    imaging_peers::{PEERS, Peers, TURBO},
    program::memory_of,
    report::{Section, Unit, median},
};
use anyhow::{Context as _, anyhow, bail};
use bytes::Bytes;
use image::imageops::FilterType;
use imaging::{self, EditContext, Picture, Region, Sources, ops};
use libjpeg_turbo_rs::{Encoder, PixelFormat, decompress_to};
use rustix::time::{ClockId, clock_gettime};
use std::{fmt::Write as _, fs, hint::black_box, path::Path, process::Command};

/// The argument with which this program runs one edit and prints its peak memory.
pub const ONE_EDIT: &str = "one-edit";
const ROUNDS: usize = 5;
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/images/photo_flower.jpg");
/// The JPEG quality of the photos. Edits keep the quality of their source.
const QUALITY: u8 = 85;
const MOST_MEGABYTES: f64 = 65.0;

struct Photo {
    name: &'static str,
    title: &'static str,
    width: u32,
    height: u32,
    resized: u32,
}

const PHOTOS: [Photo; 2] = [
    Photo { name: "large", title: "12 megapixels (4000×3000)", width: 4000, height: 3000, resized: 1280 },
    Photo { name: "small", title: "1280×960", width: 1280, height: 960, resized: 640 },
];

/// An edit, and its goal as a multiple of the floor.
const EDITS: [(&str, f64); 6] =
    [("highlight", 1.25), ("blur", 1.25), ("crop", 1.25), ("rotate", 1.6), ("resize", 1.6), ("collage", 1.6)];

pub async fn measure() -> anyhow::Result<Section> {
    let folder = tempfile::tempdir()?;
    for photo in &PHOTOS {
        fs::write(folder.path().join(format!("{}.jpg", photo.name)), made(photo)?)?;
    }
    let mut peers = Peers::open(folder.path());
    let versions = match &mut peers {
        Some(peers) => peers.versions()?,
        None => String::new(),
    };
    let has_turbo = versions.contains(TURBO);
    let floor =
        if has_turbo { "libjpeg-turbo (C)" } else { "libjpeg-turbo-rs, its port, for want of the C library" };
    let mut section = Section::new(
        "Edits of a photo",
        format!(
            "Decode, edit, encode at quality {QUALITY}, one thread. Processor time as a ratio to the floor: {floor} \
             decoding the same input and encoding an output of the same size, allocating its buffers anew as any \
             caller would, and doing nothing else. Everybody in turns; median of {ROUNDS} rounds, least and most in \
             brackets. The 1280×960 photo is resized to 640. Peers: {}. ImageMagick is a program, and its start \
             counts.",
            if versions.is_empty() { "none, there is no Python here" } else { &versions }
        ),
    );
    for photo in &PHOTOS {
        let table = compare(photo, folder.path(), &mut peers, has_turbo)?;
        section.below(&table);
    }
    let large = folder.path().join("large.jpg");
    for (edit, _) in EDITS {
        let child = Command::new(std::env::current_exe()?).args([ONE_EDIT, edit]).arg(&large).output()?;
        let peak = String::from_utf8(child.stdout)?;
        let peak = peak.trim().parse().context("the edit in a process of its own said nothing")?;
        section.at_most(
            format!("{edit}: peak memory (VmHWM), 12 megapixels"),
            Unit::Megabytes,
            MOST_MEGABYTES,
            peak,
        );
    }
    match peers.as_mut().map(|peers| peers.peak("pillow", "highlight", "large")).transpose()?.flatten() {
        Some(peak) => section.note("the same of Pillow, highlight", Unit::Megabytes, peak),
        None => section.remark("the same of Pillow, highlight", "missing here"),
    }
    let thread = Thread::open(fs::read(&large)?).await?;
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let one = thread.turn(1).await?;
        ratios.push(thread.turn(5).await? / one);
    }
    section.at_most(
        "highlight, blur, rotate, crop and resize in one message ÷ highlight alone",
        Unit::Times,
        1.5,
        median(&mut ratios),
    );
    Ok(section)
}

/// Runs one edit and prints the peak memory of this process.
pub fn edit_once(edit: &str, path: &str) -> anyhow::Result<()> {
    let bytes = fs::read(path)?;
    let photo = PHOTOS.iter().find(|photo| path.contains(photo.name)).context("an unknown photo")?;
    ours(edit, photo, &bytes)?;
    println!("{}", memory_of("self", "status", "VmHWM").context("no VmHWM in /proc")?);
    Ok(())
}

fn compare(
    photo: &Photo,
    folder: &Path,
    peers: &mut Option<Peers>,
    has_turbo: bool,
) -> anyhow::Result<String> {
    let bytes = fs::read(folder.join(format!("{}.jpg", photo.name)))?;
    let mut table = format!(
        "\n{}, {:.1} MB:\n\n| edit | goal | Photothread | ahead of all | {} | floor |\n| --- | --- | --- | --- |{} --- |\n",
        photo.title,
        bytes.len() as f64 / 1e6,
        PEERS.join(" | "),
        " --- |".repeat(PEERS.len())
    );
    for (edit, goal) in EDITS {
        let (mut own, mut floors) = (Vec::new(), Vec::new());
        let mut others = vec![Vec::new(); PEERS.len()];
        for _ in 0..ROUNDS {
            let floor = match peers {
                Some(peers) if has_turbo => {
                    peers.edit(TURBO, edit, photo.name)?.context("the floor gave way")?
                }
                _ => timed(|| port_floor(edit, photo, &bytes))?,
            };
            floors.push(floor);
            own.push(timed(|| ours(edit, photo, &bytes))? / floor);
            for (peer, ratios) in PEERS.iter().zip(&mut others) {
                let time =
                    peers.as_mut().map(|peers| peers.edit(peer, edit, photo.name)).transpose()?.flatten();
                ratios.extend(time.map(|time| time / floor));
            }
        }
        let ours = median(&mut own);
        let met = if ours <= goal { "met" } else { "not met" };
        let best = others
            .iter_mut()
            .filter(|ratios| !ratios.is_empty())
            .map(|ratios| median(ratios))
            .reduce(f64::min);
        let ahead = best.map_or("no peer here", |best| if ours < best { "yes" } else { "no" });
        let columns: Vec<_> = others.iter_mut().map(|ratios| shown(ratios)).collect();
        let (own, floor) = (shown(&mut own), median(&mut floors));
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "| {edit} | ≤ {goal}: {met} | {own} | {ahead} | {} | {floor:.0} ms |",
            columns.join(" | ")
        );
    }
    Ok(table)
}

fn shown(ratios: &mut [f64]) -> String {
    let middle = median(ratios);
    match ratios {
        // `median` has sorted them.
        [least, .., most] => format!("{middle:.2} ({least:.2}–{most:.2})"),
        _ => "missing or failed".to_owned(),
    }
}

/// Processor time in milliseconds, of all threads.
fn timed(work: impl FnOnce() -> anyhow::Result<Vec<u8>>) -> anyhow::Result<f64> {
    let since = processor_millis();
    black_box(work()?);
    Ok(processor_millis() - since)
}

pub fn processor_millis() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// The large photo; each number gives another file.
pub fn photo_of(number: usize) -> anyhow::Result<Vec<u8>> {
    let mut bytes = made(&PHOTOS[0])?;
    // Decoders ignore bytes after the end of a JPEG, but the file's hash changes.
    bytes.extend(number.to_le_bytes());
    Ok(bytes)
}

/// Adds the noise of a camera: an enlarged picture alone would be too easy to encode.
fn made(photo: &Photo) -> anyhow::Result<Vec<u8>> {
    let sample = image::load_from_memory(&fs::read(SAMPLE)?)?;
    let mut pixels = sample.resize_exact(photo.width, photo.height, FilterType::Triangle).into_rgb8();
    let mut seed = 1u32;
    let mut random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 28) as i16
    };
    for value in pixels.iter_mut() {
        *value = (i16::from(*value) + random() - random()).clamp(0, 255) as u8;
    }
    encode(pixels.as_raw(), photo.width, photo.height)
}

fn encode(pixels: &[u8], width: u32, height: u32) -> anyhow::Result<Vec<u8>> {
    let encoder = Encoder::new(pixels, width as usize, height as usize, PixelFormat::Rgb).quality(QUALITY);
    encoder.encode().map_err(|error| anyhow!("the JPEG encoder: {error}"))
}

/// Replaces the C library if it is not installed.
fn port_floor(edit: &str, photo: &Photo, bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let decode =
        || decompress_to(bytes, PixelFormat::Rgb).map_err(|error| anyhow!("the JPEG decoder: {error}"));
    let mut pixels = decode()?.data;
    let (width, height) = match edit {
        "crop" => (photo.width / 2, photo.height / 2),
        "resize" => (photo.resized, photo.resized * photo.height / photo.width),
        "collage" => {
            for _ in 0..3 {
                pixels = decode()?.data;
            }
            pixels.resize(pixels.len().max(2048 * 1536 * 3), 0);
            (2048, 1536)
        }
        _ => (photo.width, photo.height),
    };
    encode(&pixels[..width as usize * height as usize * 3], width, height)
}

fn ours(edit: &str, photo: &Photo, bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let work = EditContext::default();
    let open = || imaging::decode(bytes, &work);
    let picture = match edit {
        "highlight" => highlighted(open()?, &work)?,
        "blur" => blurred(open()?, &work)?,
        "crop" => ops::crop_file(bytes, ops::CropTo::Region(middle()?), &work)?,
        "rotate" => ops::rotate(open()?, 90.0, ops::RotateCorners::Kept, &work)?,
        "resize" => ops::resize(open()?, ops::ResizeTo::longest(photo.resized)?, &work)?,
        "collage" => collage(bytes, &work)?,
        other => bail!("there is no edit {other}"),
    };
    let made = imaging::encode(&picture)?.bytes;
    picture.recycle();
    Ok(made)
}

fn middle() -> anyhow::Result<Region> {
    Ok(Region::new(250.0, 250.0, 750.0, 750.0)?)
}

fn highlighted(picture: Picture, work: &EditContext) -> anyhow::Result<Picture> {
    Ok(ops::highlight(picture, &[ops::Highlight::new(middle()?)], work)?)
}

/// 600×400 pixels of it.
fn blurred(picture: Picture, work: &EditContext) -> anyhow::Result<Picture> {
    let (x, y) = (300_000.0 / f64::from(picture.width()), 200_000.0 / f64::from(picture.height()));
    let region = Some(Region::new(500.0 - x, 500.0 - y, 500.0 + x, 500.0 + y)?);
    Ok(ops::filter(
        picture,
        ops::FilterSettings { region, ..ops::FilterSettings::new(ops::Filter::Blur) },
        work,
    )?)
}

fn collage(bytes: &[u8], work: &EditContext) -> anyhow::Result<Picture> {
    let sources = Sources::new(vec![Bytes::copy_from_slice(bytes); 4]);
    let wanted = ops::Collage {
        layout: ops::CollageLayout::Grid,
        columns: None,
        longest: Some(2048),
        gap: Some(0),
        background: ops::CollageBackground::default(),
        captions: Vec::new(),
    };
    ops::collage(&sources, &wanted, work).map_err(|unusable| anyhow!("{unusable:?}"))
}
