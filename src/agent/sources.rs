//! Where an answer comes from: the files it used and those it made, noted on it as references. Derived from the stored
//! messages alone, so that a restart changes nothing.

use crate::{
    domain::{
        Attachment, AttachmentId, AttachmentSource, Message, Reference, Role, Turn, annotation::MOST_REFS,
    },
    store::{Store, StoreError},
};
use serde_json::Value;

const USED: &str = "used";
const MADE: &str = "made";

/// What kind of end the turn came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Answered,
    /// It only says what went wrong.
    Failed,
}

/// `steps` are the turn's own messages, `sent` what its answer carries.
pub async fn refs(
    store: &Store,
    turn: &Turn,
    steps: &[Message],
    sent: &[Attachment],
    ending: Ending,
) -> Result<Vec<Reference>, StoreError> {
    let mut used = worked_on(steps);
    if ending == Ending::Answered {
        let inputs = store.inputs_of_turn(turn.turn_id).await?;
        let reply = inputs.iter().find_map(|input| input.reply.as_ref());
        used.extend(reply.and_then(|reply| reply.attachment));
        if used.is_empty() {
            // Nothing was done to a file, so what was said is about those it was asked about.
            let replied = match reply.and_then(|reply| reply.message) {
                Some(id) => store.message(id).await?,
                None => None,
            };
            used.extend(replied.iter().chain(&inputs).flat_map(|message| message.attachments.clone()));
        }
    }
    let used = store.attachments(&turn.conversation, &used).await?;
    Ok(noted(sent, &used))
}

/// The files that successful calls name, in order.
fn worked_on(steps: &[Message]) -> Vec<AttachmentId> {
    let worked = |id: &str| {
        let result =
            |m: &Message| m.role == Role::Tool && m.tool_call_id.as_deref() == Some(id) && m.error.is_none();
        steps.iter().any(result)
    };
    let mut named = Vec::new();
    for call in steps.iter().flat_map(|step| &step.tool_calls).filter(|call| worked(&call.id)) {
        if let Ok(arguments) = serde_json::from_str(&call.arguments) {
            name(&arguments, &mut named);
        }
    }
    named
}

fn name(arguments: &Value, named: &mut Vec<AttachmentId>) {
    match arguments {
        Value::String(text) => named.extend(text.trim().parse::<AttachmentId>().ok()),
        Value::Array(items) => items.iter().for_each(|item| name(item, named)),
        Value::Object(fields) => fields.values().for_each(|value| name(value, named)),
        _ => {}
    }
}

/// Each file once. What was made is not merely used; what is sent but came from a person was not made.
fn noted(sent: &[Attachment], used: &[Attachment]) -> Vec<Reference> {
    let made: Vec<&Attachment> = sent.iter().filter(|file| file.source == AttachmentSource::Tool).collect();
    let mut refs: Vec<Reference> = Vec::new();
    let is_made = |file: &Attachment| made.iter().any(|made| made.attachment_id == file.attachment_id);
    let used = used.iter().chain(sent).filter(|file| !is_made(file)).map(|file| (file, USED));
    let room = MOST_REFS.saturating_sub(made.len());
    for (file, kind) in used {
        let reference = Reference::to_file(file.attachment_id, &file.filename, kind);
        if refs.len() < room && refs.iter().all(|known| known.url != reference.url) {
            refs.push(reference);
        }
    }
    let made = made.iter().map(|file| Reference::to_file(file.attachment_id, &file.filename, MADE));
    refs.extend(made.take(MOST_REFS));
    refs
}
