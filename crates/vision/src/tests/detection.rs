//! Faces, people and objects.

use image::{RgbImage, imageops};
use imaging::{Region, StopFlag};

use super::{overlap, picture};
use crate::{Finding, Models, VisionError, Weights};

fn region(left: f64, top: f64, right: f64, bottom: f64) -> Region {
    Region::new(left, top, right, bottom).unwrap()
}

fn of_kind(found: &[Finding], kind: &str) -> Vec<Region> {
    found.iter().filter(|finding| finding.label == kind).map(|finding| finding.region).collect()
}

#[test]
fn objects_are_found_where_they_are() {
    let models = Models::default();
    for (name, kind, expected) in [
        ("photo_chelsea.png", "cat", region(0.0, 0.0, 895.0, 1000.0)),
        ("vision/coffee.jpg", "cup", region(285.0, 60.0, 695.0, 640.0)),
        ("photo_astronaut.png", "person", region(0.0, 0.0, 900.0, 1000.0)),
    ] {
        let found = models.objects(&picture(name), &StopFlag::default()).unwrap();
        let regions = of_kind(&found, kind);
        assert_eq!(regions.len(), 1, "{name}: {found:?}");
        assert!(overlap(regions[0], expected) > 0.6, "{name}: {found:?}");
    }
}

#[test]
fn the_face_is_found_and_pictures_without_one_have_none() {
    let models = Models::default();
    let found = models.faces(&picture("photo_astronaut.png"), &StopFlag::default()).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(overlap(found[0].region, region(365.0, 130.0, 535.0, 405.0)) > 0.5, "{found:?}");
    for name in
        ["photo_chelsea.png", "vision/coffee.jpg", "photo_flower.jpg", "photo_rocket.jpg", "photo_page.png"]
    {
        let found = models.faces(&picture(name), &StopFlag::default()).unwrap();
        assert_eq!(found, [], "{name}");
    }
}

/// The astronaut at several sizes on one large picture.
fn wall_of_portraits() -> (RgbImage, Vec<Region>) {
    let portrait = picture("photo_astronaut.png");
    let (width, height) = (3600, 2400);
    let mut wall = RgbImage::from_pixel(width, height, image::Rgb([120, 130, 140]));
    let mut faces = Vec::new();
    for (x, y, side) in
        [(100, 200, 900), (1300, 300, 400), (2000, 300, 220), (2600, 1300, 160), (400, 1700, 300)]
    {
        let small = imageops::resize(&portrait, side, side, imageops::FilterType::Triangle);
        imageops::replace(&mut wall, &small, i64::from(x), i64::from(y));
        let place = |share: f64, at: u32, whole: u32| {
            (f64::from(at) + share * f64::from(side)) * 1000.0 / f64::from(whole)
        };
        let across = |share: f64| place(share, x, width);
        let down = |share: f64| place(share, y, height);
        faces.push(region(across(0.365), down(0.13), across(0.535), down(0.405)));
    }
    (wall, faces)
}

#[test]
fn small_faces_of_a_large_picture_are_found() {
    let (wall, faces) = wall_of_portraits();
    let found = Models::default().faces(&wall, &StopFlag::default()).unwrap();
    for face in &faces {
        assert!(found.iter().any(|finding| overlap(finding.region, *face) > 0.4), "{face:?} in {found:#?}");
    }
    assert_eq!(found.len(), faces.len(), "{found:#?}");
}

#[test]
fn a_person_whose_face_alone_is_found_counts() {
    let (wall, faces) = wall_of_portraits();
    let people = Models::default().people(&wall, &StopFlag::default()).unwrap();
    for face in &faces {
        let holds = |person: &&Finding| {
            let region = person.region;
            region.left() < face.left() + 5.0 && region.right() > face.right() - 5.0
        };
        assert!(people.iter().any(|person| holds(&person)), "{face:?} in {people:#?}");
    }
}

#[test]
fn a_set_flag_stops_the_work() {
    let (models, stop) = (Models::default(), StopFlag::default());
    stop.stop();
    assert_eq!(models.faces(&picture("photo_astronaut.png"), &stop), Err(VisionError::Stopped));
}

#[test]
fn models_are_loaded_on_first_use_and_dropped_when_unused() {
    let models = Models::default();
    assert_eq!(models.loaded(), 0);
    models.objects(&picture("photo_chelsea.png"), &StopFlag::default()).unwrap();
    assert_eq!(models.loaded(), 1);
    models.drop_unused(std::time::Duration::from_secs(600));
    assert_eq!(models.loaded(), 1);
    models.drop_unused(std::time::Duration::ZERO);
    assert_eq!(models.loaded(), 0);
}

#[test]
fn a_folder_without_weights_is_reported_by_the_missing_file() {
    let weights = Weights::Folder("/nowhere".into());
    assert_eq!(weights.missing(), Some("/nowhere/centerface.onnx".into()));
    let result = Models::new(weights).faces(&picture("photo_page.png"), &StopFlag::default());
    assert!(matches!(result, Err(VisionError::NotInstalled { .. })), "{result:?}");
}

#[test]
fn tiny_and_thin_pictures_do_no_harm() {
    let models = Models::default();
    for (width, height) in [(1, 1), (1, 300), (700, 2), (33, 31)] {
        let pixels = RgbImage::new(width, height);
        assert_eq!(models.faces(&pixels, &StopFlag::default()).unwrap(), []);
        models.people(&pixels, &StopFlag::default()).unwrap();
    }
}
