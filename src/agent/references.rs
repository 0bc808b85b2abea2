//! The references of an answer: the files it used and the files it made. Derived from the stored messages alone, so that
//! a restart changes nothing.

use crate::{
    domain::{
        Attachment, AttachmentId, AttachmentSource, Message, Reference, Role, Turn, TurnState,
        annotation::MAX_REFERENCES,
    },
    store::{Store, StoreError},
};
use serde_json::Value;

const USED: &str = "used";
const MADE: &str = "made";

/// `steps` are the turn's own messages, `sent` the files of its answer. A failed turn refers only to the files that its
/// calls used.
pub async fn of_answer(
    store: &Store,
    turn: &Turn,
    steps: &[Message],
    sent: &[Attachment],
    state: TurnState,
) -> Result<Vec<Reference>, StoreError> {
    let mut used = used_by_calls(steps);
    if state == TurnState::Done {
        let inputs = store.inputs_of_turn(turn.turn_id).await?;
        let reply = inputs.iter().find_map(|input| input.reply.as_ref());
        used.extend(reply.and_then(|reply| reply.attachment));
        if used.is_empty() {
            // No tool used a file, so the answer is about the files of the question.
            let replied = match reply.and_then(|reply| reply.message) {
                Some(id) => store.message(id).await?,
                None => None,
            };
            used.extend(replied.iter().chain(&inputs).flat_map(|message| message.attachments.clone()));
        }
    }
    let used = store.attachments(&turn.conversation, &used).await?;
    Ok(build_references(sent, &used))
}

/// The files in the arguments of successful calls, in order.
fn used_by_calls(steps: &[Message]) -> Vec<AttachmentId> {
    let succeeded = |id: &str| {
        let result =
            |m: &Message| m.role == Role::Tool && m.tool_call_id.as_deref() == Some(id) && m.error.is_none();
        steps.iter().any(result)
    };
    let mut ids = Vec::new();
    for call in steps.iter().flat_map(|step| &step.tool_calls).filter(|call| succeeded(&call.id)) {
        if let Ok(arguments) = serde_json::from_str(&call.arguments) {
            collect_ids(&arguments, &mut ids);
        }
    }
    ids
}

fn collect_ids(arguments: &Value, ids: &mut Vec<AttachmentId>) {
    match arguments {
        Value::String(text) => ids.extend(text.trim().parse::<AttachmentId>().ok()),
        Value::Array(items) => items.iter().for_each(|item| collect_ids(item, ids)),
        Value::Object(fields) => fields.values().for_each(|value| collect_ids(value, ids)),
        _ => {}
    }
}

/// Each file once. A sent file that came from a person counts as used, not as made.
fn build_references(sent: &[Attachment], used: &[Attachment]) -> Vec<Reference> {
    let made: Vec<&Attachment> = sent.iter().filter(|file| file.source == AttachmentSource::Tool).collect();
    let mut refs: Vec<Reference> = Vec::new();
    let is_made = |file: &Attachment| made.iter().any(|made| made.attachment_id == file.attachment_id);
    let used = used.iter().chain(sent).filter(|file| !is_made(file)).map(|file| (file, USED));
    let max_used = MAX_REFERENCES.saturating_sub(made.len());
    for (file, kind) in used {
        let reference = Reference::to_file(file.attachment_id, &file.filename, kind);
        if refs.len() < max_used && refs.iter().all(|known| known.url != reference.url) {
            refs.push(reference);
        }
    }
    let made = made.iter().map(|file| Reference::to_file(file.attachment_id, &file.filename, MADE));
    refs.extend(made.take(MAX_REFERENCES));
    refs
}
