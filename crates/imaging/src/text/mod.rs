//! Text in pictures: which fonts there are, which characters they can write, and blocks of text that are set and
//! ready to be drawn. Where a block goes and on what plate is for the ops to say.

mod block;
mod fonts;
#[cfg(test)]
mod tests;

pub(super) use block::{Align, Block, Lines, Setting};
pub use fonts::{FontError, Fonts};
