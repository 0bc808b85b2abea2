//! What an image generation service is asked for, independent of the vendor.

use super::media::LoadedFile;
use bytes::Bytes;
use imaging::Region;

text_enum! {
    /// Picture formats that every service can generate.
    Shape "a shape" { Square = "square", Landscape = "landscape", Portrait = "portrait" }
}

impl Shape {
    pub const ALL: [Self; 3] = [Self::Square, Self::Landscape, Self::Portrait];

    /// The shape that leaves the smallest margin around a picture of this size.
    pub fn nearest(width: u32, height: u32) -> Self {
        // The geometric mean of 1:1 and 3:2.
        const HALFWAY: f64 = 1.2247;
        let ratio = f64::from(width.max(1)) / f64::from(height.max(1));
        if ratio > HALFWAY {
            Self::Landscape
        } else if ratio < 1.0 / HALFWAY {
            Self::Portrait
        } else {
            Self::Square
        }
    }

    /// The size in pixels that OpenAI returns. Gemini returns the same ratios at other sizes.
    pub fn size(self) -> (u32, u32) {
        match self {
            Self::Square => (1024, 1024),
            Self::Landscape => (1536, 1024),
            Self::Portrait => (1024, 1536),
        }
    }
}

/// New pictures from a text.
#[derive(Debug, Clone, PartialEq)]
pub struct ImageRequest {
    pub prompt: String,
    pub shape: Shape,
    pub count: u32,
}

/// A picture from a picture and an instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct ImageEdit {
    pub picture: LoadedFile,
    pub instruction: String,
    /// None lets the whole picture change.
    pub only: Option<EditArea>,
}

/// The area of the sent picture that may change.
#[derive(Debug, Clone, PartialEq)]
pub struct EditArea {
    pub part: Region,
    /// The same area as a PNG of the picture's size, transparent where it may change.
    pub mask: Bytes,
    /// The shape of the sent picture, so that the result covers it exactly.
    pub shape: Shape,
}

impl ImageEdit {
    /// The instruction for the service. It describes the area in words too, because services treat a mask as a hint.
    pub fn prompt(&self) -> String {
        let instruction = self.instruction.trim();
        let Some(EditArea { part, .. }) = &self.only else { return instruction.to_owned() };
        let percent = |thousandths: f64| (thousandths / 10.0).round();
        format!(
            "{instruction}\n\nChange only the part of this picture that reaches from {}% to {}% of its width, counted \
             from the left, and from {}% to {}% of its height, counted from the top. Leave everything else exactly as \
             it is, in the same place and at the same size.",
            percent(part.left()),
            percent(part.right()),
            percent(part.top()),
            percent(part.bottom())
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_shape_is_chosen_by_ratio() {
        for (width, height, shape) in [
            (1000, 1000, Shape::Square),
            (1200, 1000, Shape::Square),
            (4000, 3000, Shape::Landscape),
            (3000, 4000, Shape::Portrait),
            (9000, 100, Shape::Landscape),
            (0, 0, Shape::Square),
        ] {
            assert_eq!(Shape::nearest(width, height), shape, "{width}×{height}");
        }
    }

    #[test]
    fn the_prompt_describes_the_area_that_may_change() {
        let part = Region::new(100.0, 250.0, 600.0, 1000.0).unwrap();
        let picture = LoadedFile { mime: "image/png".into(), bytes: vec![1].into() };
        let only = EditArea { part, mask: vec![1].into(), shape: Shape::Square };
        let whole = ImageEdit { picture, instruction: " add a hat ".into(), only: None };
        assert_eq!(whole.prompt(), "add a hat");
        let prompt = ImageEdit { only: Some(only), ..whole }.prompt();
        assert!(prompt.starts_with("add a hat\n\nChange only the part"), "{prompt}");
        assert!(prompt.contains("from 10% to 60% of its width"), "{prompt}");
        assert!(prompt.contains("from 25% to 100% of its height"), "{prompt}");
    }
}
