//! The pictures a combination is made of: a collage, an animation, a comparison.

use super::selection::{
    Selection, TargetError, TargetKind, choose, newest_groups, only_pictures, original_of,
};
use crate::domain::{Attachment, AttachmentId, AttachmentSource};
use crate::providers::Focus;

/// How many pictures a combination needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredPictures {
    /// A comparison; the first picture is the earlier one.
    ExactlyTwo,
    TwoOrMore,
}

impl RequiredPictures {
    fn check(self, count: usize) -> Result<(), TargetError> {
        match self {
            _ if count < 2 => Err(TargetError::TooFew),
            Self::ExactlyTwo if count > 2 => Err(TargetError::TooMany { have: count }),
            Self::ExactlyTwo | Self::TwoOrMore => Ok(()),
        }
    }
}

/// The pictures to combine, in order: those sent, else those replied to, else the newest that arrived together.
pub fn find_combine_targets(
    focus: &Focus,
    selection: Option<&Selection>,
    required: RequiredPictures,
) -> Result<Vec<AttachmentId>, TargetError> {
    let whole = matches!(selection, None | Some(Selection::All | Selection::Them));
    if !whole {
        let chosen = choose(focus, selection, TargetKind::Pictures)?.ids;
        required.check(chosen.len())?;
        return Ok(chosen);
    }
    let (sent, replied) = (only_pictures(&focus.sent), only_pictures(&focus.replied));
    let album = only_pictures(&focus.album);
    let around = if album.len() > replied.len() { &album } else { &replied };
    let recent = only_pictures(&focus.recent);
    let mut groups = vec![sent.clone()];
    // "compare this with it"
    groups.push([around.as_slice(), &sent].concat());
    if required == RequiredPictures::ExactlyTwo {
        let edited = sent.is_empty().then(|| replied.first().or(recent.first())).flatten();
        groups.extend(edited.and_then(|edited| with_original(focus, edited)));
    }
    if sent.is_empty() {
        groups.extend(newest_groups(&recent));
        let by_people = recent.iter().rev().filter(|file| file.source == AttachmentSource::User);
        groups.push(by_people.cloned().collect());
    }
    let mut answer = Err(TargetError::TooFew);
    for group in groups {
        match required.check(group.len()) {
            Ok(()) => return Ok(group.iter().map(|file| file.attachment_id).collect()),
            Err(reason @ TargetError::TooMany { .. }) if answer == Err(TargetError::TooFew) => {
                answer = Err(reason)
            }
            Err(_) => {}
        }
    }
    if answer == Err(TargetError::TooFew) && recent.is_empty() && sent.is_empty() && replied.is_empty() {
        return Err(TargetError::Nothing);
    }
    answer
}

/// The original of an edited picture, then the picture.
fn with_original(focus: &Focus, edited: &Attachment) -> Option<Vec<Attachment>> {
    let first = original_of(focus, edited)?;
    let mut before = edited.clone();
    before.attachment_id = first;
    Some(vec![before, edited.clone()])
}
