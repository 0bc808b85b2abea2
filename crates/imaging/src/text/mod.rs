//! Text in pictures, laid out into blocks that are ready to be drawn. The operations decide where a block goes.

mod block;
#[cfg(test)]
mod tests;

pub(super) use block::{Align, Lines, TextBlock, TextStyle};
