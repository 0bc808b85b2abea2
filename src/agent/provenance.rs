//! The provenance line: every answer with generated pictures has it, regardless of what the model writes.

use super::messages;
use crate::{
    domain::{Attachment, AttachmentId},
    store::{Store, StoreError},
    tools::Generated,
};
use std::collections::HashSet;

/// Bounds the search if the parents form a loop.
const MAX_ANCESTORS: usize = 500;

/// The line for these files, if a service generated any of them or of their ancestors.
pub async fn line(store: &Store, sent: &[Attachment]) -> Result<Option<String>, StoreError> {
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
    Ok(most.map(|how| messages::generated(how, &models, some)))
}

/// How the file and its ancestors were generated, and by which model.
async fn generated_by(store: &Store, file: &Attachment) -> Result<Vec<(Generated, String)>, StoreError> {
    let mut found = Vec::new();
    let mut seen: HashSet<AttachmentId> = HashSet::from([file.attachment_id]);
    let mut generation = vec![file.clone()];
    while !generation.is_empty() && seen.len() < MAX_ANCESTORS {
        let recipes = generation.iter().filter_map(Attachment::recipe);
        found.extend(recipes.filter_map(Generated::from_recipe).map(|(how, model)| (how, model.to_owned())));
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
