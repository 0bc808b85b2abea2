//! Which of a turn's outputs are sent: derived from its stored messages alone, so that a restart changes nothing.

use super::says;
use crate::{
    domain::{Attachment, AttachmentId, Message, Role},
    store::{Store, StoreError},
    tools::ToolContext,
};
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
    let made: Vec<Shown> = made.iter().flat_map(|m| shown_by(m)).collect();
    let ids = [chosen.clone(), made.iter().map(|shown| shown.id).collect()].concat();
    let known = store.attachments(place, &ids).await?;
    Ok(pick(&chosen, &made, &known))
}

/// One output of a step.
#[derive(Debug, Clone, Copy)]
struct Shown {
    id: AttachmentId,
    /// It is shown again because what was made from it was taken back.
    again: bool,
}

fn shown_by(result: &Message) -> impl Iterator<Item = Shown> {
    let again = result.tool_name.as_deref().is_some_and(|name| BACK.contains(&name));
    result.attachments.iter().map(move |id| Shown { id: *id, again })
}

/// The same files, each really there to be sent; and a sentence for each that could not be made or kept.
pub async fn printed(tools: &ToolContext, outputs: Vec<Attachment>) -> (Vec<Attachment>, Vec<String>) {
    let mut printed = Vec::new();
    let mut lost = Vec::new();
    for file in outputs {
        let mut tries = 1;
        let outcome = loop {
            match tools.printed(&file).await {
                Err(error) if error.may_pass() && tries < TRIES => {
                    tokio::time::sleep(Duration::from_millis(250) * 2u32.pow(tries)).await;
                    tries += 1;
                }
                outcome => break outcome,
            }
        };
        match outcome {
            Ok(file) => printed.push(file),
            Err(error) => {
                warn!(%error, attachment = %file.attachment_id, "a picture could not be made into a file");
                lost.push(says::lost(&file.filename, &error.told()));
            }
        }
    }
    (printed, lost)
}

fn pick(chosen: &[AttachmentId], made: &[Shown], known: &[Attachment]) -> Vec<Attachment> {
    let find = |id: &AttachmentId| known.iter().find(|a| a.attachment_id == *id);
    let mut picked: Vec<Attachment> = Vec::new();
    let built_upon = |at: usize| {
        let later = made[at + 1..].iter().filter_map(|shown| find(&shown.id));
        later.into_iter().any(|output| output.parents.contains(&made[at].id))
    };
    let taken_back = |at: usize| {
        let shown_again = made[at + 1..].iter().filter(|shown| shown.again);
        shown_again.into_iter().any(|shown| descends(made[at].id, shown.id, known))
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

fn descends(id: AttachmentId, from: AttachmentId, known: &[Attachment]) -> bool {
    let mut at = id;
    // Only what this turn made is known, so the way is short.
    for _ in 0..=known.len() {
        let Some(parent) = known.iter().find(|a| a.attachment_id == at).and_then(|a| a.parents.first())
        else {
            return false;
        };
        if *parent == from {
            return true;
        }
        at = *parent;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttachmentSource, Conversation};
    use chrono::Utc;

    fn file(parents: &[AttachmentId]) -> Attachment {
        Attachment {
            attachment_id: AttachmentId::new(),
            conversation: Conversation::telegram(1),
            source: AttachmentSource::Tool,
            sha256: String::new(),
            mime_type: "image/png".into(),
            filename: "a.png".into(),
            description: None,
            size: 1,
            width: Some(1),
            height: Some(1),
            object_key: String::new(),
            created_at: Utc::now(),
            parents: parents.to_vec(),
            recipe: None,
        }
    }

    fn new(file: &Attachment) -> Shown {
        Shown { id: file.attachment_id, again: false }
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
        let back = Shown { id: original.attachment_id, again: true };
        assert_eq!(pick(&[], &[new(&crop), new(&gray), back], &known), known[..1]);
        let sepia = file(&[original.attachment_id]);
        let known = [original.clone(), crop.clone(), sepia.clone()];
        assert_eq!(pick(&[], &[new(&crop), back, new(&sepia)], &known), [sepia]);
    }

    #[test]
    fn a_choice_comes_first_and_is_never_repeated() {
        let (a, b) = (file(&[]), file(&[]));
        let known = [a.clone(), b.clone()];
        let picked = pick(&[b.attachment_id, b.attachment_id], &[new(&a), new(&b)], &known);
        assert_eq!(picked, [b, a]);
    }
}
