//! The file of a picture: its format, size in bytes, metadata, facts, and the text in other files.

use super::planner::{ClausePlanner, StepKind, argument, json_number};
use crate::providers::offline::parse::atoms::source_text;
use crate::providers::offline::parse::intent::Intent;
use crate::providers::offline::parse::meaning::{Meaning, MeasureUnit, Verb};
use crate::providers::offline::parse::measures::measures;
use crate::providers::offline::reply::text::join_and;
use crate::providers::offline::reply::{actions, questions};
use serde_json::{Map, Value, json};

/// The largest `max_kb` that `convert_image` accepts.
const MAX_KILOBYTES: f64 = 50_000.0;

impl ClausePlanner<'_> {
    fn format(&self) -> Option<String> {
        self.clause.atoms().find_map(|atom| match &atom.meaning {
            Meaning::Format(format) => Some(format.clone()),
            _ => None,
        })
    }

    pub fn convert(&mut self) {
        let measures = measures(&self.atoms());
        let kilobytes = measures.iter().find_map(|measure| match measure.unit {
            Some(MeasureUnit::Kilobytes) => Some(measure.value),
            Some(MeasureUnit::Megabytes) => Some(measure.value * 1000.0),
            _ => None,
        });
        let kilobytes = kilobytes.map(|kilobytes| kilobytes.floor().clamp(1.0, MAX_KILOBYTES));
        let quality = measures.iter().find(|m| matches!(m.unit, None | Some(MeasureUnit::Percent)));
        let quality = quality.filter(|_| self.clause.has(|m| *m == Meaning::Quality));
        let format = self.format();
        let lossless = matches!(format.as_deref(), Some("png" | "gif"));
        let mut arguments = Map::new();
        let mut did = Vec::new();
        if let Some(format) = format {
            did.push(actions::converted(&format));
            arguments.insert("format".to_owned(), json!(format));
        }
        if let Some(quality) = quality.filter(|_| !lossless) {
            let quality = quality.value.round().clamp(1.0, 100.0);
            did.push(actions::saved_at_quality(quality));
            arguments.insert("quality".to_owned(), json_number(quality));
        }
        if let Some(kilobytes) = kilobytes {
            did.push(actions::brought_under(kilobytes));
            arguments.insert("max_kb".to_owned(), json_number(kilobytes));
        }
        if self.clause.has(|m| *m == Meaning::Verb(Verb::StripMetadata)) {
            did.push(actions::METADATA_REMOVED.to_owned());
        }
        self.edit("convert_image", arguments, join_and(&did));
    }

    /// "crop to a square as png"
    pub fn accompanying_format(&mut self) {
        use Intent::{Adjust, Collage, Crop, CutOff, Filter, Flip, Resize, Rotate, Straighten, Trim};
        let may_accompany =
            matches!(self.clause.intent, Crop | CutOff | Trim | Rotate | Straighten | Flip | Resize)
                || matches!(self.clause.intent, Filter | Adjust | Collage);
        if may_accompany && self.format().is_some() {
            self.convert();
        }
    }

    pub fn info(&mut self) {
        let fact = self.clause.atoms().find_map(|atom| match atom.meaning {
            Meaning::Fact(fact) => Some(fact),
            _ => None,
        });
        self.step(StepKind::Info(fact), "get_attachment_info", Map::new(), "");
    }

    /// A question about what is in the picture, without the models that see: the facts of the file, or a question.
    pub fn see_blindly(&mut self) {
        let asks_for_thing = |m: &Meaning| matches!(m, Meaning::Verb(Verb::Count | Verb::Locate));
        if self.clause.has(asks_for_thing) {
            return self.ask_for_position(questions::LOOK_FOR_WHAT);
        }
        self.info();
    }

    /// "find “invoice” in the file"
    pub fn find(&mut self) {
        let quoted = self.clause.atoms().find_map(|atom| match &atom.meaning {
            Meaning::Quoted(text) => Some(text.clone()),
            _ => None,
        });
        let words = source_text(self.source, &self.unknown_atoms());
        match quoted.or_else(|| (!words.is_empty()).then_some(words)) {
            Some(grep) => {
                let mut arguments = argument("grep", grep);
                // People write words, not patterns.
                arguments.insert("literal".to_owned(), json!(true));
                self.step(StepKind::Read, "read_text_attachment", arguments, "");
            }
            None => self.ask(questions::FIND_WHAT),
        }
    }
}

/// The format for a conversion that names none: the pictures' own, or one that can get smaller where it must.
pub fn default_format(mime_types: &[&str], arguments: &Map<String, Value>) -> &'static str {
    let smaller = arguments.contains_key("max_kb") || arguments.contains_key("quality");
    let own = |mime_type: &&str| match *mime_type {
        "image/png" if smaller => "webp",
        "image/png" => "png",
        "image/webp" => "webp",
        "image/gif" if arguments.contains_key("quality") => "webp",
        "image/gif" => "gif",
        _ => "jpeg",
    };
    let mut formats: Vec<&str> = mime_types.iter().map(own).collect();
    formats.dedup();
    match formats.as_slice() {
        [] => "jpeg",
        [only] => only,
        _ => "webp",
    }
}
