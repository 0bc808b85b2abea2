//! Reduces a JSON schema to the subset of OpenAPI 3.0 that Gemini accepts in function declarations. The tools validate
//! arguments against the full schema, so the reduction loses only guidance. `$ref` and `allOf` are not supported: no
//! tool uses them.

use serde_json::{Map, Value, json};

/// Keywords that are copied unchanged.
const COPIED_KEYWORDS: &[&str] = &[
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

/// Formats by type; Gemini rejects others.
const FORMATS: &[(&str, &[&str])] =
    &[("string", &["enum", "date-time"]), ("integer", &["int32", "int64"]), ("number", &["float", "double"])];

/// The parameters of a function. None for a function without parameters, because an object must have properties.
pub fn parameters(schema: &Value) -> Option<Value> {
    let reduced = reduce(schema);
    reduced["properties"].is_object().then_some(reduced)
}

fn reduce(schema: &Value) -> Value {
    let choices = ["anyOf", "oneOf"].iter().find_map(|name| schema[name].as_array());
    match choices {
        // Next to a type, choices only narrow it.
        Some(choices) if schema["type"].is_null() && schema["properties"].is_null() => {
            reduce_choices(schema, choices)
        }
        _ => reduce_simple(schema),
    }
}

/// `anyOf` must be the only field, so fields of the whole are copied into each choice.
fn reduce_choices(schema: &Value, choices: &[Value]) -> Value {
    let is_null = |choice: &Value| choice["type"] == "null";
    let nullable = schema["nullable"] == true || choices.iter().any(is_null);
    let of_each = |choice: &Value| {
        let mut choice = reduce(choice);
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
        0 => reduce_simple(&json!({"description": schema["description"]})),
        1 => choices.remove(0),
        _ => json!({"anyOf": choices}),
    }
}

fn reduce_simple(schema: &Value) -> Value {
    let values = listed_values(schema);
    let kind = value_type(schema, &values);
    let mut reduced = Map::new();
    reduced.insert("type".to_owned(), kind.into());
    for name in COPIED_KEYWORDS.iter().filter(|name| !schema[**name].is_null()) {
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
    let undeclared = if listed { Vec::new() } else { values };
    if let Some(description) = description(schema, &undeclared) {
        reduced.insert("description".to_owned(), description.into());
    }
    match kind {
        "array" => drop(reduced.insert("items".to_owned(), items(schema))),
        "object" => reduced.extend(properties(schema)),
        _ => {}
    }
    Value::Object(reduced)
}

/// The allowed values if the schema lists them. Null is excluded: it has its own keyword.
fn listed_values(schema: &Value) -> Vec<Value> {
    let listed = schema["enum"].as_array().cloned();
    let listed = listed.or_else(|| schema.get("const").map(|only| vec![only.clone()])).unwrap_or_default();
    listed.into_iter().filter(|value| !value.is_null()).collect()
}

fn is_nullable(schema: &Value, values: &[Value]) -> bool {
    let listed = schema["enum"].as_array().is_some_and(|listed| listed.len() > values.len());
    let typed = schema["type"].as_array().is_some_and(|types| types.iter().any(|name| name == "null"));
    schema["nullable"] == true || listed || typed
}

/// The type in lower case; of several, the first that is not null.
fn value_type(schema: &Value, values: &[Value]) -> &'static str {
    let names = schema["type"].as_array().map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
    let known = ["string", "number", "integer", "boolean", "array", "object"];
    let find = |name: &str| known.into_iter().find(|known| known.eq_ignore_ascii_case(name));
    names.iter().filter_map(Value::as_str).find_map(find).unwrap_or_else(|| guess_type(schema, values))
}

fn guess_type(schema: &Value, values: &[Value]) -> &'static str {
    match values.first() {
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(number)) if number.is_f64() => "number",
        Some(Value::Number(_)) => "integer",
        _ if schema["properties"].is_object() => "object",
        _ if !schema["items"].is_null() || !schema["prefixItems"].is_null() => "array",
        _ => "string",
    }
}

/// The description, extended by facts that have no keyword in Gemini's subset.
fn description(schema: &Value, undeclared: &[Value]) -> Option<String> {
    let mut text = schema["description"].as_str().unwrap_or_default().trim().to_owned();
    let mut add = |more: String| {
        let gap = if text.is_empty() { "" } else { " " };
        text += &format!("{gap}{more}");
    };
    if !undeclared.is_empty() {
        let values: Vec<String> = undeclared.iter().map(Value::to_string).collect();
        add(format!("One of: {}.", values.join(", ")));
    }
    if !schema["default"].is_null() {
        add(format!("Default: {}.", schema["default"]));
    }
    (!text.is_empty()).then_some(text)
}

/// A list must declare its items. A tuple becomes a list of its first type.
fn items(schema: &Value) -> Value {
    let of = [&schema["items"], &schema["items"][0], &schema["prefixItems"][0]];
    reduce(of.into_iter().find(|items| items.is_object()).unwrap_or(&Value::Null))
}

/// Empty for an object without properties. Only existing properties may be required.
fn properties(schema: &Value) -> Map<String, Value> {
    let Some(known) = schema["properties"].as_object().filter(|known| !known.is_empty()) else {
        return Map::new();
    };
    let each = known.iter().map(|(name, property)| (name.clone(), reduce(property)));
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
    fn supported_keywords_are_kept() {
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
    fn unsupported_keywords_are_removed_at_every_depth() {
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
    fn a_function_without_parameters_has_no_schema() {
        assert_eq!(parameters(&json!({"type": "object", "properties": {}, "required": []})), None);
        assert_eq!(parameters(&json!({"type": "object"})), None);
        assert_eq!(parameters(&Value::Null), None);
        assert_eq!(of(json!({"type": "object", "properties": {}})), json!({"type": "object"}));
    }

    #[test]
    fn several_types_become_one_and_null_becomes_nullable() {
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
    fn listed_values_become_a_string_enum_or_part_of_the_description() {
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
    fn choices_become_the_only_field() {
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
