//! Promises that span several files of this room, kept on real and hostile pictures.

mod annotations;
mod codecs;
mod conversions;
mod corpus;
mod facts;
mod golden;
mod highlights;
mod inlays;
mod looks;
mod privacy;
mod redactions;

use std::path::PathBuf;

fn read(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/images").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
