//! Replaces ids of files and turns that come from elsewhere by their new ids here.

use crate::domain::{AttachmentId, Recipe, Reference, ReferenceTarget, TurnId};
use serde_json::Value;
use std::collections::HashMap;

const UUID_LENGTH: usize = 36;

/// Old id → new id. Ids that are not in the maps stay as they are.
pub struct NewIds {
    pub files: HashMap<AttachmentId, AttachmentId>,
    pub turns: HashMap<TurnId, TurnId>,
}

impl NewIds {
    pub fn file(&self, id: AttachmentId) -> AttachmentId {
        self.files.get(&id).copied().unwrap_or(id)
    }

    pub fn turn(&self, id: TurnId) -> TurnId {
        self.turns.get(&id).copied().unwrap_or(id)
    }

    pub fn reference(&self, reference: &Reference) -> Reference {
        let url = match reference.target() {
            ReferenceTarget::Attachment(id) => ReferenceTarget::attachment_url(self.file(id)),
            ReferenceTarget::Turn(id) => format!("turn:{}", self.turn(id)),
            ReferenceTarget::Web => reference.url.clone(),
        };
        Reference { url, ..reference.clone() }
    }
}

/// The recipe with the new ids of its inputs.
pub fn replace_in_recipe(recipe: Recipe, files: &HashMap<AttachmentId, AttachmentId>) -> Recipe {
    let mut recipe = recipe;
    replace_in_value(&mut recipe.arguments, files);
    recipe
}

/// Replaces file ids in all texts of a document, in place.
pub fn replace_in_value(value: &mut Value, files: &HashMap<AttachmentId, AttachmentId>) {
    match value {
        _ if files.is_empty() => {}
        Value::String(text) => *text = replace_in_text(text, files),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_in_value(item, files)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace_in_value(field, files)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Replaces file ids wherever they appear in a text: in markers, in arguments of tool calls, in tool results.
pub fn replace_in_text(text: &str, files: &HashMap<AttachmentId, AttachmentId>) -> String {
    if files.is_empty() || text.len() < UUID_LENGTH {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // The first hyphen of a UUID follows eight digits.
    while let Some(hyphen) = rest.find('-') {
        let found = hyphen.checked_sub(8).and_then(|start| {
            let id: AttachmentId = rest.get(start..start + UUID_LENGTH)?.parse().ok()?;
            Some((start, files.get(&id)?))
        });
        match found {
            Some((start, new_id)) => {
                out.push_str(&rest[..start]);
                out.push_str(&new_id.to_string());
                rest = &rest[start + UUID_LENGTH..];
            }
            None => {
                out.push_str(&rest[..=hyphen]);
                rest = &rest[hyphen + 1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_ids_are_replaced_everywhere_in_a_text() {
        let (a, b, new) = (AttachmentId::new(), AttachmentId::new(), AttachmentId::new());
        let files = HashMap::from([(a, new)]);
        let text =
            format!("über-all: [Attachment ID: {a}]\n{b} {{\"images\":[\"{a}\",\"{b}\"]}} 1234567-{a}-é");
        let replaced = text.replace(&a.to_string(), &new.to_string());
        assert_eq!(replace_in_text(&text, &files), replaced);
        assert_eq!(replace_in_text(&format!("{a}{a}"), &files), format!("{new}{new}"));
    }
}
