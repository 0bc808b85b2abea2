//! Time and memory of the on-device models on a photo of 12 megapixels. Each runs in a process of its own, so that its
//! peak memory is its own; the model is loaded before the clock starts.

use super::{
    program::memory_of,
    report::{Section, Unit, median, millis},
};
use anyhow::{Context as _, anyhow, bail};
use image::{RgbImage, imageops};
use imaging::{Region, StopFlag};
use std::{process::Command, time::Instant};
use vision::{Enlargement, Models};

/// The argument with which this program runs one model and prints time and peak memory.
pub const ONE_LOOK: &str = "one-look";
const ROUNDS: usize = 3;
const PHOTO: (u32, u32) = (4000, 3000);
/// Larger pictures are resized instead.
const ENLARGED: (u32, u32) = (800, 600);
const MOST_MEGABYTES: f64 = 400.0;

/// What is measured, and its goal in milliseconds.
const LOOKS: [(&str, f64); 8] = [
    ("faces", 2000.0),
    ("objects", 2000.0),
    ("people", 2000.0),
    ("text", 2000.0),
    ("codes", 2000.0),
    ("cut out a thing", 2000.0),
    ("cut out a person", 4000.0),
    ("erase", 4000.0),
];

pub fn measure() -> anyhow::Result<Section> {
    let mut section = Section::new(
        "On-device models",
        format!(
            "A photo of 12 megapixels, median of {ROUNDS} runs after one that loads the model, on all processors. Memory \
             is the peak of a process that holds the photo and runs this model alone, less the photo."
        ),
    );
    for (look, goal) in LOOKS.into_iter().chain([("enlarge 800×600 twice", 2000.0)]) {
        let child = Command::new(std::env::current_exe()?).args([ONE_LOOK, look]).output()?;
        let printed = String::from_utf8(child.stdout)?;
        let (time, peak) =
            printed.trim().split_once(' ').context("the look in a process of its own said nothing")?;
        section.at_most(look, Unit::Milliseconds, goal, time.parse()?);
        section.at_most(format!("{look}: peak memory"), Unit::Megabytes, MOST_MEGABYTES, peak.parse()?);
    }
    Ok(section)
}

/// Runs one model and prints the milliseconds and the megabytes above the photo.
pub fn look_once(look: &str) -> anyhow::Result<()> {
    let size = if look.starts_with("enlarge") { ENLARGED } else { PHOTO };
    let photo = portrait(size)?;
    let before = memory_of("self", "status", "VmRSS").context("no VmRSS in /proc")?;
    let models = Models::default();
    run(look, &models, &photo)?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        run(look, &models, &photo)?;
        times.push(millis(start.elapsed()));
    }
    let peak = memory_of("self", "status", "VmHWM").context("no VmHWM in /proc")?;
    println!("{} {}", median(&mut times), (peak - before).max(0.0));
    Ok(())
}

fn portrait((width, height): (u32, u32)) -> anyhow::Result<RgbImage> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/images/photo_astronaut.png");
    let photo = image::open(path)?.into_rgb8();
    Ok(imageops::resize(&photo, width, height, imageops::FilterType::Triangle))
}

fn run(look: &str, models: &Models, photo: &RgbImage) -> anyhow::Result<()> {
    let stop = StopFlag::default();
    let failed = |error: vision::VisionError| anyhow!("{look}: {error:?}");
    match look {
        "faces" => drop(models.faces(photo, &stop).map_err(failed)?),
        "objects" => drop(models.objects(photo, &stop).map_err(failed)?),
        "people" => drop(models.people(photo, &stop).map_err(failed)?),
        "text" => drop(models.text(photo, &stop).map_err(failed)?),
        "codes" => drop(models.codes(photo, &stop).map_err(failed)?),
        "cut out a thing" => drop(models.subject(photo, None, &stop).map_err(failed)?),
        "cut out a person" => drop(models.portrait(photo, &stop).map_err(failed)?),
        "erase" => {
            let part = Region::new(650.0, 500.0, 850.0, 700.0)?.to_pixels(photo.width(), photo.height());
            drop(models.erase(photo, &[part], &stop).map_err(failed)?);
        }
        "enlarge 800×600 twice" => drop(models.upscale(photo, Enlargement::Twice, &stop).map_err(failed)?),
        other => bail!("there is no look {other}"),
    }
    Ok(())
}
