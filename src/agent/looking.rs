//! What the model asked to look at in this turn, beside the results of its calls. Derived from the stored steps alone,
//! so that a restart gives the same prompt; looks of earlier turns stay words.

use crate::{
    domain::{Message, Role},
    providers::{PromptMessage, ShownFile},
    store::{Store, StoreError},
    tools::look_at_image::{self, Look},
};

/// Fills in what each look of the turn's `stored` steps showed.
pub async fn show(store: &Store, stored: &[Message], steps: &mut [PromptMessage]) -> Result<(), StoreError> {
    let looks = looks(stored);
    let Some(first) = stored.first().filter(|_| !looks.is_empty()) else { return Ok(()) };
    let ids: Vec<_> = looks.iter().map(|(_, look)| look.id).collect();
    let files = store.attachments(&first.conversation, &ids).await?;
    for step in steps {
        let PromptMessage::Tool { call_id, shown, .. } = step else { continue };
        let looked = looks.iter().find(|(call, _)| call == call_id).and_then(|(_, look)| {
            let file = files.iter().find(|file| file.attachment_id == look.id)?;
            Some(ShownFile { attachment: file.clone(), region: look.region, grid: look.grid })
        });
        shown.extend(looked);
    }
    Ok(())
}

/// The looks that succeeded, by call.
fn looks(stored: &[Message]) -> Vec<(&str, Look)> {
    let seen = stored.iter().filter(|m| {
        m.role == Role::Tool && m.error.is_none() && m.tool_name.as_deref() == Some(look_at_image::NAME)
    });
    let calls = || stored.iter().flat_map(|m| &m.tool_calls);
    seen.filter_map(|result| {
        let id = result.tool_call_id.as_deref()?;
        let call = calls().find(|call| call.id == id)?;
        Some((id, look_at_image::look_of(&call.arguments)?))
    })
    .collect()
}
