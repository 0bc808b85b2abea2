//! Which of a turn's outputs are sent: derived from its stored messages alone, so that a restart changes nothing.

use crate::{
    domain::{Attachment, AttachmentId, Message, Role},
    store::{Store, StoreError},
};

/// The tool whose call replaces the automatic choice.
const CHOOSER: &str = "attach_to_response";

/// The turn's own outputs that no later output of it was made from. `attach_to_response` replaces that choice: its
/// last call wins, and what is made after it is added.
pub async fn outputs(store: &Store, steps: &[Message]) -> Result<Vec<Attachment>, StoreError> {
    let Some(place) = steps.first().map(|message| &message.conversation) else {
        return Ok(Vec::new());
    };
    let results: Vec<&Message> = steps
        .iter()
        .filter(|m| m.role == Role::Tool && m.error.is_none())
        .collect();
    let last_choice = results
        .iter()
        .rposition(|m| m.tool_name.as_deref() == Some(CHOOSER) && !m.attachments.is_empty());
    let (chosen, made) = match last_choice {
        Some(at) => (results[at].attachments.clone(), &results[at + 1..]),
        None => (Vec::new(), &results[..]),
    };
    let made: Vec<AttachmentId> = made.iter().flat_map(|m| m.attachments.clone()).collect();
    let known = store
        .attachments(place, &[chosen.clone(), made.clone()].concat())
        .await?;
    Ok(pick(&chosen, &made, &known))
}

fn pick(chosen: &[AttachmentId], made: &[AttachmentId], known: &[Attachment]) -> Vec<Attachment> {
    let find = |id: &AttachmentId| known.iter().find(|a| a.attachment_id == *id);
    let mut picked: Vec<Attachment> = Vec::new();
    let built_upon = |at: usize| {
        let later = made[at + 1..].iter().filter_map(find);
        later.into_iter().any(|output| output.parents.contains(&made[at]))
    };
    let finals = made
        .iter()
        .enumerate()
        .filter(|(at, _)| !built_upon(*at))
        .map(|(_, id)| id);
    for attachment in chosen.iter().chain(finals).filter_map(find) {
        // What was shown twice is sent once.
        if picked
            .iter()
            .all(|known| known.attachment_id != attachment.attachment_id)
        {
            picked.push(attachment.clone());
        }
    }
    picked
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

    #[test]
    fn only_the_last_of_a_chain_is_sent_and_every_end_of_a_fork() {
        let original = file(&[]);
        let crop = file(&[original.attachment_id]);
        let gray = file(&[crop.attachment_id]);
        let sepia = file(&[crop.attachment_id]);
        let all = [crop.clone(), gray.clone(), sepia.clone()];
        let made: Vec<_> = all.iter().map(|a| a.attachment_id).collect();
        assert_eq!(pick(&[], &made, &all), [gray, sepia]);
    }

    #[test]
    fn a_choice_comes_first_and_is_never_repeated() {
        let (a, b) = (file(&[]), file(&[]));
        let known = [a.clone(), b.clone()];
        let picked = pick(
            &[b.attachment_id, b.attachment_id],
            &[a.attachment_id, b.attachment_id],
            &known,
        );
        assert_eq!(picked, [b, a]);
    }
}
