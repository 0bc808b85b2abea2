//! Which of a turn's outputs are sent: derived from its stored messages alone, so that a restart changes nothing.

use super::says;
use crate::{
    domain::{Attachment, AttachmentId, Message, Role},
    store::{Store, StoreError},
    tools::{ToolContext, ToolError},
};
use serde_json::Value;
use std::time::Duration;
use tracing::warn;

/// How often a file is tried to be put into the store before the answer goes without it.
const TRIES: u32 = 4;

/// The tool whose call replaces the automatic choice.
const CHOOSER: &str = "attach_to_response";
/// Tools that take edits back.
const BACK: [&str; 2] = ["undo_edit", "revert_to_original"];

/// The turn's own outputs that no later output of it was made from. `attach_to_response` replaces that choice: its
/// last call wins, and what is made after it is added.
pub async fn outputs(store: &Store, steps: &[Message]) -> Result<Vec<Attachment>, StoreError> {
    let Some(place) = steps.first().map(|message| &message.conversation) else {
        return Ok(Vec::new());
    };
    let results: Vec<&Message> = steps.iter().filter(|m| m.role == Role::Tool && m.error.is_none()).collect();
    let last_choice =
        results.iter().rposition(|m| m.tool_name.as_deref() == Some(CHOOSER) && !m.attachments.is_empty());
    let (chosen, made) = match last_choice {
        Some(at) => (results[at].attachments.clone(), &results[at + 1..]),
        None => (Vec::new(), &results[..]),
    };
    let made: Vec<TurnOutput> = made.iter().flat_map(|m| shown_by(m, steps)).collect();
    let ids = [chosen.clone(), made.iter().map(|shown| shown.id).collect()].concat();
    let known = store.attachments(place, &ids).await?;
    Ok(pick(&chosen, &made, &known))
}

/// One output of a step.
#[derive(Debug, Clone)]
struct TurnOutput {
    id: AttachmentId,
    /// What was taken back to get there, if that is how.
    instead_of: Vec<AttachmentId>,
}

fn shown_by(result: &Message, steps: &[Message]) -> Vec<TurnOutput> {
    let back = result.tool_name.as_deref().is_some_and(|name| BACK.contains(&name));
    let instead_of = if back { asked_for(result, steps) } else { Vec::new() };
    result.attachments.iter().map(|id| TurnOutput { id: *id, instead_of: instead_of.clone() }).collect()
}

/// The `images` of the call that a result answers.
fn asked_for(result: &Message, steps: &[Message]) -> Vec<AttachmentId> {
    let calls = steps.iter().flat_map(|message| &message.tool_calls);
    let call = calls.into_iter().find(|call| Some(&call.id) == result.tool_call_id.as_ref());
    let arguments = call.and_then(|call| serde_json::from_str::<Value>(&call.arguments).ok());
    let ids = arguments.as_ref().and_then(|arguments| arguments["images"].as_array());
    ids.into_iter().flatten().filter_map(|id| id.as_str()?.trim().parse().ok()).collect()
}

/// The same files, each really there to be sent; and a sentence for each that could not be made or kept within that
/// time.
pub async fn printed(
    tools: &ToolContext,
    outputs: Vec<Attachment>,
    within: Duration,
) -> (Vec<Attachment>, Vec<String>) {
    let mut printed = Vec::new();
    let mut lost = Vec::new();
    for file in outputs {
        if file.is_stored() {
            printed.push(file);
            continue;
        }
        let why = match tokio::time::timeout(within, print(tools, &file)).await {
            Ok(Ok(file)) => {
                printed.push(file);
                continue;
            }
            Ok(Err(error)) => error.told(),
            Err(_) => "it took too long.".to_owned(),
        };
        warn!(why, attachment = %file.attachment_id, "a picture could not be made into a file");
        lost.push(says::lost(&file.filename, &why));
    }
    (printed, lost)
}

async fn print(tools: &ToolContext, file: &Attachment) -> Result<Attachment, ToolError> {
    let mut tries = 1;
    loop {
        match tools.ensure_stored(file).await {
            Err(error) if error.is_passing() && tries < TRIES => {
                tokio::time::sleep(Duration::from_millis(250) * 2u32.pow(tries)).await;
                tries += 1;
            }
            outcome => return outcome,
        }
    }
}

fn pick(chosen: &[AttachmentId], made: &[TurnOutput], known: &[Attachment]) -> Vec<Attachment> {
    let find = |id: &AttachmentId| known.iter().find(|a| a.attachment_id == *id);
    let mut picked: Vec<Attachment> = Vec::new();
    let built_upon = |at: usize| {
        let later = made[at + 1..].iter().filter_map(|shown| find(&shown.id));
        later.into_iter().any(|output| output.parents.contains(&made[at].id))
    };
    let taken_back = |at: usize| {
        let undone =
            made[at + 1..].iter().flat_map(|shown| shown.instead_of.iter().map(|id| (*id, shown.id)));
        undone.into_iter().any(|(from, to)| on_the_way(from, to, known).contains(&made[at].id))
    };
    let finals = made
        .iter()
        .enumerate()
        .filter(|(at, _)| !built_upon(*at) && !taken_back(*at))
        .map(|(_, shown)| &shown.id);
    for attachment in chosen.iter().chain(finals).filter_map(find) {
        // What was shown twice is sent once.
        if picked.iter().all(|known| known.attachment_id != attachment.attachment_id) {
            picked.push(attachment.clone());
        }
    }
    picked
}

/// The pictures from one back to another, without the other.
fn on_the_way(from: AttachmentId, to: AttachmentId, known: &[Attachment]) -> Vec<AttachmentId> {
    let mut way = Vec::new();
    let mut at = from;
    while at != to && !way.contains(&at) {
        way.push(at);
        // Beyond what this turn made there is nothing to leave out.
        match known.iter().find(|a| a.attachment_id == at).and_then(|a| a.parents.first()) {
            Some(parent) => at = *parent,
            None => break,
        }
    }
    way
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
        TurnOutput { id: file.attachment_id, instead_of: Vec::new() }
    }

    #[test]
    fn only_the_last_of_a_chain_is_sent_and_every_end_of_a_fork() {
        let original = file(&[]);
        let crop = file(&[original.attachment_id]);
        let gray = file(&[crop.attachment_id]);
        let sepia = file(&[crop.attachment_id]);
        let all = [crop.clone(), gray.clone(), sepia.clone()];
        let made: Vec<_> = all.iter().map(new).collect();
        assert_eq!(pick(&[], &made, &all), [gray, sepia]);
    }

    #[test]
    fn what_was_taken_back_is_not_sent_but_what_it_went_back_to_is() {
        let original = file(&[]);
        let crop = file(&[original.attachment_id]);
        let gray = file(&[crop.attachment_id]);
        let known = [original.clone(), crop.clone(), gray.clone()];
        let back = |from: &Attachment| TurnOutput {
            id: original.attachment_id,
            instead_of: vec![from.attachment_id],
        };
        assert_eq!(pick(&[], &[new(&crop), new(&gray), back(&gray)], &known), known[..1]);
        let sepia = file(&[original.attachment_id]);
        let known = [original.clone(), crop.clone(), sepia.clone()];
        assert_eq!(pick(&[], &[new(&crop), back(&crop), new(&sepia)], &known), known[2..]);
        let both = [new(&crop), new(&sepia), back(&sepia)];
        assert_eq!(pick(&[], &both, &known), [crop, original], "the other one stands");
    }

    #[test]
    fn a_choice_comes_first_and_is_never_repeated() {
        let (a, b) = (file(&[]), file(&[]));
        let known = [a.clone(), b.clone()];
        let picked = pick(&[b.attachment_id, b.attachment_id], &[new(&a), new(&b)], &known);
        assert_eq!(picked, [b, a]);
    }
}
