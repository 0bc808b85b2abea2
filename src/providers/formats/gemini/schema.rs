//! A JSON schema cut down to the subset of OpenAPI 3.0 that Gemini accepts in function declarations. Arguments are
//! still held against the whole schema when they come, so what is lost here is only guidance. References and `allOf`,
//! which no tool uses, are not followed.

use serde_json::{Map, Value, json};

/// Taken over as they are.
const KEPT: &[&str] = &[
    "title",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "pattern",
    "propertyOrdering",
];

/// Formats by type; others are refused.
const FORMATS: &[(&str, &[&str])] =
    &[("string", &["enum", "date-time"]), ("integer", &["int32", "int64"]), ("number", &["float", "double"])];

/// The parameters of a function; none at all for one that takes none, because an object must have properties.
pub fn parameters(schema: &Value) -> Option<Value> {
    let reduced = reduced(schema);
    reduced["properties"].is_object().then_some(reduced)
}

fn reduced(schema: &Value) -> Value {
    let choices = ["anyOf", "oneOf"].iter().find_map(|name| schema[name].as_array());
    match choices {
        // Beside a type, choices only narrow it further.
        Some(choices) if schema["type"].is_null() && schema["properties"].is_null() => {
            choice(schema, choices)
        }
        _ => simple(schema),
    }
}

/// `anyOf` must be the only field beside it, so what is said of all choices is said of each.
fn choice(schema: &Value, choices: &[Value]) -> Value {
    let is_null = |choice: &Value| choice["type"] == "null";
    let nullable = schema["nullable"] == true || choices.iter().any(is_null);
    let of_each = |choice: &Value| {
        let mut choice = reduced(choice);
        if nullable {
            choice["nullable"] = true.into();
        }
        if choice["description"].is_null() && !schema["description"].is_null() {
            choice["description"] = schema["description"].clone();
        }
        choice
    };
    let mut choices: Vec<Value> = choices.iter().filter(|choice| !is_null(choice)).map(of_each).collect();
    match choices.len() {
        0 => simple(&json!({"description": schema["description"]})),
        1 => choices.remove(0),
        _ => json!({"anyOf": choices}),
    }
}

fn simple(schema: &Value) -> Value {
    let values = values(schema);
    let kind = kind(schema, &values);
    let mut reduced = Map::new();
    reduced.insert("type".to_owned(), kind.into());
    for name in KEPT.iter().filter(|name| !schema[**name].is_null()) {
        reduced.insert((*name).to_owned(), schema[*name].clone());
    }
    if is_nullable(schema, &values) {
        reduced.insert("nullable".to_owned(), true.into());
    }
    let format = schema["format"].as_str().unwrap_or_default();
    if FORMATS.iter().any(|(of, formats)| *of == kind && formats.contains(&format)) {
        reduced.insert("format".to_owned(), format.into());
    }
    let listed =
        kind == "string" && values.iter().all(|value| value.as_str().is_some_and(|text| !text.is_empty()));
    if listed && !values.is_empty() {
        reduced.insert("enum".to_owned(), values.clone().into());
    }
    let untold = if listed { Vec::new() } else { values };
    if let Some(description) = description(schema, &untold) {
        reduced.insert("description".to_owned(), description.into());
    }
    match kind {
        "array" => drop(reduced.insert("items".to_owned(), items(schema))),
        "object" => reduced.extend(properties(schema)),
        _ => {}
    }
    Value::Object(reduced)
}

/// What a value may be, where that is listed. Null is not among them: it has a keyword of its own.
fn values(schema: &Value) -> Vec<Value> {
    let listed = schema["enum"].as_array().cloned();
    let listed = listed.or_else(|| schema.get("const").map(|only| vec![only.clone()])).unwrap_or_default();
    listed.into_iter().filter(|value| !value.is_null()).collect()
}

fn is_nullable(schema: &Value, values: &[Value]) -> bool {
    let listed = schema["enum"].as_array().is_some_and(|listed| listed.len() > values.len());
    let typed = schema["type"].as_array().is_some_and(|types| types.iter().any(|name| name == "null"));
    schema["nullable"] == true || listed || typed
}

/// The one type, in lower case; of several, the first that is not null.
fn kind(schema: &Value, values: &[Value]) -> &'static str {
    let names = schema["type"].as_array().map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
    let known = ["string", "number", "integer", "boolean", "array", "object"];
    let find = |name: &str| known.into_iter().find(|known| known.eq_ignore_ascii_case(name));
    names.iter().filter_map(Value::as_str).find_map(find).unwrap_or_else(|| guessed(schema, values))
}

fn guessed(schema: &Value, values: &[Value]) -> &'static str {
    match values.first() {
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(number)) if number.is_f64() => "number",
        Some(Value::Number(_)) => "integer",
        _ if schema["properties"].is_object() => "object",
        _ if !schema["items"].is_null() || !schema["prefixItems"].is_null() => "array",
        _ => "string",
    }
}

/// With what has no keyword here, so that the model still knows.
fn description(schema: &Value, untold: &[Value]) -> Option<String> {
    let mut told = schema["description"].as_str().unwrap_or_default().trim().to_owned();
    let mut add = |more: String| {
        let gap = if told.is_empty() { "" } else { " " };
        told += &format!("{gap}{more}");
    };
    if !untold.is_empty() {
        let values: Vec<String> = untold.iter().map(Value::to_string).collect();
        add(format!("One of: {}.", values.join(", ")));
    }
    if !schema["default"].is_null() {
        add(format!("Default: {}.", schema["default"]));
    }
    (!told.is_empty()).then_some(told)
}

/// A list must say of what. A tuple is a list of what comes first.
fn items(schema: &Value) -> Value {
    let of = [&schema["items"], &schema["items"][0], &schema["prefixItems"][0]];
    reduced(of.into_iter().find(|items| items.is_object()).unwrap_or(&Value::Null))
}

/// Nothing for an object without properties. Only names that exist may be required.
fn properties(schema: &Value) -> Map<String, Value> {
    let Some(known) = schema["properties"].as_object().filter(|known| !known.is_empty()) else {
        return Map::new();
    };
    let each = known.iter().map(|(name, property)| (name.clone(), reduced(property)));
    let mut reduced = Map::from_iter([("properties".to_owned(), Value::Object(each.collect()))]);
    let required = schema["required"].as_array().into_iter().flatten();
    let required = required.filter(|name| name.as_str().is_some_and(|name| known.contains_key(name)));
    let required: Vec<Value> = required.cloned().collect();
    if !required.is_empty() {
        reduced.insert("required".to_owned(), required.into());
    }
    reduced
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The schema of one parameter after the reduction.
    fn of(property: Value) -> Value {
        let schema = json!({"type": "object", "properties": {"p": property}});
        parameters(&schema).unwrap()["properties"]["p"].take()
    }

    #[test]
    fn what_gemini_knows_is_kept() {
        let all = json!({"type": "array", "minItems": 1, "maxItems": 3, "description": "Corners.", "items": {
            "type": "object",
            "title": "Corner",
            "properties": {
                "x": {"type": "number", "format": "double", "minimum": 0, "maximum": 1000},
                "word": {"type": "string", "enum": ["a", "b"], "minLength": 1, "maxLength": 9, "nullable": true},
            },
            "required": ["x"],
        }});
        assert_eq!(of(all.clone()), all);
    }

    #[test]
    fn what_gemini_refuses_is_left_out_at_every_depth() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "additionalProperties": false,
            "patternProperties": {"^x": {"type": "string"}},
            "properties": {"list": {"type": "array", "uniqueItems": true, "items": {
                "type": "object",
                "additionalProperties": false,
                "properties": {"at": {"type": "string", "format": "uuid", "examples": ["x"], "exclusiveMinimum": 0}},
                "required": ["at", "gone"],
            }}},
            "required": ["list", "gone"],
        });
        let expected = json!({
            "type": "object",
            "properties": {"list": {"type": "array", "items": {
                "type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"],
            }}},
            "required": ["list"],
        });
        assert_eq!(parameters(&schema), Some(expected));
    }

    #[test]
    fn a_function_without_parameters_has_none() {
        assert_eq!(parameters(&json!({"type": "object", "properties": {}, "required": []})), None);
        assert_eq!(parameters(&json!({"type": "object"})), None);
        assert_eq!(parameters(&Value::Null), None);
        assert_eq!(of(json!({"type": "object", "properties": {}})), json!({"type": "object"}));
    }

    #[test]
    fn several_types_become_one_and_null_a_keyword() {
        assert_eq!(of(json!({"type": ["null", "integer"]})), json!({"type": "integer", "nullable": true}));
        assert_eq!(of(json!({"type": ["number", "string"]})), json!({"type": "number"}));
        assert_eq!(of(json!({"type": "STRING"})), json!({"type": "string"}));
        for nothing in [json!({}), json!(true), json!({"type": "any"}), json!({"$ref": "#/x"})] {
            assert_eq!(of(nothing), json!({"type": "string"}));
        }
        assert_eq!(of(json!({"type": "array"})), json!({"type": "array", "items": {"type": "string"}}));
        let tuple = json!({"prefixItems": [{"type": "number"}, {"type": "string"}]});
        assert_eq!(of(tuple), json!({"type": "array", "items": {"type": "number"}}));
    }

    #[test]
    fn listed_values_are_an_enum_of_strings_or_said_in_words() {
        assert_eq!(of(json!({"const": "a"})), json!({"type": "string", "enum": ["a"]}));
        assert_eq!(
            of(json!({"enum": ["a", null]})),
            json!({"type": "string", "enum": ["a"], "nullable": true})
        );
        assert_eq!(
            of(json!({"type": "integer", "enum": [90, 180], "description": "How far."})),
            json!({"type": "integer", "description": "How far. One of: 90, 180."})
        );
        assert_eq!(
            of(json!({"type": "string", "enum": ["", "a"]})),
            json!({"type": "string", "description": "One of: \"\", \"a\"."})
        );
        assert_eq!(
            of(json!({"type": "number", "default": 5, "description": "How far."})),
            json!({"type": "number", "description": "How far. Default: 5."})
        );
    }

    #[test]
    fn choices_stand_alone() {
        assert_eq!(
            of(
                json!({"description": "D", "oneOf": [{"type": "string"}, {"type": "integer", "description": "I"}]})
            ),
            json!({"anyOf": [
                {"type": "string", "description": "D"}, {"type": "integer", "description": "I"},
            ]})
        );
        assert_eq!(
            of(json!({"anyOf": [{"type": "null"}, {"type": "boolean"}]})),
            json!({"type": "boolean", "nullable": true})
        );
        let narrowed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]});
        assert_eq!(of(narrowed), json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    }
}
