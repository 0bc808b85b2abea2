//! What the camera noted of a shot, in words. Where it was taken is never told, only that the file tells it.

use exif::{Exif, In, Tag, Value};

use crate::Format;
use crate::file::{has_position, read_exif, read_exif_block};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct CameraInfo {
    /// "Apple iPhone 15 Pro"
    pub camera: Option<String>,
    pub lens: Option<String>,
    /// As the camera's clock had it: "2024-05-01 18:30:12"
    pub taken: Option<String>,
    /// "1/250 s, f/2.8, ISO 100, 50 mm"
    pub exposure: Option<String>,
    pub software: Option<String>,
    /// How the pixels lie in the file, if not upright.
    pub turned: Option<&'static str>,
    /// Whether the place where it was taken is in the file.
    pub position: bool,
}

const LONGEST: usize = 80;

impl CameraInfo {
    /// None where nothing is noted.
    pub(super) fn of(bytes: &[u8], format: Format) -> Option<Self> {
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

/// Written by whoever made the file, so it is one short line at most.
fn text(exif: &Exif, tag: Tag) -> Option<String> {
    let Value::Ascii(lines) = &exif.get_field(tag, In::PRIMARY)?.value else { return None };
    let line = String::from_utf8_lossy(lines.first()?);
    let line: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
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

/// At most one digit after the point, and none that says nothing.
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
