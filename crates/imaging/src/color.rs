//! Colours as people write them: CSS names, `#rrggbb` and `rgb(r, g, b)`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ImagingError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Color {
    pub r: u8,
    pub g: u8,
    pub b: u8,
}

const NAMES: [(&str, Color); 24] = [
    ("red", Color::RED),
    ("orange", Color::rgb(255, 165, 0)),
    ("gold", Color::rgb(255, 215, 0)),
    ("yellow", Color::rgb(255, 255, 0)),
    ("lime", Color::rgb(0, 255, 0)),
    ("green", Color::rgb(0, 128, 0)),
    ("olive", Color::rgb(128, 128, 0)),
    ("teal", Color::rgb(0, 128, 128)),
    ("turquoise", Color::rgb(64, 224, 208)),
    ("cyan", Color::rgb(0, 255, 255)),
    ("skyblue", Color::rgb(135, 206, 235)),
    ("blue", Color::rgb(0, 0, 255)),
    ("navy", Color::rgb(0, 0, 128)),
    ("purple", Color::rgb(128, 0, 128)),
    ("violet", Color::rgb(238, 130, 238)),
    ("magenta", Color::rgb(255, 0, 255)),
    ("pink", Color::rgb(255, 192, 203)),
    ("crimson", Color::rgb(220, 20, 60)),
    ("maroon", Color::rgb(128, 0, 0)),
    ("brown", Color::rgb(165, 42, 42)),
    ("black", Color::BLACK),
    ("gray", Color::rgb(128, 128, 128)),
    ("silver", Color::rgb(192, 192, 192)),
    ("white", Color::WHITE),
];

impl Color {
    pub const RED: Self = Self::rgb(255, 0, 0);
    pub const BLACK: Self = Self::rgb(0, 0, 0);
    pub const WHITE: Self = Self::rgb(255, 255, 255);

    pub const fn rgb(r: u8, g: u8, b: u8) -> Self {
        Self { r, g, b }
    }

    pub fn parse(text: &str) -> Result<Self, ImagingError> {
        let wanted = text.trim().to_ascii_lowercase().replace("grey", "gray");
        let named = || NAMES.iter().find(|(name, _)| *name == wanted).map(|(_, color)| *color);
        named().or_else(|| from_hex(&wanted)).or_else(|| from_rgb(&wanted)).ok_or_else(|| {
            let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
            ImagingError::BadArgument(format!(
                "Unknown color {text:?}. Use #rrggbb, rgb(r, g, b) with 0 to 255 each, or one of: {}.",
                names.join(", ")
            ))
        })
    }

    /// Black or white, whichever reads better on this colour. The threshold is below the point of equal contrast:
    /// people expect white labels on strong red or blue.
    pub fn readable_on_top(self) -> Self {
        if self.luminance() > 0.3 { Self::BLACK } else { Self::WHITE }
    }

    /// Relative luminance as WCAG defines it, 0 to 1.
    fn luminance(self) -> f32 {
        let linear = |channel: u8| {
            let v = f32::from(channel) / 255.0;
            if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.r) + 0.7152 * linear(self.g) + 0.0722 * linear(self.b)
    }
}

impl Default for Color {
    fn default() -> Self {
        Self::RED
    }
}

fn from_hex(text: &str) -> Option<Color> {
    let digits: Vec<u8> =
        text.strip_prefix('#')?.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect::<Option<_>>()?;
    match digits[..] {
        [r, g, b] => Some(Color::rgb(r * 17, g * 17, b * 17)),
        [r1, r0, g1, g0, b1, b0] => Some(Color::rgb(r1 * 16 + r0, g1 * 16 + g0, b1 * 16 + b0)),
        _ => None,
    }
}

fn from_rgb(text: &str) -> Option<Color> {
    let inside = text.strip_prefix("rgb(")?.strip_suffix(')')?;
    let channels: Vec<u8> = inside.split(',').map(|c| c.trim().parse().ok()).collect::<Option<_>>()?;
    match channels[..] {
        [r, g, b] => Some(Color::rgb(r, g, b)),
        _ => None,
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.r, self.g, self.b)
    }
}

impl TryFrom<String> for Color {
    type Error = ImagingError;

    fn try_from(text: String) -> Result<Self, ImagingError> {
        Self::parse(&text)
    }
}

impl From<Color> for String {
    fn from(color: Color) -> Self {
        color.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notation_of_red_parses() {
        for text in ["red", " Red ", "#ff0000", "#F00", "rgb(255, 0, 0)", "RGB(255,0,0)"] {
            assert_eq!(Color::parse(text), Ok(Color::RED), "{text}");
        }
        assert_eq!(Color::parse("grey"), Color::parse("gray"));
    }

    #[test]
    fn an_unknown_color_error_lists_what_is_allowed() {
        for text in ["reddish", "", "#ff00", "#ggg", "rgb(1,2)", "rgb(300,0,0)", "#é0"] {
            let error = Color::parse(text).unwrap_err().to_string();
            assert!(error.contains("#rrggbb") && error.contains("turquoise"), "{error}");
        }
    }

    #[test]
    fn labels_are_readable_on_light_and_dark_plates() {
        for (plate, ink) in
            [("red", Color::WHITE), ("blue", Color::WHITE), ("yellow", Color::BLACK), ("lime", Color::BLACK)]
        {
            assert_eq!(Color::parse(plate).unwrap().readable_on_top(), ink, "{plate}");
        }
    }
}
