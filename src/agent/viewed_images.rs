//! Adds the pictures of `look_at_image` calls to the steps of the running turn. Derived from the stored steps alone, so
//! that a restart gives the same prompt. Looks of earlier turns stay text.

use crate::{
    domain::{Message, Role},
    providers::{PromptMessage, ShownFile},
    store::{Store, StoreError},
    tools::look_at_image::{self, Look},
};

/// Adds to each step the picture that its look in `stored` showed.
pub async fn add_to_steps(
    store: &Store,
    stored: &[Message],
    steps: &mut [PromptMessage],
) -> Result<(), StoreError> {
    let looks = successful_looks(stored);
    let Some(first) = stored.first().filter(|_| !looks.is_empty()) else { return Ok(()) };
    let ids: Vec<_> = looks.iter().map(|(_, look)| look.id).collect();
    let files = store.attachments(&first.conversation, &ids).await?;
    for step in steps {
        let PromptMessage::Tool { call_id, shown, .. } = step else { continue };
        let picture = looks.iter().find(|(call, _)| call == call_id).and_then(|(_, look)| {
            let file = files.iter().find(|file| file.attachment_id == look.id)?;
            Some(ShownFile { attachment: file.clone(), region: look.region, grid: look.grid })
        });
        shown.extend(picture);
    }
    Ok(())
}

/// The successful looks by call id.
fn successful_looks(stored: &[Message]) -> Vec<(&str, Look)> {
    let results = stored.iter().filter(|m| {
        m.role == Role::Tool && m.error.is_none() && m.tool_name.as_deref() == Some(look_at_image::NAME)
    });
    let calls = || stored.iter().flat_map(|m| &m.tool_calls);
    results
        .filter_map(|result| {
            let id = result.tool_call_id.as_deref()?;
            let call = calls().find(|call| call.id == id)?;
            Some((id, look_at_image::parse_look(&call.arguments)?))
        })
        .collect()
}
