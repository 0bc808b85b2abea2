//! "Do the same to the others": the picture whose edits are repeated, and the pictures to repeat them on.

use super::selection::{Selection, TargetError, only_pictures, original_of, select, sent_with, without};
use crate::domain::{Attachment, AttachmentId, AttachmentSource};
use crate::providers::Focus;

#[derive(Debug, Clone, PartialEq)]
pub struct RepeatTargets {
    /// The picture whose edits are repeated.
    pub edited: AttachmentId,
    pub images: Vec<AttachmentId>,
}

/// `made` is the last picture this request edited: its version at the start of the turn, then its version now.
pub fn find_repeat_targets(
    focus: &Focus,
    selection: Option<&Selection>,
    made: Option<(AttachmentId, AttachmentId)>,
) -> Result<RepeatTargets, TargetError> {
    let (sent, replied) = (only_pictures(&focus.sent), only_pictures(&focus.replied));
    let recent = only_pictures(&focus.recent);
    let album = only_pictures(&focus.album);
    let origin_of = |file: &Attachment| original_of(focus, file);
    let replied_edit = replied.iter().find(|file| is_edit(file));
    let of_replied = |file: &&Attachment| {
        let origin = origin_of(file);
        replied.iter().any(|replied| Some(replied.attachment_id) == origin)
    };
    let edits = || recent.iter().filter(|file| is_edit(file));
    // "do the same here" repeats an edit of another picture, "do the same to the others" an edit of this one.
    let meant = match selection {
        None => edits().find(|file| !of_replied(file)),
        Some(_) => edits().find(of_replied),
    };
    let edited = replied_edit.or(meant).or_else(|| edits().next());
    let (first, from) = match (made, edited) {
        (Some(made), _) => made,
        (None, Some(edited)) => (origin_of(edited).unwrap_or(edited.attachment_id), edited.attachment_id),
        (None, None) => return Err(TargetError::NeverEdited),
    };
    let (all, default) = match () {
        () if !sent.is_empty() => (sent.clone(), sent.clone()),
        () if !replied.is_empty() && replied_edit.is_none() => {
            (if album.is_empty() { replied.clone() } else { album }, replied.clone())
        }
        () => (sent_with(&recent, &replied, first), Vec::new()),
    };
    let is_first = |file: &Attachment| file.attachment_id == first || file.attachment_id == from;
    let model: Vec<Attachment> = all.iter().filter(|file| is_first(file)).cloned().collect();
    let images = match selection {
        Some(Selection::Nth(_) | Selection::First(_) | Selection::Last(_) | Selection::Except(_)) => {
            select(&all, &default, selection)?
        }
        Some(Selection::Others) if model.is_empty() => select(&all, &default, selection)?,
        None if !default.is_empty() => without(&default, &model)?,
        None if made.is_none() => return Err(TargetError::RepeatOnWhich),
        None | Some(Selection::All | Selection::Them | Selection::Others) => without(&all, &model)?,
    };
    Ok(RepeatTargets { edited: from, images: images.iter().map(|file| file.attachment_id).collect() })
}

/// Whether the file was made from one picture. A combination of several cannot be repeated on one.
fn is_edit(file: &Attachment) -> bool {
    file.source == AttachmentSource::Tool && file.parents.len() == 1
}
