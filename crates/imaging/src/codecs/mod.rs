//! Files to pixels and back: what a file is, what its header says, decoding within limits, encoding by purpose,
//! converting on request. What is done to the pixels is in `ops`.

pub(super) mod convert;
pub(super) mod decode;
pub(super) mod encode;
pub(super) mod format;
pub(super) mod header;
#[cfg(feature = "heic")]
pub(super) mod heic;
pub(super) mod jpeg;
pub(super) mod metadata;
pub(super) mod probe;
pub(super) mod profile;
pub(super) mod quality;
pub(super) mod segments;
pub(super) mod shortcut;
pub(super) mod strip;
