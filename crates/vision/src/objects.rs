//! Objects of 80 kinds (SSD with MobileNet, trained on COCO). The whole picture is searched, and large pictures once
//! more in quarters, where smaller things are large enough to be seen.

use image::RgbImage;
use imaging::StopFlag;

use crate::boxes::{Scored, keep_best};
use crate::models::{Models, check_stopped};
use crate::pixels::{Scaling, planes, resized, tile};
use crate::weights::ModelFile;
use crate::{Finding, VisionError};

/// Both sides of the model's input.
const SIDE: u32 = 300;
/// The columns of the model's scores: COCO's ids from 1 to 90. Some ids are not in use.
const COLUMNS: usize = 90;
const MIN_SCORE: f32 = 0.5;
/// A second kind with at least this score in the same place makes the first one doubtful.
const RIVAL_SCORE: f32 = 0.2;
/// How far the second look reaches beyond a thing, as a share of its longer side.
const SECOND_LOOK_MARGIN: f32 = 0.3;
const MAX_SECOND_LOOKS: usize = 8;
/// Half-hidden people score less than other things, and count.
const MIN_PERSON_SCORE: f32 = 0.4;
/// In a part of the picture, parts of things look like things.
const MIN_TILE_SCORE: f32 = 0.6;
/// Pictures with a shorter side than this are not searched in parts.
const MIN_TILED_SIDE: u32 = 600;
/// The share of a side that a part covers: two of them overlap by a fifth of the picture.
const TILE_SHARE: f32 = 0.6;
/// Two boxes of the same kind with a greater overlap are one thing.
const MAX_OVERLAP: f32 = 0.45;
/// Two boxes of different kinds with a greater overlap are one thing, of the surer kind.
const MAX_OVERLAP_OF_KINDS: f32 = 0.6;
/// A found thing that touches the edge of a part, within this share of its side, may continue beyond it.
const CUT_MARGIN: f32 = 0.02;

/// The kinds of objects by COCO's ids; empty where an id is not in use.
const KINDS: [&str; COLUMNS] = [
    "person",
    "bicycle",
    "car",
    "motorcycle",
    "airplane",
    "bus",
    "train",
    "truck",
    "boat",
    "traffic light",
    "fire hydrant",
    "",
    "stop sign",
    "parking meter",
    "bench",
    "bird",
    "cat",
    "dog",
    "horse",
    "sheep",
    "cow",
    "elephant",
    "bear",
    "zebra",
    "giraffe",
    "",
    "backpack",
    "umbrella",
    "",
    "",
    "handbag",
    "tie",
    "suitcase",
    "frisbee",
    "skis",
    "snowboard",
    "sports ball",
    "kite",
    "baseball bat",
    "baseball glove",
    "skateboard",
    "surfboard",
    "tennis racket",
    "bottle",
    "",
    "wine glass",
    "cup",
    "fork",
    "knife",
    "spoon",
    "bowl",
    "banana",
    "apple",
    "sandwich",
    "orange",
    "broccoli",
    "carrot",
    "hot dog",
    "pizza",
    "donut",
    "cake",
    "chair",
    "couch",
    "potted plant",
    "bed",
    "",
    "dining table",
    "",
    "",
    "toilet",
    "",
    "tv",
    "laptop",
    "mouse",
    "remote",
    "keyboard",
    "cell phone",
    "microwave",
    "oven",
    "toaster",
    "sink",
    "refrigerator",
    "",
    "book",
    "clock",
    "vase",
    "scissors",
    "teddy bear",
    "hair drier",
    "toothbrush",
];

/// The names of all kinds of objects that can be found.
pub fn object_kinds() -> impl Iterator<Item = &'static str> {
    KINDS.into_iter().filter(|kind| !kind.is_empty())
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Object {
    pub kind: &'static str,
    pub place: Scored,
}

impl Models {
    /// All objects of the known kinds, surest first.
    pub fn objects(&self, pixels: &RgbImage, stop: &StopFlag) -> Result<Vec<Finding>, VisionError> {
        let (width, height) = pixels.dimensions();
        let found = self.scored_objects(pixels, stop)?;
        let finding = |object: &Object| {
            let region = object.place.region(width, height)?;
            Some(Finding { label: object.kind, score: object.place.score, region, text: None })
        };
        Ok(found.iter().filter_map(finding).collect())
    }

    /// People: the objects of this kind, and a part around each face that belongs to none of them. In groups the model
    /// of objects misses people whose faces are found.
    pub fn people(&self, pixels: &RgbImage, stop: &StopFlag) -> Result<Vec<Finding>, VisionError> {
        let (width, height) = pixels.dimensions();
        let mut people = self.scored_objects(pixels, stop)?;
        people.retain(|object| object.kind == Finding::PERSON);
        let mut places: Vec<Scored> = people.iter().map(|person| person.place).collect();
        let mut free = vec![true; places.len()];
        for face in self.scored_faces(pixels, stop)? {
            // Each person has one face, in the upper part.
            let fits = |place: &Scored| {
                let middle = (face.top + face.bottom) / 2.0;
                face.share_inside(place) > 0.6 && middle < place.top + place.height() * 0.6
            };
            let known = (0..free.len()).filter(|at| fits(&places[*at]));
            let owner = known.min_by(|one, other| places[*one].area().total_cmp(&places[*other].area()));
            match owner {
                Some(at) if free[at] || face.height() < places[at].height() * 0.08 => free[at] = false,
                _ => {
                    places.push(around_face(&face));
                    free.push(false);
                }
            }
        }
        let finding = |place: &Scored| {
            let region = place.region(width, height)?;
            Some(Finding { label: Finding::PERSON, score: place.score, region, text: None })
        };
        Ok(places.iter().filter_map(finding).collect())
    }

    pub(crate) fn scored_objects(
        &self,
        pixels: &RgbImage,
        stop: &StopFlag,
    ) -> Result<Vec<Object>, VisionError> {
        let (width, height) = pixels.dimensions();
        let seen = self.objects_at(pixels, RIVAL_SCORE, stop)?;
        let sure = seen.iter().filter(|object| object.place.score >= least_score(object.kind, MIN_SCORE));
        let mut found = keep_best(sure.copied().collect(), |object| object.place.score, is_same_object);
        for object in found.iter_mut().take(MAX_SECOND_LOOKS) {
            self.settle_kind(pixels, object, &seen, stop)?;
        }
        if width.min(height) >= MIN_TILED_SIDE {
            // Parts need no more pixels than the model sees.
            let reduce = (SIDE as f32 * 2.0 / TILE_SHARE / width.min(height) as f32).min(1.0);
            let side = |length: u32| ((length as f32 * reduce) as u32).max(1);
            let small = resized(pixels, side(width), side(height))?;
            let (across, down) = (width as f32 / small.width() as f32, height as f32 / small.height() as f32);
            let part = |length: u32| ((length as f32 * TILE_SHARE) as u32).max(1);
            let (wide, tall) = (part(small.width()), part(small.height()));
            for y in [0, small.height() - tall] {
                for x in [0, small.width() - wide] {
                    check_stopped(stop)?;
                    let objects = self.objects_at(&tile(&small, x, y, wide, tall), MIN_TILE_SCORE, stop)?;
                    let objects = keep_best(objects, |object| object.place.score, is_same_object);
                    let inside = |object: &Object| {
                        !is_cut(&object.place, (x, y), (wide, tall), (small.width(), small.height()))
                    };
                    found.extend(objects.into_iter().filter(inside).map(|object| Object {
                        place: object.place.moved(x as f32, y as f32).scaled(across, down),
                        ..object
                    }));
                }
            }
        }
        Ok(keep_best(found, |object| object.place.score, is_same_object))
    }

    /// Where the model sees two kinds in one place (a horse as "sheep"), it looks once more at that place enlarged.
    fn settle_kind(
        &self,
        pixels: &RgbImage,
        object: &mut Object,
        seen: &[Object],
        stop: &StopFlag,
    ) -> Result<(), VisionError> {
        let here = |other: &&Object| other.place.overlap(&object.place) > MAX_OVERLAP_OF_KINDS;
        let here: Vec<Object> = seen.iter().filter(here).copied().collect();
        if here.iter().all(|other| other.kind == object.kind) {
            return Ok(());
        }
        check_stopped(stop)?;
        let margin = object.place.width().max(object.place.height()) * SECOND_LOOK_MARGIN;
        let start = |near: f32| (near - margin).max(0.0) as u32;
        let (x, y) = (start(object.place.left), start(object.place.top));
        let end = |far: f32, side: u32| ((far + margin) as u32).min(side);
        let (right, bottom) =
            (end(object.place.right, pixels.width()), end(object.place.bottom, pixels.height()));
        if right <= x || bottom <= y {
            return Ok(());
        }
        let part = tile(pixels, x, y, right - x, bottom - y);
        let place = object.place.moved(-(x as f32), -(y as f32));
        let closer = self.objects_at(&part, RIVAL_SCORE, stop)?;
        let best = |objects: &[Object], kind: &str, place: &Scored| {
            let same =
                objects.iter().filter(|other| other.kind == kind && other.place.overlap(place) > MAX_OVERLAP);
            same.map(|other| other.place.score).fold(0.0, f32::max)
        };
        let score = |kind: &'static str| best(&here, kind, &object.place) + best(&closer, kind, &place);
        let settled =
            here.iter().map(|other| other.kind).max_by(|one, other| score(one).total_cmp(&score(other)));
        if let Some(kind) = settled {
            let sure = (score(kind) / 2.0).max(MIN_PERSON_SCORE);
            (object.kind, object.place.score) = (kind, sure);
        }
        Ok(())
    }

    /// Objects in one run of the model, in pixels of `pixels`.
    fn objects_at(
        &self,
        pixels: &RgbImage,
        min_score: f32,
        stop: &StopFlag,
    ) -> Result<Vec<Object>, VisionError> {
        let input = planes(&resized(pixels, SIDE, SIDE)?, Scaling::SIGNED);
        let outputs = self.run(ModelFile::Objects, &input, 2, stop)?;
        let data: Vec<Vec<f32>> = outputs.into_iter().map(|output| output.into_data()).collect();
        let [scores, boxes] = data.as_slice() else {
            return Err(VisionError::failed("two outputs of objects are expected"));
        };
        if scores.len() / COLUMNS != boxes.len() / 4 {
            return Err(VisionError::failed("the outputs of objects have another size"));
        }
        let (width, height) = (pixels.width() as f32, pixels.height() as f32);
        let mut found = Vec::new();
        for (scores, place) in scores.chunks_exact(COLUMNS).zip(boxes.chunks_exact(4)) {
            for (kind, score) in KINDS.iter().zip(scores) {
                if *score < least_score(kind, min_score) || kind.is_empty() {
                    continue;
                }
                let clipped = |value: f32, side: f32| (value * side).clamp(0.0, side);
                let place = Scored {
                    top: clipped(place[0], height),
                    left: clipped(place[1], width),
                    bottom: clipped(place[2], height),
                    right: clipped(place[3], width),
                    score: *score,
                };
                found.push(Object { kind, place });
            }
        }
        Ok(found)
    }
}

fn least_score(kind: &str, least: f32) -> f32 {
    if kind == Finding::PERSON { least.min(MIN_PERSON_SCORE) } else { least }
}

fn is_same_object(better: &Object, other: &Object) -> bool {
    if better.kind != other.kind {
        return better.place.overlap(&other.place) > MAX_OVERLAP_OF_KINDS;
    }
    better.place.overlap(&other.place) > MAX_OVERLAP || other.place.share_inside(&better.place) > 0.8
}

/// Whether a thing continues beyond the part of the picture in which it was found.
fn is_cut(place: &Scored, (x, y): (u32, u32), (wide, tall): (u32, u32), whole: (u32, u32)) -> bool {
    let (across, down) = (wide as f32 * CUT_MARGIN, tall as f32 * CUT_MARGIN);
    let (ends_right, ends_bottom) = (x + wide >= whole.0, y + tall >= whole.1);
    (x > 0 && place.left <= across)
        || (y > 0 && place.top <= down)
        || (!ends_right && place.right >= wide as f32 - across)
        || (!ends_bottom && place.bottom >= tall as f32 - down)
}

/// Head and shoulders of a person of whom only the face was found.
fn around_face(face: &Scored) -> Scored {
    Scored {
        left: face.left - face.width() * 0.9,
        right: face.right + face.width() * 0.9,
        top: face.top - face.height() * 0.5,
        bottom: face.bottom + face.height() * 1.8,
        score: face.score,
    }
}
