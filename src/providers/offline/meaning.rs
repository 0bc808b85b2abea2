//! What words can mean. Which words those are is in grammar.yaml; what a sentence of them asks for is read elsewhere.

use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    Highlight,
    Draw,
    Crop,
    Away,
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
    Sign,
    Compare,
    Repeat,
    Strip,
    Undo,
    Redo,
    Original,
    Send,
    List,
    Info,
    Read,
    Find,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    Rectangle,
    Ellipse,
    Spotlight,
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
pub enum Spin {
    Clockwise,
    Counterclockwise,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    Horizontal,
    Vertical,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dimension {
    Width,
    Height,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
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

/// What one can ask about a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fact {
    Camera,
    Date,
    Place,
    Colours,
}

/// Several pictures shown one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Film {
    Animation,
    Slideshow,
}

/// Which way something is adjusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Up,
    Down,
    /// Only named: "contrast 20".
    Unsaid,
}

/// Thousandths of the picture: left, top, right, bottom.
pub type Region = [u32; 4];

#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    Verb(Verb),
    Shape(Shape),
    Colour(String),
    Filter(String),
    /// What the tool calls it, and which way.
    Adjust(String, Way),
    AutoLevels,
    /// How much of the usual amount: "a bit".
    Much(f64),
    Layout(String),
    Film(Film),
    Format(String),
    Quality,
    Numbered,
    Fact(Fact),
    Side(Side),
    Fraction(f64, String),
    Edge,
    Regions(String, Vec<Region>),
    Spin(Spin),
    Angle(f64),
    Axis(Axis),
    Aspect(String),
    Scale(f64),
    Longest(f64),
    Label,
    Dimension(Dimension),
    Unit(Unit),
    By,
    Repeat(usize),
    All,
    Them,
    Others,
    Except,
    Last,
    Ordinal(i32),
    Number(f64),
    Noun(Noun),
    Not,
    And,
    Then,
    To,
    Preposition,
    It,
    Polite,
    Filler,
    Talk(usize),
    // Made of tokens or of other meanings, never written in the grammar.
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
