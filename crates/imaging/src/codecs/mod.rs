//! Pixels from files and back: decoding within limits, encoding without metadata.

mod decode;
mod encode;
#[cfg(feature = "heic")]
mod heic;
mod jpeg;

pub use decode::decode;
pub(crate) use decode::decode_top;
pub use encode::{Encoded, encode};
pub(crate) use encode::{embed, encode_jpeg, encode_png, profile_to_write};
