//! Properties of a HEIC file other than its pixels.

use std::panic::catch_unwind;

pub(super) fn read_heic_exif(bytes: &[u8]) -> Option<Vec<u8>> {
    catch_unwind(|| heic_decoder::read_metadata(bytes)).ok()?.ok()?.exif
}

/// Bits per channel, as stored.
pub(crate) fn read_heic_depth(bytes: &[u8]) -> Option<u32> {
    Some(catch_unwind(|| heic_decoder::probe(bytes)).ok()?.ok()?.bit_depth_luma)
}
