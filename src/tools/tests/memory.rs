//! Edits stay within the memory that is reserved for them: each runs in a process of its own, whose peak is compared with
//! what the pool was asked for.

use super::*;
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use serde_json::json;
use std::{
    io::Cursor,
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

const MIB: u64 = 1 << 20;
/// Code, fonts and tables that a first edit loads.
const SLACK: u64 = 14 * MIB;
/// The case that a child process runs.
const CASE: &str = "PHOTOTHREAD_TEST_MEMORY_CASE";

const PHOTO: (u32, u32) = (3000, 2000);

/// Files of every depth and kind, with detail that does not compress well.
fn file(kind: &str) -> Vec<u8> {
    let (width, height) = PHOTO;
    let noise = |x: u32, y: u32| ((x * 7919) ^ (y * 104_729)).wrapping_mul(2_654_435_761).to_be_bytes()[0];
    let rgb = RgbImage::from_fn(width, height, |x, y| {
        Rgb([(x / 12) as u8, (y / 8) as u8, (x ^ y) as u8 / 2 + noise(x, y) / 16])
    });
    let rgb = DynamicImage::ImageRgb8(rgb);
    let written = |pixels: DynamicImage, format| {
        let mut out = Cursor::new(Vec::new());
        pixels.write_to(&mut out, format).unwrap();
        out.into_inner()
    };
    match kind {
        "jpeg" => written(rgb, ImageFormat::Jpeg),
        "progressive" => {
            let (width, height) = (width as usize, height as usize);
            let layout = libjpeg_turbo_rs::PixelFormat::Rgb;
            let encoder = libjpeg_turbo_rs::Encoder::new(rgb.as_bytes(), width, height, layout);
            let encoder = encoder.quality(85).progressive(true);
            encoder.subsampling(libjpeg_turbo_rs::Subsampling::S444).encode().unwrap()
        }
        "gray jpeg" => written(rgb.to_luma8().into(), ImageFormat::Jpeg),
        "png" => written(rgb.to_rgba8().into(), ImageFormat::Png),
        "gray png" => written(rgb.to_luma8().into(), ImageFormat::Png),
        "deep gray png" => written(rgb.to_luma16().into(), ImageFormat::Png),
        "deep png" => written(rgb.to_rgba16().into(), ImageFormat::Png),
        "webp" => written(rgb.to_rgba8().into(), ImageFormat::WebP),
        "gif" => written(rgb.thumbnail(1500, 1000), ImageFormat::Gif),
        "animation" => image_file("anim.gif").to_vec(),
        "tiff" => written(rgb.thumbnail(2000, 1400).to_rgb32f().into(), ImageFormat::Tiff),
        "bmp" => written(rgb, ImageFormat::Bmp),
        "heic" => image_file("photo_arrow.heic").to_vec(),
        other => panic!("{other}"),
    }
}

fn call(name: &str, image: AttachmentId) -> (&'static str, Value) {
    let region = json!({"left": 100, "top": 200, "right": 700, "bottom": 650});
    let marked = json!({"left": 0, "top": 0, "right": 1000, "bottom": 1000, "label": "eagle"});
    let (tool, mut arguments) = match name {
        "look" => return ("look_at_image", json!({"image": image})),
        "info" => ("image_info", json!({})),
        "highlight" => ("highlight_image", json!({"regions": [marked]})),
        "turn" => ("rotate_image", json!({"degrees": 7})),
        "half" => ("resize_image", json!({"longest": 1500})),
        "larger" => ("resize_image", json!({"longest": 4500})),
        "adjust" => ("adjust_image", json!({"brightness": 20, "shadows": 30, "sharpness": 25})),
        "blur" => ("redact_image", json!({"regions": [region], "style": "blur"})),
        "to webp" => ("convert_image", json!({"format": "webp"})),
        "to exact webp" => ("convert_image", json!({"format": "webp", "lossless": true})),
        "to gif" => ("convert_image", json!({"format": "gif"})),
        "collage" => return ("collage_images", json!({"images": [image, image, image]})),
        other => panic!("{other}"),
    };
    arguments["images"] = json!([image]);
    (tool, arguments)
}

fn process_status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Runs one case and prints its peak: the call, then what it made as a file.
async fn measure(path: &str, name: &str, memory: Option<u64>) {
    let bytes = std::fs::read(path).unwrap();
    let limits = PoolLimits { memory_bytes: memory.unwrap_or(1 << 30), ..PoolLimits::default() };
    let world = World::new().await.with_pool(limits);
    let (tool, arguments) = call(name, world.sends("a", bytes).await);
    // Resets the peak.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = process_status("VmHWM:");
    let called = world.call(tool, arguments).await;
    if called.failed {
        println!("REFUSED {}", called.text);
        return;
    }
    for made in world.store_outputs(called).await {
        world.context.ensure_stored(&made).await.unwrap();
    }
    println!("PEAK {}", process_status("VmHWM:") - before);
}

/// The line that a child process prints for a case.
fn run_child(path: &Path, name: &str, memory: Option<u64>) -> String {
    let memory = memory.map(|bytes| bytes.to_string()).unwrap_or_default();
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tools::tests::memory::edits_stay_within_their_reserved_memory", "--nocapture"])
        .env(CASE, format!("{}:{name}:{memory}", path.display()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let line = text.lines().find_map(|line| {
        line.find("PEAK ").or_else(|| line.find("REFUSED ")).map(|at| line[at..].to_owned())
    });
    line.unwrap_or_else(|| {
        panic!("{}, {name}: {text}{}", path.display(), String::from_utf8_lossy(&out.stderr))
    })
}

/// What the pool is asked for: with too little memory, the refusal names it.
fn reserved(path: &Path, name: &str) -> u64 {
    let told = run_child(path, name, Some(2 * MIB));
    let number = told.split_once("about ").and_then(|(_, rest)| rest.split_once(" of memory"));
    let (number, unit) =
        number.and_then(|(number, _)| number.split_once(' ')).unwrap_or_else(|| panic!("{told}"));
    let factor = match unit {
        "kB" => 1024.0,
        "MB" => MIB as f64,
        other => panic!("{other}"),
    };
    (number.parse::<f64>().unwrap() * factor) as u64
}

const CASES: [(&str, &[&str]); 13] = [
    ("jpeg", &["look", "info", "highlight", "turn", "larger", "collage"]),
    ("progressive", &["highlight", "to exact webp"]),
    ("gray jpeg", &["adjust", "to webp"]),
    ("png", &["turn", "larger", "to exact webp"]),
    ("gray png", &["blur"]),
    ("deep gray png", &["turn"]),
    ("deep png", &["look", "info", "adjust", "larger", "half"]),
    ("webp", &["turn", "look"]),
    ("gif", &["turn"]),
    ("animation", &["half"]),
    ("tiff", &["adjust"]),
    ("bmp", &["to gif"]),
    ("heic", &["highlight", "collage"]),
];

#[tokio::test]
async fn edits_stay_within_their_reserved_memory() {
    if let Ok(case) = std::env::var(CASE) {
        let parts: Vec<&str> = case.split(':').collect();
        return measure(parts[0], parts[1], parts[2].parse().ok()).await;
    }
    let cases: Vec<_> =
        CASES.iter().flat_map(|(kind, names)| names.iter().map(move |name| (*kind, *name))).collect();
    let folder = tempfile::tempdir().unwrap();
    for (kind, _) in CASES {
        std::fs::write(folder.path().join(kind), file(kind)).unwrap();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut over = Vec::new();
        while let Some((kind, name)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let path = folder.path().join(kind);
            let told = run_child(&path, name, None);
            let peak = told.strip_prefix("PEAK ").unwrap_or_else(|| panic!("{kind}, {name}: {told}"));
            let (peak, reserved) = (peak.parse::<u64>().unwrap(), reserved(&path, name));
            println!("{kind}, {name}: {} of {} MiB", peak / MIB, reserved / MIB);
            if peak > reserved + SLACK {
                over.push(format!("{kind}, {name}: {peak} bytes, but {reserved} were reserved"));
            }
        }
        over
    };
    let over: Vec<String> = std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(over.is_empty(), "{over:#?}");
}

#[tokio::test]
async fn a_small_file_with_too_many_deep_pixels_is_refused_with_the_reason() {
    let world = World::new().await.with_pool(PoolLimits { memory_bytes: 96 << 20, ..PoolLimits::default() });
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::new_rgba16(4000, 3000).write_to(&mut bytes, ImageFormat::Png).unwrap();
    let id = world.sends("deep.png", bytes.into_inner()).await;
    let of_the_picture = |mut arguments: Value| {
        arguments["images"] = json!([id]);
        arguments
    };
    for (tool, arguments) in [
        ("crop_image", of_the_picture(json!({"aspect": "square"}))),
        ("convert_image", of_the_picture(json!({"format": "jpeg"}))),
        ("image_info", of_the_picture(json!({}))),
        ("look_at_image", json!({"image": id})),
    ] {
        let told = world.refused(tool, arguments).await;
        assert!(told.contains("of memory, and at most 72 MB are set aside here. Use a smaller"), "{told}");
    }
    let file = world.found(id).await;
    assert!(world.context.renderer.thumbnail(&file, 320).await.is_err(), "thumbnails count too");
}
