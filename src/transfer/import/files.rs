//! Files that an imported history names. Files of its own conversation are used as they are; files of other
//! conversations that the sender may see are copied; any other file is an error at the field that names it.

use super::{
    error::{EntryErrors, ImportError},
    ids::replace_in_recipe,
    limits::MAX_FILES,
    plan::HistoryPlan,
};
use crate::{
    access::{Scope, Viewer},
    domain::{Attachment, AttachmentId, ReferenceTarget},
    rendering::Renderer,
    store::Store,
};
use std::collections::{HashMap, HashSet};

/// A field of an entry that names a file.
struct FileUse {
    file: AttachmentId,
    index: usize,
    field: String,
}

pub struct FileUses(Vec<FileUse>);

impl FileUses {
    pub fn of(plan: &HistoryPlan<'_>) -> Self {
        let mut uses = Vec::new();
        for row in &plan.rows {
            for entry in &row.entries {
                let mut add = |file, field| uses.push(FileUse { file, index: entry.index, field });
                for (position, id) in entry.attachments.iter().flatten().enumerate() {
                    add(*id, format!("attachments[{position}]"));
                }
                for (position, reference) in entry.refs.iter().flatten().enumerate() {
                    if let ReferenceTarget::Attachment(id) = reference.target() {
                        add(id, format!("refs[{position}].url"));
                    }
                }
                let before = row.stored.and_then(|row| row.reply.as_ref()).and_then(|reply| reply.attachment);
                let replied = entry.reply.iter().flatten().find_map(|reply| reply.attachment);
                // A stored reply may point at a file that was deleted since.
                if let Some(id) = replied.filter(|id| before != Some(*id)) {
                    add(id, "replyTo.attachmentId".to_owned());
                }
            }
        }
        Self(uses)
    }

    /// Finds the files of other conversations; a file that the viewer cannot see is an error. `new_files` are those that
    /// come with the history.
    pub async fn find_foreign(
        &self,
        store: &Store,
        viewer: &Viewer,
        scope: &Scope,
        new_files: &[Attachment],
        errors: &mut EntryErrors,
    ) -> Result<ForeignFiles, ImportError> {
        if self.0.len() > MAX_FILES {
            let detail = format!("all entries together must name at most {MAX_FILES} files");
            errors.add(self.0[MAX_FILES].index, self.0[MAX_FILES].field.clone(), detail);
            return Ok(ForeignFiles(Vec::new()));
        }
        let mut seen: HashSet<AttachmentId> = new_files.iter().map(|file| file.attachment_id).collect();
        let ids: Vec<AttachmentId> =
            self.0.iter().map(|used| used.file).filter(|id| seen.insert(*id)).collect();
        let own = store.attachments(scope.conversation(), &ids).await?;
        let own: HashSet<AttachmentId> = own.iter().map(|file| file.attachment_id).collect();
        let mut foreign = Vec::new();
        let mut unknown = HashSet::new();
        for id in ids.into_iter().filter(|id| !own.contains(id)) {
            match viewer.attachment(store, id).await? {
                Some((file, _)) => foreign.push(file),
                None => drop(unknown.insert(id)),
            }
        }
        for used in self.0.iter().filter(|used| unknown.contains(&used.file)) {
            errors.add(used.index, used.field.clone(), "there is no such attachment");
        }
        Ok(ForeignFiles(foreign))
    }
}

/// Files of other conversations that this history uses.
pub struct ForeignFiles(Vec<Attachment>);

/// Copies in this conversation, and their ids by the ids of the originals.
pub struct AdoptedFiles {
    pub files: Vec<Attachment>,
    pub new_ids: HashMap<AttachmentId, AttachmentId>,
}

impl ForeignFiles {
    pub async fn adopt(self, renderer: &Renderer, scope: &Scope) -> Result<AdoptedFiles, ImportError> {
        let coming: HashSet<AttachmentId> = self.0.iter().map(|file| file.attachment_id).collect();
        let mut files = Vec::new();
        for file in self.0 {
            // A recipe whose parents stay behind could not be rendered here: render it now.
            let parents_stay = !file.parents.iter().all(|parent| coming.contains(parent));
            files.push(if !file.is_stored() && parents_stay {
                renderer.ensure_stored(&file).await?
            } else {
                file
            });
        }
        let old_ids: Vec<AttachmentId> = files.iter().map(|file| file.attachment_id).collect();
        let mut files = renderer.attachments.copy_into(scope, files).await?;
        let new_ids: HashMap<_, _> =
            old_ids.into_iter().zip(files.iter().map(|file| file.attachment_id)).collect();
        for file in &mut files {
            file.parents = file.parents.iter().filter_map(|parent| new_ids.get(parent).copied()).collect();
            if let Some(recipe) = file.recipe_mut() {
                *recipe = replace_in_recipe(recipe.clone(), &new_ids);
            }
        }
        Ok(AdoptedFiles { files, new_ids })
    }
}
