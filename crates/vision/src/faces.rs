//! Faces. Recall before precision, because people rely on every face being found. CenterFace searches the whole picture.
//! In a large picture YuNet, which is many times faster and less exact, proposes small faces in tiles, and CenterFace
//! looks at each proposal enlarged.

use image::RgbImage;
use imaging::StopFlag;

use crate::boxes::{Scored, keep_best};
use crate::models::{Models, check_stopped};
use crate::pixels::{Scaling, planes, resized, tile, tile_starts};
use crate::weights::ModelFile;
use crate::{Finding, VisionError};

/// The longest side of the whole picture as the model sees it.
const WHOLE_SIDE: u32 = 1024;
/// Small pictures are enlarged up to this factor.
const MAX_ENLARGEMENT: f32 = 2.0;
/// The longest side of a large picture that is searched in tiles.
const TILED_SIDE: u32 = 2560;
/// Both sides of YuNet's input.
const TILE: u32 = 640;
/// Wider than the largest face that only the tiles show.
const TILE_OVERLAP: u32 = 64;
const MIN_SCORE: f32 = 0.35;
/// Faces with fewer pixels in the model's input are looked at enlarged.
const SMALL_FACE: f32 = 20.0;
/// A small face with this score stays even if it is not confirmed.
const SURE_SCORE: f32 = 0.6;
const MIN_PROPOSAL_SCORE: f32 = 0.5;
/// Proposals beyond this number are not looked at: a crowd is found in the whole picture too.
const MAX_PROPOSALS: usize = 40;
/// The sides of the enlarged proposal, and of the face in its middle.
const PROPOSAL_SIDE: u32 = 160;
const PROPOSED_FACE_SIDE: f32 = 48.0;
/// Steps of YuNet's outputs, in pixels of its input.
const PROPOSAL_STRIDES: [u32; 3] = [8, 16, 32];
/// Two boxes with a greater overlap are one face.
const MAX_OVERLAP: f32 = 0.3;
/// A step of the model's output, in pixels of its input.
const STRIDE: f32 = 4.0;
/// The model takes sides that are multiples of this.
const SIDE_STEP: u32 = 32;

impl Models {
    /// Every face, largest score first.
    pub fn faces(&self, pixels: &RgbImage, stop: &StopFlag) -> Result<Vec<Finding>, VisionError> {
        let (width, height) = pixels.dimensions();
        let found = self.scored_faces(pixels, stop)?;
        let finding = |face: &Scored| {
            let region = face.region(width, height)?;
            Some(Finding { label: Finding::FACE, score: face.score, region, text: None })
        };
        Ok(found.iter().filter_map(finding).collect())
    }

    pub(crate) fn scored_faces(
        &self,
        pixels: &RgbImage,
        stop: &StopFlag,
    ) -> Result<Vec<Scored>, VisionError> {
        let longest = pixels.width().max(pixels.height()).max(1);
        let factor = (WHOLE_SIDE as f32 / longest as f32).min(MAX_ENLARGEMENT);
        let mut found = self.faces_at(pixels, factor, stop)?;
        if longest > WHOLE_SIDE {
            found = self.looked_at_closer(pixels, found, factor, stop)?;
            let mut proposals = self.proposals(pixels, longest, stop)?;
            proposals.retain(|proposal| !found.iter().any(|face| is_same_face(face, proposal)));
            for proposal in proposals.iter().take(MAX_PROPOSALS) {
                found.extend(self.confirmed(pixels, proposal, stop)?);
            }
        }
        Ok(keep_best(found, |face| face.score, is_same_face))
    }

    /// Looks at small faces enlarged: their boxes get exact, and what is no face goes unless it seemed very much like one.
    fn looked_at_closer(
        &self,
        pixels: &RgbImage,
        found: Vec<Scored>,
        factor: f32,
        stop: &StopFlag,
    ) -> Result<Vec<Scored>, VisionError> {
        let mut closer = Vec::new();
        for (index, face) in found.into_iter().enumerate() {
            let small = face.width().min(face.height()) * factor < SMALL_FACE;
            if !small || index >= MAX_PROPOSALS {
                closer.push(face);
                continue;
            }
            let confirmed = self.confirmed(pixels, &face, stop)?;
            closer.extend(confirmed.or(Some(face).filter(|face| face.score >= SURE_SCORE)));
        }
        Ok(closer)
    }

    /// What may be faces, in a reduced copy of the picture that is searched in tiles.
    fn proposals(
        &self,
        pixels: &RgbImage,
        longest: u32,
        stop: &StopFlag,
    ) -> Result<Vec<Scored>, VisionError> {
        let factor = (TILED_SIDE as f32 / longest as f32).min(1.0);
        let side = |length: u32| ((length as f32 * factor).round() as u32).max(1);
        let scaled = resized(pixels, side(pixels.width()), side(pixels.height()))?;
        let across = pixels.width() as f32 / scaled.width() as f32;
        let down = pixels.height() as f32 / scaled.height() as f32;
        let mut found = Vec::new();
        for y in tile_starts(scaled.height(), TILE, TILE_OVERLAP) {
            for x in tile_starts(scaled.width(), TILE, TILE_OVERLAP) {
                check_stopped(stop)?;
                let proposed = self.proposals_in(&tile(&scaled, x, y, TILE, TILE), stop)?;
                let placed = |place: Scored| place.moved(x as f32, y as f32).scaled(across, down);
                found.extend(proposed.into_iter().map(placed));
            }
        }
        Ok(keep_best(found, |face| face.score, is_same_face))
    }

    fn proposals_in(&self, tile: &RgbImage, stop: &StopFlag) -> Result<Vec<Scored>, VisionError> {
        let mut swapped = tile.clone();
        swapped.pixels_mut().for_each(|pixel| pixel.0.reverse());
        let outputs = self.run(ModelFile::FaceProposals, &planes(&swapped, Scaling::NONE), 9, stop)?;
        let data: Vec<Vec<f32>> = outputs.into_iter().map(|output| output.into_data()).collect();
        let mut found = Vec::new();
        for (level, stride) in PROPOSAL_STRIDES.into_iter().enumerate() {
            let (Some(kinds), Some(objects), Some(places)) =
                (data.get(level), data.get(level + 3), data.get(level + 6))
            else {
                return Err(VisionError::failed("nine outputs of face proposals are expected"));
            };
            let (columns, stride) = ((TILE / stride) as usize, stride as f32);
            let cells = kinds.iter().zip(objects).zip(places.chunks_exact(4)).enumerate();
            for (cell, ((kind, object), place)) in cells {
                let score = (kind.clamp(0.0, 1.0) * object.clamp(0.0, 1.0)).sqrt();
                if score < MIN_PROPOSAL_SCORE {
                    continue;
                }
                let (x, y) = ((cell % columns) as f32, (cell / columns) as f32);
                let (x, y) = ((x + place[0]) * stride, (y + place[1]) * stride);
                let (wide, tall) = (place[2].exp() * stride / 2.0, place[3].exp() * stride / 2.0);
                found.push(Scored {
                    left: x - wide,
                    right: x + wide,
                    top: y - tall,
                    bottom: y + tall,
                    score,
                });
            }
        }
        Ok(keep_best(found, |face| face.score, is_same_face))
    }

    /// The face at a proposal, if the better model sees one there.
    fn confirmed(
        &self,
        pixels: &RgbImage,
        proposal: &Scored,
        stop: &StopFlag,
    ) -> Result<Option<Scored>, VisionError> {
        let side = proposal.width().max(proposal.height()).max(4.0);
        let around = (side * PROPOSAL_SIDE as f32 / PROPOSED_FACE_SIDE).ceil() as u32;
        let start = |near: f32, far: f32, length: u32| {
            let start = (near + far) / 2.0 - around as f32 / 2.0;
            (start.max(0.0) as u32).min(length.saturating_sub(around))
        };
        let x = start(proposal.left, proposal.right, pixels.width());
        let y = start(proposal.top, proposal.bottom, pixels.height());
        let part = tile(pixels, x, y, around.min(pixels.width() - x), around.min(pixels.height() - y));
        let factor = PROPOSAL_SIDE as f32 / around as f32;
        let faces = self.faces_at(&part, factor, stop)?.into_iter();
        let mut placed = faces.map(|face| face.moved(x as f32, y as f32));
        Ok(placed.find(|face| is_same_face(face, proposal) || is_same_face(proposal, face)))
    }

    /// Faces in one run of the model, in pixels of `pixels`.
    fn faces_at(&self, pixels: &RgbImage, factor: f32, stop: &StopFlag) -> Result<Vec<Scored>, VisionError> {
        let side = |length: u32| {
            ((length as f32 * factor) as u32).div_ceil(SIDE_STEP).max(1).saturating_mul(SIDE_STEP)
        };
        let (width, height) = (side(pixels.width()), side(pixels.height()));
        let input = planes(&resized(pixels, width, height)?, Scaling::NONE);
        let outputs = self.run(ModelFile::Faces, &input, 3, stop)?;
        let data: Vec<Vec<f32>> = outputs.into_iter().map(|output| output.into_data()).collect();
        let (columns, rows) = ((width as f32 / STRIDE) as usize, (height as f32 / STRIDE) as usize);
        let cells = columns * rows;
        let [heat, size, offset] = data.as_slice() else {
            return Err(VisionError::failed("three outputs of faces are expected"));
        };
        if heat.len() != cells || size.len() != 2 * cells || offset.len() != 2 * cells {
            return Err(VisionError::failed("the outputs of faces have another size"));
        }
        let (across, down) = (pixels.width() as f32 / width as f32, pixels.height() as f32 / height as f32);
        let mut found = Vec::new();
        for (cell, score) in heat.iter().enumerate().filter(|(_, score)| **score >= MIN_SCORE) {
            // Height before width, down before across.
            let (tall, wide) = (size[cell].exp() * STRIDE, size[cells + cell].exp() * STRIDE);
            let x = ((cell % columns) as f32 + offset[cells + cell] + 0.5) * STRIDE;
            let y = ((cell / columns) as f32 + offset[cell] + 0.5) * STRIDE;
            let face = Scored {
                left: x - wide / 2.0,
                right: x + wide / 2.0,
                top: y - tall / 2.0,
                bottom: y + tall / 2.0,
                score: *score,
            };
            found.push(face.scaled(across, down));
        }
        Ok(keep_best(found, |face| face.score, is_same_face))
    }
}

/// Also true for a part of a face that the edge of a tile cuts.
fn is_same_face(one: &Scored, other: &Scored) -> bool {
    one.overlap(other) > MAX_OVERLAP || other.share_inside(one) > 0.7
}
