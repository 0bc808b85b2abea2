//! Guarantees that span several modules, tested on real and hostile files.

mod adjustments;
mod annotations;
mod codecs;
mod conversions;
mod corpus;
mod fuzz;
mod golden;
mod highlights;
mod info;
mod privacy;
mod redactions;
mod service_canvas;

use std::path::PathBuf;

/// Reads a file of tests/images.
pub(crate) fn read(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/images").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
