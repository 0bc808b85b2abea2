//! Which outputs of a turn are sent. Derived from the stored messages alone, so that a restart changes nothing.

use super::messages;
use crate::{
    domain::{Attachment, AttachmentId, Message, Role},
    retry,
    store::{Store, StoreError},
    tools::{ToolContext, ToolError},
};
use backon::Retryable as _;
use serde_json::Value;
use std::time::Duration;
use tracing::warn;

/// Attempts to store a file before the answer is sent without it.
const MAX_FILE_ATTEMPTS: usize = 4;
const FIRST_FILE_WAIT: Duration = Duration::from_millis(500);

/// The tool that replaces the automatic choice.
const ATTACH_TOOL: &str = "attach_to_response";
/// Tools that undo edits.
const UNDO_TOOLS: [&str; 2] = ["undo_edit", "revert_to_original"];

/// The outputs of the turn that no later output was made from. `attach_to_response` replaces that choice: its last call
/// wins, and later outputs are added.
pub async fn select(store: &Store, steps: &[Message]) -> Result<Vec<Attachment>, StoreError> {
    let Some(conversation) = steps.first().map(|message| &message.conversation) else {
        return Ok(Vec::new());
    };
    let results: Vec<&Message> = steps.iter().filter(|m| m.role == Role::Tool && m.error.is_none()).collect();
    let last_choice = results
        .iter()
        .rposition(|m| m.tool_name.as_deref() == Some(ATTACH_TOOL) && !m.attachments.is_empty());
    let (chosen, made) = match last_choice {
        Some(at) => (results[at].attachments.clone(), &results[at + 1..]),
        None => (Vec::new(), &results[..]),
    };
    let made: Vec<TurnOutput> = made.iter().flat_map(|m| outputs_of(m, steps)).collect();
    let ids = [chosen.clone(), made.iter().map(|shown| shown.id).collect()].concat();
    let known = store.attachments(conversation, &ids).await?;
    Ok(pick(&chosen, &made, &known))
}

/// One output of a step.
#[derive(Debug, Clone)]
struct TurnOutput {
    id: AttachmentId,
    /// The pictures that an undo replaced by this output.
    undone: Vec<AttachmentId>,
}

fn outputs_of(result: &Message, steps: &[Message]) -> Vec<TurnOutput> {
    let is_undo = result.tool_name.as_deref().is_some_and(|name| UNDO_TOOLS.contains(&name));
    let undone = if is_undo { images_of_call(result, steps) } else { Vec::new() };
    result.attachments.iter().map(|id| TurnOutput { id: *id, undone: undone.clone() }).collect()
}

/// The `images` argument of the call that a result belongs to.
fn images_of_call(result: &Message, steps: &[Message]) -> Vec<AttachmentId> {
    let calls = steps.iter().flat_map(|message| &message.tool_calls);
    let call = calls.into_iter().find(|call| Some(&call.id) == result.tool_call_id.as_ref());
    let arguments = call.and_then(|call| serde_json::from_str::<Value>(&call.arguments).ok());
    let ids = arguments.as_ref().and_then(|arguments| arguments["images"].as_array());
    ids.into_iter().flatten().filter_map(|id| id.as_str()?.trim().parse().ok()).collect()
}

/// Renders and stores the files that are still recipes. Returns the stored files, and a sentence for each file that
/// failed or took longer than `timeout`.
pub async fn ensure_stored(
    tools: &ToolContext,
    outputs: Vec<Attachment>,
    timeout: Duration,
) -> (Vec<Attachment>, Vec<String>) {
    let mut stored = Vec::new();
    let mut failures = Vec::new();
    for file in outputs {
        if file.is_stored() {
            stored.push(file);
            continue;
        }
        let (why, reason) = match tokio::time::timeout(timeout, store_file(tools, &file)).await {
            Ok(Ok(file)) => {
                stored.push(file);
                continue;
            }
            Ok(Err(error)) => (error.describe(), error.log_text()),
            Err(_) => ("it took too long.".to_owned(), "it took too long".to_owned()),
        };
        warn!(reason, op = "ensure_stored", attachment_id = %file.attachment_id, "output not stored; the answer is sent without it");
        failures.push(messages::not_stored(&file.filename, &why));
    }
    (stored, failures)
}

async fn store_file(tools: &ToolContext, file: &Attachment) -> Result<Attachment, ToolError> {
    (|| tools.ensure_stored(file))
        .retry(retry::limited(FIRST_FILE_WAIT, 2.0, MAX_FILE_ATTEMPTS))
        .when(ToolError::is_transient)
        .await
}

fn pick(chosen: &[AttachmentId], made: &[TurnOutput], known: &[Attachment]) -> Vec<Attachment> {
    let find = |id: &AttachmentId| known.iter().find(|a| a.attachment_id == *id);
    let mut picked: Vec<Attachment> = Vec::new();
    let has_child = |at: usize| {
        let later = made[at + 1..].iter().filter_map(|shown| find(&shown.id));
        later.into_iter().any(|output| output.parents.contains(&made[at].id))
    };
    let is_undone = |at: usize| {
        let undos = made[at + 1..].iter().flat_map(|shown| shown.undone.iter().map(|id| (*id, shown.id)));
        undos.into_iter().any(|(from, to)| chain_between(from, to, known).contains(&made[at].id))
    };
    let finals = made
        .iter()
        .enumerate()
        .filter(|(at, _)| !has_child(*at) && !is_undone(*at))
        .map(|(_, shown)| &shown.id);
    for attachment in chosen.iter().chain(finals).filter_map(find) {
        // A file is sent once.
        if picked.iter().all(|known| known.attachment_id != attachment.attachment_id) {
            picked.push(attachment.clone());
        }
    }
    picked
}

/// The pictures from `from` back along the parents to `to`, without `to`.
fn chain_between(from: AttachmentId, to: AttachmentId, known: &[Attachment]) -> Vec<AttachmentId> {
    let mut chain = Vec::new();
    let mut at = from;
    while at != to && !chain.contains(&at) {
        chain.push(at);
        // Files from before this turn are not among `known`: the chain ends here.
        match known.iter().find(|a| a.attachment_id == at).and_then(|a| a.parents.first()) {
            Some(parent) => at = *parent,
            None => break,
        }
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttachmentSource, Content, Conversation};
    use chrono::Utc;

    fn file(parents: &[AttachmentId]) -> Attachment {
        Attachment {
            attachment_id: AttachmentId::new(),
            conversation: Conversation::telegram(1),
            user_id: crate::domain::UserId("100".into()),
            source: AttachmentSource::Tool,
            mime_type: "image/png".into(),
            filename: "a.png".into(),
            description: None,
            size: 1,
            width: Some(1),
            height: Some(1),
            content: Content::stored("none", "none"),
            created_at: Utc::now(),
            parents: parents.to_vec(),
        }
    }

    fn new(file: &Attachment) -> TurnOutput {
        TurnOutput { id: file.attachment_id, undone: Vec::new() }
    }

    #[test]
    fn the_last_picture_of_each_edit_chain_is_sent() {
        let original = file(&[]);
        let crop = file(&[original.attachment_id]);
        let gray = file(&[crop.attachment_id]);
        let sepia = file(&[crop.attachment_id]);
        let all = [crop.clone(), gray.clone(), sepia.clone()];
        let made: Vec<_> = all.iter().map(new).collect();
        assert_eq!(pick(&[], &made, &all), [gray, sepia]);
    }

    #[test]
    fn an_undone_picture_is_not_sent_but_its_predecessor_is() {
        let original = file(&[]);
        let crop = file(&[original.attachment_id]);
        let gray = file(&[crop.attachment_id]);
        let known = [original.clone(), crop.clone(), gray.clone()];
        let back =
            |from: &Attachment| TurnOutput { id: original.attachment_id, undone: vec![from.attachment_id] };
        assert_eq!(pick(&[], &[new(&crop), new(&gray), back(&gray)], &known), known[..1]);
        let sepia = file(&[original.attachment_id]);
        let known = [original.clone(), crop.clone(), sepia.clone()];
        assert_eq!(pick(&[], &[new(&crop), back(&crop), new(&sepia)], &known), known[2..]);
        let both = [new(&crop), new(&sepia), back(&sepia)];
        assert_eq!(pick(&[], &both, &known), [crop, original], "the other one stands");
    }

    #[test]
    fn attached_files_come_first_and_once() {
        let (a, b) = (file(&[]), file(&[]));
        let known = [a.clone(), b.clone()];
        let picked = pick(&[b.attachment_id, b.attachment_id], &[new(&a), new(&b)], &known);
        assert_eq!(picked, [b, a]);
    }
}
