//! Layers of configuration: built-in defaults, then the file, then the environment. Each layer is checked against the
//! schema while the line of a value is still known, then merged over the layer before.

use super::{
    ConfigError, SettingOrigin,
    schema::{self, ROOT, ValueShape, join_names},
};
use serde::de::{self, Deserialize as _, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::{Mapping, Value};
use std::{cell::RefCell, fmt};

const PREFIX: &str = "PHOTOTHREAD_";
/// The log filter has this prefix too, but is no setting: it is read before the configuration.
const LOG_FILTER_VARIABLE: &str = "PHOTOTHREAD_LOG";

/// Parses and checks a whole file. Keys that the file does not name are absent.
pub(super) fn parse_file(name: &str, text: &str) -> Result<Mapping, ConfigError> {
    let refused = |line, message| ConfigError::Refused {
        origin: SettingOrigin::File { name: name.into(), line },
        message,
    };
    // Check the syntax first, so that any later error is about the content.
    if let Err(error) = serde_yaml::from_str::<Value>(text) {
        let line = error.location().map(|at| at.line());
        return Err(refused(line, format!("not valid YAML: {error}")));
    }
    match parse_value(&ROOT, "", text) {
        Ok(Value::Mapping(sections)) => Ok(sections),
        Ok(_) => Ok(Mapping::new()),
        Err((line, message)) => Err(refused(line, message)),
    }
}

/// Merges a layer over the layers below. `agents` is replaced as a whole: the file names all agents there are.
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

/// Merges `PHOTOTHREAD_SECTION__KEY` variables over the layers below. An empty variable counts as unset.
pub(super) fn merge_environment(
    settings: &mut Mapping,
    variables: impl Iterator<Item = (String, String)>,
) -> Result<(), ConfigError> {
    let mut variables: Vec<_> = variables
        .filter(|(name, value)| {
            name.starts_with(PREFIX) && name != LOG_FILTER_VARIABLE && !value.trim().is_empty()
        })
        .collect();
    // A section sorts before its keys, so the more specific variable wins.
    variables.sort();
    for (name, value) in variables {
        merge_variable(settings, &name[PREFIX.len()..], &value)
            .map_err(|message| ConfigError::Refused { origin: SettingOrigin::Variable(name), message })?;
    }
    Ok(())
}

fn merge_variable(settings: &mut Mapping, name: &str, text: &str) -> Result<(), String> {
    let mut target = settings;
    let mut shape = &ROOT;
    let mut path = String::new();
    let mut segments = name.split("__").map(str::to_ascii_lowercase).peekable();
    while let Some(segment) = segments.next() {
        shape = match shape {
            ValueShape::Section(keys) => find_key(keys, &path, &segment)?,
            ValueShape::Named(each, _) if target.contains_key(&segment) => each,
            ValueShape::Named(..) => {
                let names = join_names(target.keys().filter_map(Value::as_str));
                return Err(format!("there is no {} in {path}; there is: {names}", segment));
            }
            _ => {
                return Err(format!("unknown key {path}.{segment}; {path} has no keys of its own"));
            }
        };
        path = join_path(&path, &segment);
        if segments.peek().is_none() {
            let value = parse_value(shape, &path, &to_yaml(shape, text)).map_err(|(_, message)| message)?;
            let mut change = Mapping::new();
            change.insert(segment.into(), value);
            merge(target, change);
            return Ok(());
        }
        if matches!(shape, ValueShape::Section(_) | ValueShape::Named(..)) {
            let below = target.entry(segment.into()).or_insert_with(|| Value::Mapping(Mapping::new()));
            target = below.as_mapping_mut().ok_or_else(|| format!("{path} must be {}", shape.describe()))?;
        }
    }
    Ok(())
}

/// Turns a variable's value into YAML: texts need no quotes there, lists no brackets.
fn to_yaml(shape: &ValueShape, text: &str) -> String {
    let text = text.trim();
    match shape {
        ValueShape::Text(_) | ValueShape::OptionalText(_) if !text.starts_with(['"', '\'']) => {
            if matches!(text, "null" | "~") {
                return text.into();
            }
            format!("'{}'", text.replace('\'', "''"))
        }
        ValueShape::Ids | ValueShape::Paths | ValueShape::TagGroups if !text.starts_with('[') => {
            format!("[{text}]")
        }
        // YAML would read the colons of an IPv6 address.
        ValueShape::Networks if !text.starts_with('[') => {
            let items: Vec<String> = text.split(',').map(|item| format!("'{}'", item.trim())).collect();
            format!("[{}]", items.join(", "))
        }
        ValueShape::Names if !text.starts_with('[') && !text.eq_ignore_ascii_case("all") => {
            format!("[{text}]")
        }
        _ => text.into(),
    }
}

fn parse_value(shape: &'static ValueShape, path: &str, text: &str) -> Result<Value, (Option<usize>, String)> {
    let message = RefCell::new(None);
    let reader = ValueReader { shape, path: path.into(), message: &message };
    reader.deserialize(serde_yaml::Deserializer::from_str(text)).map_err(|error| {
        let line = error.location().map(|at| at.line());
        (line, message.take().unwrap_or_else(|| error.to_string()))
    })
}

/// Reads one value of a known shape. serde's error carries the line. `message` carries our text, because serde would
/// wrap it in its own.
struct ValueReader<'a> {
    shape: &'static ValueShape,
    path: String,
    message: &'a RefCell<Option<String>>,
}

impl ValueReader<'_> {
    fn reject<E: de::Error>(&self, reason: impl fmt::Display) -> E {
        let sentence = format!("{} {reason}", if self.path.is_empty() { "the file" } else { &self.path });
        self.message.borrow_mut().get_or_insert(sentence);
        E::custom("refused")
    }

    fn reject_shape<E: de::Error>(&self) -> E {
        self.reject(format!("must be {}", self.shape.describe()))
    }
}

impl<'de> DeserializeSeed<'de> for ValueReader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        let read = match self.shape {
            // Keep the text as written: `model: 1.10` is the text 1.10, not the number 1.1.
            ValueShape::Text(_) | ValueShape::OptionalText(_) => source.deserialize_str(&self),
            ValueShape::Anything => return read_unchecked_section(&self, source),
            _ => source.deserialize_any(&self),
        };
        read.inspect_err(|_| {
            self.reject_shape::<D::Error>();
        })
    }
}

/// A section for the vendor's API: its keys are not checked here.
fn read_unchecked_section<'de, D: Deserializer<'de>>(
    reader: &ValueReader<'_>,
    source: D,
) -> Result<Value, D::Error> {
    match Value::deserialize(source)? {
        Value::Null => Ok(Mapping::new().into()),
        section @ Value::Mapping(_) => Ok(section),
        _ => Err(reader.reject_shape()),
    }
}

impl<'de> Visitor<'de> for &ValueReader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shape.describe())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        let is_null = matches!(text, "" | "~" | "null" | "Null" | "NULL");
        match self.shape {
            ValueShape::OptionalText(_) if is_null => Ok(Value::Null),
            ValueShape::Text(_) if is_null => Err(self.reject("must not be empty")),
            ValueShape::Text(check) | ValueShape::OptionalText(check) => {
                check(text).map(Value::from).map_err(|reason| self.reject(reason))
            }
            ValueShape::Names if text.eq_ignore_ascii_case("all") => Ok("all".into()),
            _ => Err(self.reject_shape()),
        }
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        match self.shape {
            ValueShape::Flag => Ok(value.into()),
            _ => Err(self.reject_shape()),
        }
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        match self.shape {
            ValueShape::Whole(min, max) | ValueShape::OptionalWhole(min, max)
                if (*min..=*max).contains(&value) =>
            {
                Ok(value.into())
            }
            ValueShape::Number(..) | ValueShape::OptionalNumber(..) => self.visit_f64(value as f64),
            _ => Err(self.reject_shape()),
        }
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        match self.shape {
            ValueShape::Number(min, max) | ValueShape::OptionalNumber(min, max)
                if (*min..=*max).contains(&value) =>
            {
                Ok(value.into())
            }
            _ => Err(self.reject_shape()),
        }
    }

    /// A section that holds only comments.
    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        match self.shape {
            ValueShape::Section(_) => Ok(Mapping::new().into()),
            ValueShape::OptionalNumber(..) | ValueShape::OptionalWhole(..) => Ok(Value::Null),
            _ => Err(self.reject_shape()),
        }
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let each: &'static ValueShape = match self.shape {
            ValueShape::Ids => &schema::ID,
            ValueShape::Names | ValueShape::Paths => &schema::NAME,
            ValueShape::TagGroups => &schema::TAG_GROUP,
            ValueShape::Networks => &schema::NETWORK,
            _ => return Err(self.reject_shape()),
        };
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(ItemReader { list: self, each })? {
            values.push(value);
        }
        Ok(Value::Sequence(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut found = Mapping::new();
        while let Some((name, shape)) = entries.next_key_seed(KeyReader(self))? {
            let path = join_path(&self.path, &name);
            let value = entries.next_value_seed(ValueReader { shape, path, message: self.message })?;
            found.insert(name.into(), value);
        }
        if found.is_empty() && matches!(self.shape, ValueShape::Named(..)) {
            return Err(self.reject("must name at least one"));
        }
        Ok(found.into())
    }
}

/// Reads an item of a list. Errors name the list, because an item has no key.
struct ItemReader<'a> {
    list: &'a ValueReader<'a>,
    each: &'static ValueShape,
}

impl<'de> DeserializeSeed<'de> for ItemReader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        let item_message = RefCell::new(None);
        let reader = ValueReader { shape: self.each, path: String::new(), message: &item_message };
        reader.deserialize(source).inspect_err(|_| {
            self.list.reject_shape::<D::Error>();
        })
    }
}

/// Reads and checks a key of a section, while serde still knows its line.
struct KeyReader<'a>(&'a ValueReader<'a>);

impl<'de> DeserializeSeed<'de> for KeyReader<'_> {
    type Value = (String, &'static ValueShape);

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Self::Value, D::Error> {
        source.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeyReader<'_> {
    type Value = (String, &'static ValueShape);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
        let KeyReader(section) = self;
        let shape = match section.shape {
            ValueShape::Section(keys) => find_key(keys, &section.path, name),
            ValueShape::Named(each, check) => check(name)
                .map(|()| *each)
                .map_err(|reason| format!("{} {reason}", join_path(&section.path, name))),
            _ => return Err(section.reject_shape()),
        };
        shape.map(|shape| (name.to_string(), shape)).map_err(|sentence| {
            section.message.borrow_mut().get_or_insert(sentence);
            E::custom("refused")
        })
    }
}

fn find_key(
    keys: &'static [(&'static str, ValueShape)],
    section: &str,
    name: &str,
) -> Result<&'static ValueShape, String> {
    if let Some((_, shape)) = keys.iter().find(|(key, _)| *key == name) {
        return Ok(shape);
    }
    let path = join_path(section, name);
    if let Some(sentence) = schema::explain_unsupported_key(&path) {
        return Err(format!("{path} {sentence}"));
    }
    let names = || keys.iter().map(|(key, _)| *key);
    let near = names()
        .map(|key| (strsim::levenshtein(key, name), key))
        .min()
        .filter(|(typos, key)| typos * 3 <= key.len());
    Err(match near {
        Some((_, key)) => format!("unknown key {path}; did you mean {key}?"),
        None => format!("unknown key {path}; allowed here: {}", join_names(names())),
    })
}

fn join_path(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}.{name}") }
}
