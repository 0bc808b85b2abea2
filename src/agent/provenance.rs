//! Whether what is sent is exact or was generated: told with every answer, whatever the model says of it.

use super::says;
use crate::{
    domain::{Attachment, AttachmentId},
    store::{Store, StoreError},
    tools::Generated,
};
use std::collections::HashSet;

/// No picture has this many ancestors; more would be a loop.
const MOST_ANCESTORS: usize = 500;

/// The line that belongs under these files, if a service made any of them or anything they were made from.
pub async fn told(store: &Store, sent: &[Attachment]) -> Result<Option<String>, StoreError> {
    let mut most: Option<Generated> = None;
    let mut models: Vec<String> = Vec::new();
    let mut places = Vec::new();
    for (at, file) in sent.iter().enumerate() {
        let origins = generated_by(store, file).await?;
        if !origins.is_empty() {
            places.push(at + 1);
        }
        for (how, model) in origins {
            most = most.max(Some(how));
            if !models.contains(&model) {
                models.push(model);
            }
        }
    }
    let some = (places.len() < sent.len()).then_some(places.as_slice());
    Ok(most.map(|how| says::generated(how, &models, some)))
}

/// Of the file and of everything it was made from, within its conversation.
async fn generated_by(store: &Store, file: &Attachment) -> Result<Vec<(Generated, String)>, StoreError> {
    let mut found = Vec::new();
    let mut seen: HashSet<AttachmentId> = HashSet::from([file.attachment_id]);
    let mut generation = vec![file.clone()];
    while !generation.is_empty() && seen.len() < MOST_ANCESTORS {
        let recipes = generation.iter().filter_map(Attachment::recipe);
        found.extend(recipes.filter_map(Generated::by).map(|(how, model)| (how, model.to_owned())));
        let parents = generation.iter().flat_map(|file| file.parents.iter().copied());
        let parents: Vec<_> = parents.filter(|id| seen.insert(*id)).collect();
        generation = if parents.is_empty() {
            Vec::new()
        } else {
            store.attachments(&file.conversation, &parents).await?
        };
    }
    Ok(found)
}
