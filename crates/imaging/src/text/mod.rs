//! Text in pictures: which fonts there are, which characters they can write, and blocks of text that are set and
//! ready to be drawn. Where a block goes and on what plate is for the ops to say.

mod block;
#[cfg(test)]
mod tests;

pub(super) use block::{Align, Lines, TextBlock, TextStyle};
