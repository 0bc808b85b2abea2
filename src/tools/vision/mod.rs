//! Tools that look into pictures with the on-device models. `examine` runs a model on the render pool; one file per tool.

mod examine;
mod find;
mod look_again;
mod stored;
mod text;
mod wanted;

pub(super) use look_again::{look_again, looks};

use super::Tool;

pub(super) fn tools() -> Vec<Box<dyn Tool>> {
    vec![Box::new(find::FindInImage), Box::new(text::ReadImageText)]
}
