//! What the camera recorded about a photo. The position is never returned, only whether the file contains one.

use exif::{Exif, In, Tag, Value};

use crate::Format;
use crate::file::{has_position, read_exif, read_exif_block};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct CameraInfo {
    /// "Apple iPhone 15 Pro"
    pub camera: Option<String>,
    pub lens: Option<String>,
    /// By the camera's clock: "2024-05-01 18:30:12"
    pub taken: Option<String>,
    /// "1/250 s, f/2.8, ISO 100, 50 mm"
    pub exposure: Option<String>,
    pub software: Option<String>,
    /// How the pixels are stored, if not upright.
    pub turned: Option<&'static str>,
    /// Whether the file contains the position where the photo was taken.
    pub position: bool,
}

const MAX_FIELD_CHARS: usize = 80;

impl CameraInfo {
    /// `None` if nothing is recorded.
    pub(super) fn read(bytes: &[u8], format: Format) -> Option<Self> {
        let exif = read_exif(read_exif_block(bytes, format)?)?;
        let shot = Self {
            camera: camera(&exif),
            lens: text(&exif, Tag::LensModel),
            taken: taken(&exif),
            exposure: exposure(&exif),
            software: text(&exif, Tag::Software),
            turned: turned(&exif),
            position: has_position(&exif),
        };
        (shot != Self::default()).then_some(shot)
    }
}

/// Untrusted text from the file, reduced to one short line.
fn text(exif: &Exif, tag: Tag) -> Option<String> {
    let Value::Ascii(lines) = &exif.get_field(tag, In::PRIMARY)?.value else { return None };
    let line = String::from_utf8_lossy(lines.first()?);
    let line: String = line.chars().filter(|c| !c.is_control()).take(MAX_FIELD_CHARS).collect();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

/// Makers often repeat their name in that of the model.
fn camera(exif: &Exif) -> Option<String> {
    let (maker, model) = (text(exif, Tag::Make), text(exif, Tag::Model));
    match (maker, model) {
        (Some(maker), Some(model)) => {
            let first = maker.split(' ').next().unwrap_or_default().to_lowercase();
            let repeated = model.to_lowercase().starts_with(&first);
            Some(if repeated { model } else { format!("{maker} {model}") })
        }
        (maker, model) => model.or(maker),
    }
}

fn taken(exif: &Exif) -> Option<String> {
    let noted = text(exif, Tag::DateTimeOriginal).or_else(|| text(exif, Tag::DateTime))?;
    let parsed = exif::DateTime::from_ascii(noted.as_bytes()).ok()?;
    (parsed.year > 0).then(|| parsed.to_string())
}

fn exposure(exif: &Exif) -> Option<String> {
    let number = |tag: Tag| match &exif.get_field(tag, In::PRIMARY)?.value {
        Value::Rational(values) => values.first().map(|value| value.to_f64()),
        other => other.get_uint(0).map(f64::from),
    };
    let positive = |tag: Tag| number(tag).filter(|value| value.is_finite() && *value > 0.0);
    let time = positive(Tag::ExposureTime).map(|seconds| {
        if seconds < 0.3 { format!("1/{:.0} s", 1.0 / seconds) } else { format!("{} s", rounded(seconds)) }
    });
    let parts = [
        time,
        positive(Tag::FNumber).map(|stop| format!("f/{}", rounded(stop))),
        positive(Tag::PhotographicSensitivity).map(|speed| format!("ISO {speed:.0}")),
        positive(Tag::FocalLength).map(|length| format!("{} mm", rounded(length))),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// At most one decimal, and no trailing zero.
fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn turned(exif: &Exif) -> Option<&'static str> {
    match exif.get_field(Tag::Orientation, In::PRIMARY)?.value.get_uint(0)? {
        2 => Some("mirrored"),
        3 => Some("upside down"),
        4 => Some("upside down and mirrored"),
        5 | 7 => Some("on its side and mirrored"),
        6 => Some("turned a quarter to the left"),
        8 => Some("turned a quarter to the right"),
        _ => None,
    }
}
