//! Built-in defaults, then the file, then the environment: each checked against the schema where its line is
//! still known, then laid over the one before.

use super::{
    ConfigError, Place,
    schema::{self, ROOT, Shape, listed},
};
use serde::de::{self, Deserialize as _, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::{Mapping, Value};
use std::{cell::RefCell, fmt};

const PREFIX: &str = "PHOTOTHREAD_";
/// The log filter has this prefix too, but is read before any configuration is.
const LOG_FILTER: &str = "PHOTOTHREAD_LOG";

/// A whole file, checked. What it does not name is absent.
pub(super) fn file(name: &str, text: &str) -> Result<Mapping, ConfigError> {
    let refused = |line, what| ConfigError::Refused { place: Place::File { name: name.into(), line }, what };
    // Syntax first, so that any failure after it is about what the file says.
    if let Err(error) = serde_yaml::from_str::<Value>(text) {
        let line = error.location().map(|at| at.line());
        return Err(refused(line, format!("not valid YAML: {error}")));
    }
    match read(&ROOT, "", text) {
        Ok(Value::Mapping(sections)) => Ok(sections),
        Ok(_) => Ok(Mapping::new()),
        Err((line, what)) => Err(refused(line, what)),
    }
}

/// Lays a file over the defaults. A list of agents is a whole: naming one means "these and no others".
pub(super) fn merge(base: &mut Mapping, over: Mapping) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Mapping(below)), Value::Mapping(above)) if key != "agents" => merge(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// Lays `PHOTOTHREAD_SECTION__KEY` variables over the rest. An empty variable counts as unset.
pub(super) fn environment(
    settings: &mut Mapping,
    variables: impl Iterator<Item = (String, String)>,
) -> Result<(), ConfigError> {
    let mut variables: Vec<_> = variables
        .filter(|(name, value)| name.starts_with(PREFIX) && name != LOG_FILTER && !value.trim().is_empty())
        .collect();
    // A section sorts before its own keys, so the narrower variable wins.
    variables.sort();
    for (name, value) in variables {
        let place = Place::Variable(name.clone());
        variable(settings, &name[PREFIX.len()..], &value)
            .map_err(|what| ConfigError::Refused { place, what })?;
    }
    Ok(())
}

fn variable(settings: &mut Mapping, name: &str, text: &str) -> Result<(), String> {
    let mut target = settings;
    let mut shape = &ROOT;
    let mut path = String::new();
    let mut segments = name.split("__").map(str::to_ascii_lowercase).peekable();
    while let Some(segment) = segments.next() {
        shape = match shape {
            Shape::Section(keys) => known(keys, &path, &segment)?,
            Shape::Named(each, _) if target.contains_key(&segment) => each,
            Shape::Named(..) => {
                let names = listed(target.keys().filter_map(Value::as_str));
                return Err(format!("there is no {} in {path}; there is: {names}", segment));
            }
            _ => {
                return Err(format!("unknown key {path}.{segment}; {path} has no keys of its own"));
            }
        };
        path = joined(&path, &segment);
        if segments.peek().is_none() {
            let value = read(shape, &path, &as_yaml(shape, text)).map_err(|(_, what)| what)?;
            let mut change = Mapping::new();
            change.insert(segment.into(), value);
            merge(target, change);
            return Ok(());
        }
        if matches!(shape, Shape::Section(_) | Shape::Named(..)) {
            let below = target.entry(segment.into()).or_insert_with(|| Value::Mapping(Mapping::new()));
            target = below.as_mapping_mut().ok_or_else(|| format!("{path} must be {}", shape.expected()))?;
        }
    }
    Ok(())
}

/// A variable's value as the YAML its writer meant: no quoting for texts, no brackets for lists.
fn as_yaml(shape: &Shape, text: &str) -> String {
    let text = text.trim();
    match shape {
        Shape::Text(_) | Shape::OptionalText(_) if !text.starts_with(['"', '\'']) => {
            if matches!(text, "null" | "~") {
                return text.into();
            }
            format!("'{}'", text.replace('\'', "''"))
        }
        Shape::Ids | Shape::Paths | Shape::TagGroups if !text.starts_with('[') => format!("[{text}]"),
        Shape::Names if !text.starts_with('[') && !text.eq_ignore_ascii_case("all") => format!("[{text}]"),
        _ => text.into(),
    }
}

fn read(shape: &'static Shape, path: &str, text: &str) -> Result<Value, (Option<usize>, String)> {
    let complaint = RefCell::new(None);
    let reader = Reader { shape, path: path.into(), complaint: &complaint };
    reader.deserialize(serde_yaml::Deserializer::from_str(text)).map_err(|error| {
        let line = error.location().map(|at| at.line());
        (line, complaint.take().unwrap_or_else(|| error.to_string()))
    })
}

/// Reads one value of a known shape. serde's error carries the line; `complaint` carries our words, because
/// serde would wrap them in its own.
struct Reader<'a> {
    shape: &'static Shape,
    path: String,
    complaint: &'a RefCell<Option<String>>,
}

impl Reader<'_> {
    fn refuse<E: de::Error>(&self, what: impl fmt::Display) -> E {
        let sentence = format!("{} {what}", if self.path.is_empty() { "the file" } else { &self.path });
        self.complaint.borrow_mut().get_or_insert(sentence);
        E::custom("refused")
    }

    fn unexpected<E: de::Error>(&self) -> E {
        self.refuse(format!("must be {}", self.shape.expected()))
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        let read = match self.shape {
            // As written: `model: 1.10` is the text 1.10, not the number 1.1.
            Shape::Text(_) | Shape::OptionalText(_) => source.deserialize_str(&self),
            Shape::Anything => return anything(&self, source),
            _ => source.deserialize_any(&self),
        };
        read.inspect_err(|_| {
            self.unexpected::<D::Error>();
        })
    }
}

/// A section of somebody else's: its keys are not ours to check.
fn anything<'de, D: Deserializer<'de>>(reader: &Reader<'_>, source: D) -> Result<Value, D::Error> {
    match Value::deserialize(source)? {
        Value::Null => Ok(Mapping::new().into()),
        section @ Value::Mapping(_) => Ok(section),
        _ => Err(reader.unexpected()),
    }
}

impl<'de> Visitor<'de> for &Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shape.expected())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        let nothing = matches!(text, "" | "~" | "null" | "Null" | "NULL");
        match self.shape {
            Shape::OptionalText(_) if nothing => Ok(Value::Null),
            Shape::Text(_) if nothing => Err(self.refuse("must not be empty")),
            Shape::Text(check) | Shape::OptionalText(check) => {
                check(text).map(Value::from).map_err(|what| self.refuse(what))
            }
            Shape::Names if text.eq_ignore_ascii_case("all") => Ok("all".into()),
            _ => Err(self.unexpected()),
        }
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        match self.shape {
            Shape::Flag => Ok(value.into()),
            _ => Err(self.unexpected()),
        }
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        match self.shape {
            Shape::Whole(least, most) | Shape::OptionalWhole(least, most)
                if (*least..=*most).contains(&value) =>
            {
                Ok(value.into())
            }
            Shape::Number(..) | Shape::OptionalNumber(..) => self.visit_f64(value as f64),
            _ => Err(self.unexpected()),
        }
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        match self.shape {
            Shape::Number(least, most) | Shape::OptionalNumber(least, most)
                if (*least..=*most).contains(&value) =>
            {
                Ok(value.into())
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A section with nothing but comments in it.
    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        match self.shape {
            Shape::Section(_) => Ok(Mapping::new().into()),
            Shape::OptionalNumber(..) | Shape::OptionalWhole(..) => Ok(Value::Null),
            _ => Err(self.unexpected()),
        }
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let each: &'static Shape = match self.shape {
            Shape::Ids => &schema::ID,
            Shape::Names | Shape::Paths => &schema::NAME,
            Shape::TagGroups => &schema::TAG_GROUP,
            _ => return Err(self.unexpected()),
        };
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(Item { list: self, each })? {
            values.push(value);
        }
        Ok(Value::Sequence(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut found = Mapping::new();
        while let Some((name, shape)) = entries.next_key_seed(Key(self))? {
            let path = joined(&self.path, &name);
            let value = entries.next_value_seed(Reader { shape, path, complaint: self.complaint })?;
            found.insert(name.into(), value);
        }
        if found.is_empty() && matches!(self.shape, Shape::Named(..)) {
            return Err(self.refuse("must name at least one"));
        }
        Ok(found.into())
    }
}

/// An item of a list: its mistakes are told as the list's, which has a name.
struct Item<'a> {
    list: &'a Reader<'a>,
    each: &'static Shape,
}

impl<'de> DeserializeSeed<'de> for Item<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        let own = RefCell::new(None);
        let reader = Reader { shape: self.each, path: String::new(), complaint: &own };
        reader.deserialize(source).inspect_err(|_| {
            self.list.unexpected::<D::Error>();
        })
    }
}

/// A key of a section: checked here, because here serde still knows its line.
struct Key<'a>(&'a Reader<'a>);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = (String, &'static Shape);

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Self::Value, D::Error> {
        source.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key<'_> {
    type Value = (String, &'static Shape);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
        let Key(section) = self;
        let shape = match section.shape {
            Shape::Section(keys) => known(keys, &section.path, name),
            Shape::Named(each, check) => {
                check(name).map(|()| *each).map_err(|what| format!("{} {what}", joined(&section.path, name)))
            }
            _ => return Err(section.unexpected()),
        };
        shape.map(|shape| (name.to_string(), shape)).map_err(|sentence| {
            section.complaint.borrow_mut().get_or_insert(sentence);
            E::custom("refused")
        })
    }
}

fn known(
    keys: &'static [(&'static str, Shape)],
    section: &str,
    name: &str,
) -> Result<&'static Shape, String> {
    if let Some((_, shape)) = keys.iter().find(|(key, _)| *key == name) {
        return Ok(shape);
    }
    let path = joined(section, name);
    if let Some(sentence) = schema::not_yet(&path) {
        return Err(format!("{path} {sentence}"));
    }
    let names = || keys.iter().map(|(key, _)| *key);
    let near = names()
        .map(|key| (strsim::levenshtein(key, name), key))
        .min()
        .filter(|(typos, key)| typos * 3 <= key.len());
    Err(match near {
        Some((_, key)) => format!("unknown key {path}; did you mean {key}?"),
        None => format!("unknown key {path}; allowed here: {}", listed(names())),
    })
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}.{name}") }
}
