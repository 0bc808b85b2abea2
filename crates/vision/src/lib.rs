//! What is in a picture: small models that run on this machine. Pixels in, findings out.
//!
//! # Guarantees
//!
//! - **Pure and synchronous.** No network, no async: the same pixels give the same findings. Calls block; run them on a
//!   worker thread. The only files read are the weights, if the operator names a folder.
//! - **Lazy.** A model is loaded when it is first used. [`Models::drop_unused`] frees it again.
//! - **Bounded.** The models see a copy of bounded size, or tiles of it, however large the picture is.
//! - **Stoppable.** Every call takes a [`StopFlag`](imaging::StopFlag), which is checked between tiles and between runs
//!   of a model.
//! - **Contained.** A model that panics fails that call only.
//! - **Private.** Faces are found, never recognised or compared. Nothing leaves the machine.
//!
//! # Modules
//!
//! `weights` (files), `models` (loading and running), `pixels` and `boxes` (what the models share), and one file per
//! model: `faces`, `objects`, `subject`, `portrait` (`matte` refines the masks of both), `inpaint`, `text`, `upscale`, and `codes`.

mod boxes;
mod choose;
mod codes;
mod error;
mod faces;
mod findings;
mod inpaint;
mod matte;
mod models;
mod objects;
mod pixels;
mod portrait;
mod subject;
#[cfg(test)]
mod tests;
mod text;
mod upscale;
mod weights;

pub use choose::{Number, UnknownWhich, Which, choose};
pub use error::VisionError;
pub use findings::Finding;
pub use image::RgbImage;
pub use matte::CutOut;
pub use models::Models;
pub use objects::object_kinds;
pub use text::TextLine;
pub use upscale::Enlargement;
pub use weights::Weights;
