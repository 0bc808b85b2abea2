//! The files an imported history names: its conversation's own stay what they are; those its sender sees elsewhere come
//! along as files of their own; any other is refused where it is named.

use super::{Wrongs, grouping::Plan};
use crate::{
    access::{Scope, Viewer},
    domain::{Attachment, AttachmentId, Recipe, Target},
    web::{Site, problem::Problem},
};
use std::collections::{HashMap, HashSet};

/// Where each file is named: entry and field.
pub struct Uses(Vec<(AttachmentId, usize, String)>);

impl Uses {
    pub fn of(plan: &Plan<'_>) -> Self {
        let mut uses = Vec::new();
        for step in &plan.steps {
            for given in &step.entries {
                for (at, id) in given.attachments.iter().flatten().enumerate() {
                    uses.push((*id, given.at, format!("attachments[{at}]")));
                }
                for (at, reference) in given.refs.iter().flatten().enumerate() {
                    if let Target::Attachment(id) = reference.target() {
                        uses.push((id, given.at, format!("refs[{at}].url")));
                    }
                }
                let before = step.kept.and_then(|row| row.reply.as_ref()).and_then(|reply| reply.attachment);
                let replied = given.reply.iter().flatten().find_map(|reply| reply.attachment);
                // A reply may outlive the file it points at.
                if let Some(id) = replied.filter(|id| before != Some(*id)) {
                    uses.push((id, given.at, "replyTo.attachmentId".to_owned()));
                }
            }
        }
        Self(uses)
    }

    /// Finds them, or says which cannot be.
    pub async fn look(
        &self,
        site: &Site,
        viewer: &Viewer,
        scope: &Scope,
        wrong: &mut Wrongs,
    ) -> Result<Found, Problem> {
        let mut seen = HashSet::new();
        let ids: Vec<AttachmentId> =
            self.0.iter().map(|(id, ..)| *id).filter(|id| seen.insert(*id)).collect();
        let own = site.store.attachments(scope.conversation(), &ids).await?;
        let own: HashSet<AttachmentId> = own.iter().map(|file| file.attachment_id).collect();
        let mut foreign = Vec::new();
        let mut unknown = HashSet::new();
        for id in ids.into_iter().filter(|id| !own.contains(id)) {
            match viewer.attachment(&site.store, id).await? {
                Some((file, _)) => foreign.push(file),
                None => drop(unknown.insert(id)),
            }
        }
        for (_, index, field) in self.0.iter().filter(|(id, ..)| unknown.contains(id)) {
            wrong.add(*index, field, "there is no such attachment");
        }
        Ok(Found { foreign })
    }
}

/// Files of other conversations that are wanted in this one.
pub struct Found {
    foreign: Vec<Attachment>,
}

/// Files that are now this conversation's, too, and what they are called here.
pub struct Adopted {
    pub files: Vec<Attachment>,
    pub names: HashMap<AttachmentId, AttachmentId>,
}

impl Found {
    pub async fn adopt(self, site: &Site, scope: &Scope) -> Result<Adopted, Problem> {
        let coming: HashSet<AttachmentId> = self.foreign.iter().map(|file| file.attachment_id).collect();
        let mut files = Vec::new();
        for file in self.foreign {
            // What it would be made from stays behind, so it must be made before.
            let alone = !file.is_printed() && !file.parents.iter().all(|parent| coming.contains(parent));
            files.push(if alone { site.prints.printed(&file).await? } else { file });
        }
        let before: Vec<AttachmentId> = files.iter().map(|file| file.attachment_id).collect();
        let mut files = site.attachments.adopt(scope, files).await?;
        let names: HashMap<_, _> =
            before.into_iter().zip(files.iter().map(|file| file.attachment_id)).collect();
        for file in &mut files {
            file.parents = file.parents.iter().filter_map(|parent| names.get(parent).copied()).collect();
            file.recipe = file.recipe.take().map(|recipe| renamed(recipe, &names));
        }
        Ok(Adopted { files, names })
    }
}

/// How it was made, with what it was made from called by its new name.
pub fn renamed(recipe: Recipe, names: &HashMap<AttachmentId, AttachmentId>) -> Recipe {
    let text = rename(&recipe.arguments.to_string(), names);
    Recipe { arguments: serde_json::from_str(&text).unwrap_or(recipe.arguments), tool: recipe.tool }
}

/// The same text with files called by their new ids: in markers, in the arguments of calls, in what tools told.
pub fn rename(text: &str, names: &HashMap<AttachmentId, AttachmentId>) -> String {
    const LENGTH: usize = 36;
    if names.is_empty() || text.len() < LENGTH {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // Every id has its first hyphen after eight digits.
    while let Some(hyphen) = rest.find('-') {
        let found = hyphen.checked_sub(8).and_then(|start| {
            let id: AttachmentId = rest.get(start..start + LENGTH)?.parse().ok()?;
            Some((start, names.get(&id)?))
        });
        match found {
            Some((start, name)) => {
                out.push_str(&rest[..start]);
                out.push_str(&name.to_string());
                rest = &rest[start + LENGTH..];
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
    fn files_are_called_by_their_new_names_wherever_they_are_named() {
        let (a, b, new) = (AttachmentId::new(), AttachmentId::new(), AttachmentId::new());
        let names = HashMap::from([(a, new)]);
        let text =
            format!("über-all: [Attachment ID: {a}]\n{b} {{\"images\":[\"{a}\",\"{b}\"]}} 1234567-{a}-é");
        let renamed = text.replace(&a.to_string(), &new.to_string());
        assert_eq!(rename(&text, &names), renamed);
        assert_eq!(rename(&format!("{a}{a}"), &names), format!("{new}{new}"));
    }
}
