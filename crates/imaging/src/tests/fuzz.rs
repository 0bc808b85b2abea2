//! Mutated files: whatever the header says, nothing panics and the pixels are as large as the header promised.

use crate::{EditContext, View, decode, is_animated, probe, view_file};
use std::path::PathBuf;

/// Larger pictures only take longer to decode.
const MAX_PIXELS: u64 = 1_000_000;

fn seeds() -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/images");
    let folders = [folder.clone(), folder.join("made")];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let seeds = files.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let seeds: Vec<Vec<u8>> = seeds.map(|path| std::fs::read(path).unwrap()).collect();
    assert!(seeds.len() > 30, "the pictures are gone");
    seeds
}

#[test]
fn mutated_pictures_never_panic_and_decode_to_the_size_of_their_header() {
    let work = EditContext::default();
    fuzzing::fuzz("pictures", &seeds(), fuzzing::mutate_bytes, |bytes| {
        let Ok(header) = probe(bytes) else {
            assert!(decode(bytes, &work).is_err(), "pixels without a readable header");
            return;
        };
        let _ = is_animated(bytes);
        if u64::from(header.width) * u64::from(header.height) > MAX_PIXELS {
            return;
        }
        if let Ok(picture) = decode(bytes, &work) {
            assert_eq!((picture.width(), picture.height()), (header.width, header.height));
            let small = view_file(bytes, &View::whole(32), &work).unwrap();
            let small = probe(&small.bytes).unwrap();
            assert!(small.width.max(small.height) <= 32);
        }
    });
}
