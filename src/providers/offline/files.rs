//! The file of a picture: its format, how much it may weigh, and what is known about it.

use super::heads::Head;
use super::meaning::{Meaning, Unit, Verb};
use super::measures::number;
use super::places::numbers;
use super::steps::{Reading, Work};
use serde_json::{Map, Value, json};

/// The most the tool takes.
const MOST_KB: f64 = 50_000.0;

impl Reading<'_> {
    fn format(&self) -> Option<String> {
        self.clause.atoms().find_map(|atom| match &atom.meaning {
            Meaning::Format(format) => Some(format.clone()),
            _ => None,
        })
    }

    pub fn convert(&mut self) {
        let numbers = numbers(&self.flat());
        let weight = numbers.iter().find_map(|(value, unit)| match unit {
            Some(Unit::Kilobytes) => Some(*value),
            Some(Unit::Megabytes) => Some(value * 1000.0),
            _ => None,
        });
        let weight = weight.map(|kb| kb.floor().clamp(1.0, MOST_KB));
        let quality = numbers.iter().find(|(_, unit)| matches!(unit, None | Some(Unit::Percent)));
        let quality = quality.filter(|_| self.clause.has(|m| *m == Meaning::Quality));
        let format = self.format();
        let exact = matches!(format.as_deref(), Some("png" | "gif"));
        let mut arguments = Map::new();
        let mut did = Vec::new();
        if let Some(format) = format {
            did.push(format!("converted {{it}} to {}", spelled(&format)));
            arguments.insert("format".to_owned(), json!(format));
        }
        if let Some((quality, _)) = quality.filter(|_| !exact) {
            let quality = quality.round().clamp(1.0, 100.0);
            did.push(format!("saved {{it}} at quality {quality}"));
            arguments.insert("quality".to_owned(), number(quality));
        }
        if let Some(kb) = weight {
            let size = if kb >= 1000.0 { format!("{} MB", kb / 1000.0) } else { format!("{kb} kB") };
            did.push(format!("brought {{it}} under {size}"));
            arguments.insert("max_kb".to_owned(), number(kb));
        }
        if self.clause.has(|m| *m == Meaning::Verb(Verb::Strip)) {
            did.push("took the metadata out".to_owned());
        }
        self.edit("convert_image", arguments, super::say::joined(&did));
    }

    /// "crop to a square as png"
    pub fn format_along(&mut self) {
        use Head::{Adjust, Away, Collage, Crop, Filter, Flip, Resize, Rotate, Straighten, Trim};
        let along = matches!(self.clause.head, Crop | Away | Trim | Rotate | Straighten | Flip | Resize)
            || matches!(self.clause.head, Filter | Adjust | Collage);
        if along && self.format().is_some() {
            self.convert();
        }
    }

    pub fn info(&mut self) {
        let fact = self.clause.atoms().find_map(|atom| match atom.meaning {
            Meaning::Fact(fact) => Some(fact),
            _ => None,
        });
        self.other(Work::Info(fact), "get_attachment_info", Map::new(), String::new());
    }
}

fn spelled(format: &str) -> String {
    if format == "webp" { "WebP".into() } else { format.to_uppercase() }
}

/// The format for pictures that nobody named one for: their own, or, where it must get smaller, one that can.
pub fn fitting(types: &[&str], arguments: &Map<String, Value>) -> &'static str {
    let smaller = arguments.contains_key("max_kb") || arguments.contains_key("quality");
    let own = |kind: &&str| match *kind {
        "image/png" if smaller => "webp",
        "image/png" => "png",
        "image/webp" => "webp",
        "image/gif" if arguments.contains_key("quality") => "webp",
        "image/gif" => "gif",
        _ => "jpeg",
    };
    let mut formats: Vec<&str> = types.iter().map(own).collect();
    formats.dedup();
    match formats.as_slice() {
        [] => "jpeg",
        [only] => only,
        _ => "webp",
    }
}
