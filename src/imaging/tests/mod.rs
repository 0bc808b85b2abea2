//! Promises that span several files of this room, kept on real and hostile pictures.

mod annotations;
mod corpus;
mod golden;
mod highlights;
mod privacy;

use std::path::PathBuf;

fn read(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/images").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
