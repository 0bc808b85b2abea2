//! The work of the agent for one answer, as the page shows it: a pill per tool call and the panel “under the hood”.

use super::{
    calls::{holds_attachment_ids, input_attachments},
    files::{edit_name, is_picture, tool_name},
    window::MessageWindow,
};
use crate::{
    agent::budgets::Micros,
    attachments::markers,
    domain::{AttachmentId, Message, Role, ToolCall},
};
use chrono::TimeDelta;
use serde_json::Value;

/// Characters of a result that are shown at first.
const PREVIEW_CHARS: usize = 200;
/// Characters of a result that are shown when expanded.
const MAX_RESULT_CHARS: usize = 20_000;
const MAX_THUMBNAILS: usize = 6;

/// One tool call, shown as a pill.
pub struct Pill {
    pub name: String,
    pub tool: String,
    pub took: Option<String>,
    pub failed: bool,
    /// The call has no result yet.
    pub open: bool,
    pub arguments: Vec<(String, String)>,
    pub before: Vec<AttachmentId>,
    pub after: Vec<AttachmentId>,
}

/// The panel “under the hood” of one turn.
pub struct TurnDetails {
    pub summary: String,
    pub requests: Vec<ModelRequest>,
    pub results: Vec<ToolResultText>,
}

pub struct ModelRequest {
    pub model: String,
    pub input: String,
    pub output: String,
    pub cost: String,
    /// Text that came with the tool calls.
    pub said: String,
}

pub struct ToolResultText {
    pub tool: String,
    pub head: String,
    /// The whole text, if the head is cut.
    pub whole: Option<String>,
    pub failed: bool,
}

pub fn pills(window: &MessageWindow, steps: &[&Message]) -> Vec<Pill> {
    let requests = steps.iter().filter(|m| m.role == Role::Assistant);
    let calls = requests.flat_map(|request| request.tool_calls.iter().map(move |call| (*request, call)));
    calls.map(|(request, call)| pill(window, steps, request, call)).collect()
}

fn pill(window: &MessageWindow, steps: &[&Message], request: &Message, call: &ToolCall) -> Pill {
    let result = steps.iter().find(|m| m.tool_call_id.as_deref() == Some(call.id.as_str()));
    let shown = |ids: Vec<AttachmentId>| {
        let pictures = ids.into_iter().filter(|id| window.files.get(id).is_some_and(is_picture));
        pictures.take(MAX_THUMBNAILS).collect::<Vec<_>>()
    };
    Pill {
        name: edit_name(&call.name, &serde_json::from_str(&call.arguments).unwrap_or_default()),
        tool: call.name.clone(),
        took: result.map(|result| format_duration(tool_duration(request, result))),
        failed: result.is_some_and(|result| result.error.is_some()),
        open: result.is_none(),
        arguments: arguments(call),
        before: shown(input_attachments(call)),
        after: shown(result.map(|result| result.attachments.clone()).unwrap_or_default()),
    }
}

/// The measured duration, or the time between the two stored messages.
fn tool_duration(request: &Message, result: &Message) -> TimeDelta {
    let measured = result.reasoning_info.as_ref().and_then(|info| info["duration_ms"].as_i64());
    measured.map_or(result.timestamp - request.timestamp, TimeDelta::milliseconds)
}

/// The arguments of a call without its attachments. Text that is not JSON is shown as it is.
fn arguments(call: &ToolCall) -> Vec<(String, String)> {
    match serde_json::from_str::<Value>(&call.arguments) {
        Ok(Value::Object(fields)) => fields
            .iter()
            .filter(|(name, _)| !holds_attachment_ids(name))
            .map(|(name, value)| (name.replace('_', " "), truncate(&readable(value), PREVIEW_CHARS)))
            .collect(),
        _ if call.arguments.trim().is_empty() => Vec::new(),
        _ => vec![("as written".into(), truncate(&call.arguments, PREVIEW_CHARS))],
    }
}

const CORNERS: [&str; 4] = ["left", "top", "right", "bottom"];

/// JSON as readable text; a region as "from x,y to x,y".
fn readable(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(readable).collect::<Vec<_>>().join("; "),
        Value::Object(fields) => {
            let corners: Vec<&Value> = CORNERS.iter().filter_map(|corner| fields.get(*corner)).collect();
            let area = match corners.as_slice() {
                [left, top, right, bottom] => Some(format!("from {left},{top} to {right},{bottom}")),
                _ => None,
            };
            let rest = fields.iter().filter(|(name, _)| area.is_none() || !CORNERS.contains(&name.as_str()));
            let rest = rest.map(|(name, value)| format!("{} {}", name.replace('_', " "), readable(value)));
            let rest: Vec<String> = rest.collect();
            area.into_iter().chain(rest).collect::<Vec<_>>().join(", ")
        }
        Value::Null => "none".into(),
        other => other.to_string(),
    }
}

fn format_duration(took: TimeDelta) -> String {
    match took.num_milliseconds().max(0) {
        ms @ ..1000 => format!("{ms} ms"),
        ms @ ..10_000 => format!("{:.1} s", ms as f64 / 1000.0),
        ms => format!("{} s", ms / 1000),
    }
}

pub fn turn_details(steps: &[&Message], last: Option<&Message>) -> Option<TurnDetails> {
    let asked = steps.iter().copied().filter(|m| m.role == Role::Assistant).chain(last);
    let requests: Vec<(&Message, &Value)> =
        asked.filter_map(|m| Some((m, m.reasoning_info.as_ref()?))).collect();
    let sum = |name: &str| requests.iter().filter_map(|(_, info)| info[name].as_u64()).sum::<u64>();
    let cost: f64 = requests.iter().filter_map(|(_, info)| info["cost_usd"].as_f64()).sum();
    let (input, output) = (sum("input_tokens"), sum("output_tokens"));
    // An answer of the offline agent without tools has no details.
    if steps.is_empty() && input + output == 0 {
        return None;
    }
    let mut summary = vec![pluralize(requests.len(), "request")];
    match input + output {
        // The offline agent uses no tokens.
        0 => summary.extend(requests.first().and_then(|(_, info)| Some(info["model"].as_str()?.to_owned()))),
        tokens => summary.push(format!("{} tokens", with_thousands_separators(tokens))),
    }
    if cost > 0.0 {
        summary.push(Micros::of_dollars(cost).about());
    }
    if let (Some(first), Some(last)) = (steps.first(), last.or(steps.last().copied())) {
        summary.push(format_duration(last.timestamp - first.timestamp));
    }
    let last_id = last.map(|message| message.internal_id);
    let requests = requests.into_iter().filter(|_| input + output > 0);
    let requests = requests.map(|(m, info)| model_request(m, info, Some(m.internal_id) == last_id));
    let results = steps.iter().filter(|m| m.role == Role::Tool).map(|m| tool_result(m));
    Some(TurnDetails {
        summary: summary.join(" · "),
        requests: requests.collect(),
        results: results.collect(),
    })
}

fn model_request(message: &Message, info: &Value, is_answer: bool) -> ModelRequest {
    let tokens = |name: &str| info[name].as_u64().map_or_else(|| "–".to_owned(), with_thousands_separators);
    ModelRequest {
        model: info["model"].as_str().filter(|model| !model.is_empty()).unwrap_or("a model").to_owned(),
        input: tokens("input_tokens"),
        output: tokens("output_tokens"),
        cost: info["cost_usd"].as_f64().map_or_else(|| "–".into(), |cost| Micros::of_dollars(cost).about()),
        said: if is_answer { String::new() } else { truncate(message.content.trim(), PREVIEW_CHARS) },
    }
}

fn tool_result(result: &Message) -> ToolResultText {
    let text = markers::visible_text(result);
    let long = text.chars().count() > PREVIEW_CHARS;
    ToolResultText {
        tool: tool_name(result.tool_name.as_deref().unwrap_or("tool")),
        head: truncate(&text, PREVIEW_CHARS),
        whole: long.then(|| truncate(&text, MAX_RESULT_CHARS)),
        failed: result.error.is_some(),
    }
}

fn pluralize(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// 12345 → "12,345".
fn with_thousands_separators(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn truncate(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &str) -> ToolCall {
        ToolCall { id: "1".into(), name: "crop_image".into(), arguments: arguments.into() }
    }

    #[test]
    fn arguments_are_readable_and_omit_attachments() {
        let id = AttachmentId::new();
        let said = call(&format!(
            r#"{{"images":["{id}"],"regions":[{{"left":0,"top":10,"right":500,"bottom":60.5,"label":"eagle"}}],"max_size":3}}"#
        ));
        assert_eq!(input_attachments(&said), [id]);
        let mut told = arguments(&said);
        told.sort_unstable();
        let expected = [("max size", "3"), ("regions", "from 0,10 to 500,60.5, label eagle")];
        assert_eq!(told, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
        assert_eq!(arguments(&call("not json"))[0].1, "not json");
        assert!(arguments(&call("")).is_empty() && arguments(&call("{}")).is_empty());
    }

    #[test]
    fn durations_and_numbers_are_rounded() {
        let told = [5, 950, 1_234, 65_000].map(|ms| format_duration(TimeDelta::milliseconds(ms)));
        assert_eq!(told, ["5 ms", "950 ms", "1.2 s", "65 s"]);
        assert_eq!([7, 1_000, 1_234_567].map(with_thousands_separators), ["7", "1,000", "1,234,567"]);
    }

    #[test]
    fn long_results_are_cut_between_characters() {
        let long = "ä".repeat(300);
        assert_eq!(truncate(&long, PREVIEW_CHARS).chars().count(), PREVIEW_CHARS + 1);
        assert_eq!(truncate("short", PREVIEW_CHARS), "short");
    }
}
