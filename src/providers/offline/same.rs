//! "Do the same to the others": the picture whose edits are repeated, and the pictures they are repeated on.

use super::targets::{NoTarget, Pick, origin, picked, pictures, sent_with, without};
use crate::domain::{Attachment, AttachmentId, AttachmentSource};
use crate::providers::Focus;

#[derive(Debug, Clone, PartialEq)]
pub struct Same {
    pub from: AttachmentId,
    pub images: Vec<AttachmentId>,
}

/// `made` is what this very request has edited so far: first its origin, then what became of it.
pub fn same(
    focus: &Focus,
    pick: Option<&Pick>,
    made: Option<(AttachmentId, AttachmentId)>,
) -> Result<Same, NoTarget> {
    let (sent, replied) = (pictures(&focus.sent), pictures(&focus.replied));
    let recent = pictures(&focus.recent);
    let album = pictures(&focus.album);
    let origin_of = |file: &Attachment| origin(focus, file);
    let pointed = replied.iter().find(|file| is_edit(file));
    let of_replied = |file: &&Attachment| {
        let origin = origin_of(file);
        replied.iter().any(|replied| Some(replied.attachment_id) == origin)
    };
    let edits = || recent.iter().filter(|file| is_edit(file));
    // "do the same here" means what was done elsewhere, "do the same to the others" what was done here.
    let meant = match pick {
        None => edits().find(|file| !of_replied(file)),
        Some(_) => edits().find(of_replied),
    };
    let edited = pointed.or(meant).or_else(|| edits().next());
    let (first, from) = match (made, edited) {
        (Some(made), _) => made,
        (None, Some(edited)) => (origin_of(edited).unwrap_or(edited.attachment_id), edited.attachment_id),
        (None, None) => return Err(NoTarget::NeverEdited),
    };
    let (all, default) = match () {
        () if !sent.is_empty() => (sent.clone(), sent.clone()),
        () if !replied.is_empty() && pointed.is_none() => {
            (if album.is_empty() { replied.clone() } else { album }, replied.clone())
        }
        () => (sent_with(&recent, &replied, first), Vec::new()),
    };
    let is_first = |file: &Attachment| file.attachment_id == first || file.attachment_id == from;
    let model: Vec<Attachment> = all.iter().filter(|file| is_first(file)).cloned().collect();
    let images = match pick {
        Some(Pick::Nth(_) | Pick::First(_) | Pick::Last(_) | Pick::Except(_)) => {
            picked(&all, &default, pick)?
        }
        Some(Pick::Others) if model.is_empty() => picked(&all, &default, pick)?,
        None if !default.is_empty() => without(&default, &model)?,
        None if made.is_none() => return Err(NoTarget::SameToWhich),
        None | Some(Pick::All | Pick::Them | Pick::Others) => without(&all, &model)?,
    };
    Ok(Same { from, images: images.iter().map(|file| file.attachment_id).collect() })
}

/// Made from one picture; what was made of several cannot be done again to one.
fn is_edit(file: &Attachment) -> bool {
    file.source == AttachmentSource::Tool && file.parents.len() == 1
}
