//! Arguments of tool calls: the attachment ids that a call names.

use crate::domain::{AttachmentId, ToolCall};
use serde_json::Value;

/// Arguments that hold one attachment id, and arguments that hold a list of them.
const ID_ARGUMENTS: [&str; 2] = ["image", "attachment_id"];
const ID_LIST_ARGUMENTS: [&str; 2] = ["images", "attachment_ids"];

/// Whether this argument holds attachment ids.
pub fn holds_attachment_ids(argument: &str) -> bool {
    ID_ARGUMENTS.contains(&argument) || ID_LIST_ARGUMENTS.contains(&argument)
}

/// The attachments that a tool call takes as input.
pub fn input_attachments(call: &ToolCall) -> Vec<AttachmentId> {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let single = ID_ARGUMENTS.iter().filter_map(|name| arguments[*name].as_str());
    let lists = ID_LIST_ARGUMENTS.iter().filter_map(|name| arguments[*name].as_array());
    let listed = lists.flatten().filter_map(Value::as_str);
    single.chain(listed).filter_map(|id| id.trim().parse().ok()).collect()
}
