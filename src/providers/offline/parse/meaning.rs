//! The meanings a phrase of `grammar.yaml` can have. Pure data: the intent of a whole clause is decided in
//! `intent.rs`.

pub use imaging::ops::{FlipAxis, HighlightShape};

use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    Highlight,
    Draw,
    Crop,
    CutOff,
    CutOut,
    Backdrop,
    BlurBackdrop,
    Erase,
    Rotate,
    Turn,
    Flip,
    Resize,
    Shrink,
    Grow,
    Make,
    Convert,
    Redact,
    Straighten,
    Trim,
    Write,
    Watermark,
    Compare,
    Repeat,
    StripMetadata,
    Undo,
    Redo,
    Original,
    Send,
    List,
    Info,
    See,
    Who,
    Count,
    Locate,
    Read,
    Find,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    Top,
    Bottom,
    Left,
    Right,
    Middle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpinDirection {
    Clockwise,
    Counterclockwise,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dimension {
    Width,
    Height,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeasureUnit {
    Pixels,
    Percent,
    Degrees,
    Times,
    Kilobytes,
    Megabytes,
    Seconds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Noun {
    Photo,
    Photos,
    File,
}

/// A question about a picture that its file answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileFact {
    Camera,
    Date,
    Location,
    Colours,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnimationKind {
    Animation,
    Slideshow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdjustDirection {
    Up,
    Down,
    /// Named without a direction: "contrast 20".
    Unspecified,
}

/// Left, top, right and bottom in thousandths of the picture.
pub type RegionBounds = [u32; 4];

#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    // Actions.
    Verb(Verb),
    /// The filter's name in `filter_image`.
    Filter(String),
    /// The adjustment's name in `adjust_image`, and its direction.
    Adjust(String, AdjustDirection),
    AutoLevels,
    /// The layout's name in `collage_images`.
    Layout(String),
    Animation(AnimationKind),
    Format(String),
    Fact(FileFact),

    // Details of an action.
    Shape(HighlightShape),
    Colour(String),
    /// A factor of the default strength: "a bit" is 0.5.
    Amount(f64),
    Quality,
    /// "number them": highlights carry numbers.
    Numbered,
    /// The next words are a label: "call it", "as".
    Label,
    Spin(SpinDirection),
    /// Degrees.
    Angle(f64),
    Axis(FlipAxis),
    /// "16:9".
    Aspect(String),
    /// Percent of the present size.
    Scale(f64),
    /// Pixels of the longest side.
    Longest(f64),
    Dimension(Dimension),
    Unit(MeasureUnit),
    By,
    /// "twice".
    Repeat(usize),
    Number(f64),

    // Positions in a picture.
    Side(Side),
    /// The share of a side, and its name.
    Fraction(f64, String),
    /// A narrow strip along a side.
    Edge,
    /// A name, and the regions it stands for.
    Regions(String, Vec<RegionBounds>),

    // Which files are meant.
    All,
    Them,
    Others,
    Except,
    Last,
    Ordinal(i32),
    Noun(Noun),
    It,

    // Structure of the sentence.
    Not,
    And,
    Then,
    To,
    Preposition,
    Polite,
    Filler,
    /// Index into `Grammar::small_talk`.
    SmallTalk(usize),

    // Built from tokens or from neighbouring atoms; not in the grammar.
    Ratio(f64, f64),
    Nth(i32),
    FirstFew(i32),
    LastFew(i32),
    Quoted(String),
    Comma,
    Stop,
    Colon,
    Dash,
    Unknown,
}
