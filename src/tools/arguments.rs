//! Validates arguments against the JSON schema that the model was given. Every complaint names the argument, what is
//! wrong with it and what is allowed.

use super::{ToolError, wording};
use crate::domain::{AttachmentId, Recipe};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// How many ids one call may name.
pub(super) const MAX_IDS: u64 = 20;
/// The model corrects the first few; the rest would only make the result long.
const MAX_COMPLAINTS: usize = 5;

pub(super) fn bad_argument(text: impl Into<String>) -> ToolError {
    ToolError::BadArgument(text.into())
}

/// Validates the arguments and deserializes them into the tool's own type.
pub(super) fn read<T: DeserializeOwned>(schema: &Value, arguments: &Value) -> Result<T, ToolError> {
    let arguments = without_nulls(arguments);
    let mut complaints = Vec::new();
    check(schema, &arguments, "", &mut complaints);
    if complaints.is_empty() {
        return serde_json::from_value(arguments).map_err(|error| bad_argument(error.to_string()));
    }
    complaints.truncate(MAX_COMPLAINTS);
    Err(bad_argument(complaints.join("\n")))
}

/// The recipe of a call: its arguments without the images, which become the parents of the output.
pub(super) fn to_recipe(tool: &str, arguments: &Value) -> Recipe {
    let mut arguments = without_nulls(arguments);
    if let Some(fields) = arguments.as_object_mut() {
        fields.remove("images");
    }
    Recipe { tool: tool.to_owned(), arguments }
}

/// Models write `null` for arguments that they leave out.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name.clone(), without_nulls(value)))
                .collect(),
        ),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// The schema of an object with these properties and no others.
pub(super) fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

pub(super) fn id_list(what_for: &str) -> Value {
    json!({
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "maxItems": MAX_IDS,
        "description": what_for,
    })
}

/// Reads ids, bare or as a whole marker: models write both.
pub(super) fn ids(name: &str, texts: &[String]) -> Result<Vec<AttachmentId>, ToolError> {
    let read = |(index, text): (usize, &String)| id(&format!("{name}[{index}]"), text);
    texts.iter().enumerate().map(read).collect()
}

pub(super) fn id(at: &str, text: &str) -> Result<AttachmentId, ToolError> {
    let bare = text.trim().trim_start_matches('[').trim_end_matches(']').trim();
    let bare = bare.strip_prefix("Attachment ID:").unwrap_or(bare);
    bare.parse().map_err(|_| {
        bad_argument(format!(
            "{at} is {:?}, which is not an attachment id. Use the id of a marker like [Attachment ID: <uuid>].",
            wording::shortened(text, 60)
        ))
    })
}

fn check(schema: &Value, value: &Value, at: &str, complaints: &mut Vec<String>) {
    if !is_of_type(schema, value) {
        return complaints.push(format!("{at} is {}, but must be {}.", quote(value), expected(schema)));
    }
    match value {
        Value::Object(fields) => check_fields(schema, fields, at, complaints),
        Value::Array(items) => {
            let out_of_range = |bound: &str, wrong: fn(u64, u64) -> bool| {
                schema[bound].as_u64().is_some_and(|bound| wrong(items.len() as u64, bound))
            };
            if out_of_range("minItems", |n, least| n < least) || out_of_range("maxItems", |n, most| n > most)
            {
                let has = if items.is_empty() {
                    "is empty".to_owned()
                } else {
                    format!("has {}", wording::count(items.len(), "item"))
                };
                return complaints.push(format!("{at} {has}, but must be {}.", expected(schema)));
            }
            for (index, item) in items.iter().enumerate() {
                check(&schema["items"], item, &format!("{at}[{index}]"), complaints);
            }
        }
        _ if !is_in_range(schema, value) => {
            complaints.push(format!("{at} is {}, but must be {}.", quote(value), expected(schema)))
        }
        _ => {}
    }
}

fn check_fields(schema: &Value, fields: &Map<String, Value>, at: &str, complaints: &mut Vec<String>) {
    let none = Map::new();
    let known = schema["properties"].as_object().unwrap_or(&none);
    let place = |name: &str| {
        if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
    };
    for (name, value) in fields {
        match known.get(name) {
            Some(schema) => check(schema, value, &place(name), complaints),
            None => {
                let names = || known.keys().map(String::as_str);
                let meant = wording::nearest(name, names())
                    .map(|near| format!(" Did you mean {near}?"))
                    .unwrap_or_default();
                let allowed = names().collect::<Vec<_>>().join(", ");
                let place = wording::shortened(&place(name), 60);
                complaints
                    .push(format!("{place} is not an argument of this tool.{meant} Allowed: {allowed}."));
            }
        }
    }
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            complaints.push(format!("{} is missing: {}.", place(name), expected(&known[name])));
        }
    }
}

fn is_of_type(schema: &Value, value: &Value) -> bool {
    match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    }
}

fn is_in_range(schema: &Value, value: &Value) -> bool {
    if let Some(number) = value.as_f64() {
        let least = schema["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY);
        let most = schema["maximum"].as_f64().unwrap_or(f64::INFINITY);
        return (least..=most).contains(&number);
    }
    if let Some(text) = value.as_str() {
        let length = text.chars().count() as u64;
        let choices = schema["enum"].as_array();
        return choices.is_none_or(|choices| choices.contains(value))
            && schema["minLength"].as_u64().is_none_or(|least| length >= least)
            && schema["maxLength"].as_u64().is_none_or(|most| length <= most);
    }
    true
}

/// What a schema expects, in words: "a number from 0 to 1000".
fn expected(schema: &Value) -> String {
    if let Some(choices) = schema["enum"].as_array() {
        let choices: Vec<_> = choices.iter().filter_map(Value::as_str).collect();
        return format!("one of: {}", choices.join(", "));
    }
    let between = |least: &str, most: &str| match (schema[least].as_f64(), schema[most].as_f64()) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        _ => String::new(),
    };
    match schema["type"].as_str() {
        Some("number") => format!("a number{}", between("minimum", "maximum")),
        Some("boolean") => "true or false".to_owned(),
        Some("integer") => format!("a whole number{}", between("minimum", "maximum")),
        Some("string") => match (schema["minLength"].as_u64(), schema["maxLength"].as_u64()) {
            (Some(least), Some(most)) => format!("text of {least} to {most} characters"),
            (None, Some(most)) => format!("text of at most {most} characters"),
            _ => "text".to_owned(),
        },
        Some("array") => match (schema["minItems"].as_u64(), schema["maxItems"].as_u64()) {
            (Some(least), Some(most)) if least == most => format!("a list of exactly {least} items"),
            (Some(least), Some(most)) => format!("a list of {least} to {most} items"),
            _ => "a list".to_owned(),
        },
        Some("object") => {
            let names = schema["required"].as_array().into_iter().flatten();
            let names: Vec<_> = names.filter_map(Value::as_str).collect();
            format!("an object with {}", names.join(", "))
        }
        _ => "something else".to_owned(),
    }
}

/// The value as the model sent it, or its type if it is long.
fn quote(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("the text {:?}", wording::shortened(text, 60)),
        other => kind(other).to_owned(),
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
