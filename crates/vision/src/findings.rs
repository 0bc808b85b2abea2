//! What the models find: labelled parts of a picture.

use imaging::Region;

/// A thing in a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// "face", "text", "code" or the name of a kind of object.
    pub label: &'static str,
    /// How sure the model is, from 0 to 1.
    pub score: f32,
    pub region: Region,
    /// What is written there, of text and codes.
    pub text: Option<String>,
}

impl Finding {
    pub const FACE: &'static str = "face";
    pub const PERSON: &'static str = "person";
    pub const TEXT: &'static str = "text";
    pub const CODE: &'static str = "code";
}
