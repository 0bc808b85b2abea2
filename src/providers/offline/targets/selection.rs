//! Which files a request is about: the files sent with it, else the files replied to, else the newest ones.

use crate::domain::{Attachment, AttachmentId, AttachmentSource};
use crate::providers::Focus;
use chrono::TimeDelta;
use std::collections::HashSet;

/// Files that arrived within this time of each other count as sent together.
const SENT_TOGETHER_WINDOW: TimeDelta = TimeDelta::seconds(60);

/// How the words select among several files.
#[derive(Debug, Clone, PartialEq)]
pub enum Selection {
    All,
    Them,
    Others,
    /// All but these, counted from 1.
    Except(Vec<i32>),
    /// Counted from 1; negative numbers count from the end.
    Nth(Vec<i32>),
    First(i32),
    Last(i32),
}

/// The kind of file a request works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    Pictures,
    Anything,
    /// Files that may hold text: every file but pictures.
    Text,
}

/// Why a request has no files to work on.
#[derive(Debug, Clone, PartialEq)]
pub enum TargetError {
    Nothing,
    /// There are files, but none of the wanted kind.
    WrongKind(Vec<Attachment>),
    OutOfRange {
        asked: i32,
        have: usize,
    },
    NoOthers,
    /// Fewer than two pictures.
    TooFew,
    /// More than two pictures, where exactly two are needed.
    TooMany {
        have: usize,
    },
    /// "do the same", but no picture was edited yet.
    NeverEdited,
    /// "do the same", but it is unclear to which pictures.
    RepeatOnWhich,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChosenTargets {
    pub ids: Vec<AttachmentId>,
    /// How many files were left out because they are no pictures.
    pub skipped: usize,
}

pub fn choose(
    focus: &Focus,
    selection: Option<&Selection>,
    wanted: TargetKind,
) -> Result<ChosenTargets, TargetError> {
    let usable = |files: &[Attachment]| -> Vec<Attachment> {
        let fits = |file: &&Attachment| match wanted {
            TargetKind::Pictures => file.is_image(),
            TargetKind::Text => !file.is_image(),
            TargetKind::Anything => true,
        };
        files.iter().filter(fits).cloned().collect()
    };
    let counting_skipped = |files: &[Attachment], chosen: Vec<Attachment>| {
        let skipped = if wanted == TargetKind::Pictures { files.len() - usable(files).len() } else { 0 };
        ChosenTargets { ids: chosen.iter().map(|file| file.attachment_id).collect(), skipped }
    };
    let (sent, replied) = (usable(&focus.sent), usable(&focus.replied));
    if !sent.is_empty() {
        return select(&sent, &sent, selection).map(|chosen| counting_skipped(&focus.sent, chosen));
    }
    if !replied.is_empty() {
        let album = usable(&focus.album);
        let around = if album.is_empty() { &replied } else { &album };
        return select(around, &replied, selection).map(|chosen| counting_skipped(&focus.replied, chosen));
    }
    let referenced: Vec<Attachment> = focus.sent.iter().chain(&focus.replied).cloned().collect();
    if !referenced.is_empty() {
        return Err(TargetError::WrongKind(referenced));
    }
    let recent = usable(&focus.recent);
    let Some(newest) = recent.first() else {
        return Err(match focus.recent.first() {
            Some(other) => TargetError::WrongKind(vec![other.clone()]),
            None => TargetError::Nothing,
        });
    };
    let mut answer = Err(TargetError::Nothing);
    for group in candidate_groups(&recent) {
        answer = select(&group, std::slice::from_ref(newest), selection);
        if answer.is_ok() {
            break;
        }
    }
    answer.map(|chosen| counting_skipped(&[], chosen))
}

pub fn only_pictures(files: &[Attachment]) -> Vec<Attachment> {
    files.iter().filter(|file| file.is_image()).cloned().collect()
}

/// The first ancestor of an edited picture among the known files.
pub fn original_of(focus: &Focus, file: &Attachment) -> Option<AttachmentId> {
    let known = [&focus.sent, &focus.replied, &focus.album, &focus.recent];
    let mut first = None;
    let mut parents = file.parents.clone();
    let mut seen = HashSet::from([file.attachment_id]);
    while let [parent] = parents.as_slice()
        && seen.insert(*parent)
    {
        first = Some(*parent);
        let found = known.into_iter().flatten().find(|file| file.attachment_id == *parent);
        parents = found.map(|file| file.parents.clone()).unwrap_or_default();
    }
    first
}

/// The pictures a person sent together with this one, oldest first; if it arrived alone, all that people sent.
pub fn sent_with(recent: &[Attachment], replied: &[Attachment], first: AttachmentId) -> Vec<Attachment> {
    let mut by_people: Vec<Attachment> = recent
        .iter()
        .rev()
        .chain(replied)
        .filter(|file| file.source == AttachmentSource::User)
        .cloned()
        .collect();
    let mut seen = HashSet::new();
    by_people.retain(|file| seen.insert(file.attachment_id));
    let arrived = by_people.iter().find(|file| file.attachment_id == first).map(|file| file.created_at);
    let near = |file: &&Attachment| {
        arrived.is_none_or(|arrived| (file.created_at - arrived).abs() <= SENT_TOGETHER_WINDOW)
    };
    let together: Vec<Attachment> = by_people.iter().filter(near).cloned().collect();
    if together.len() > 1 { together } else { by_people }
}

/// The newest files that arrived together, then the newest that a person sent together.
pub fn newest_groups(recent: &[Attachment]) -> Vec<Vec<Attachment>> {
    if recent.is_empty() {
        return Vec::new();
    }
    let mut groups = candidate_groups(recent);
    groups.truncate(2);
    groups
}

/// The groups "photo 2" may count in when the person points at no file, best guess first, each oldest first: the
/// newest files that arrived together, the newest that a person sent together, all files.
fn candidate_groups(recent: &[Attachment]) -> Vec<Vec<Attachment>> {
    let by_a_person = recent.iter().position(|file| file.source == AttachmentSource::User).unwrap_or(0);
    let mut groups = vec![newest_group(recent), newest_group(&recent[by_a_person..])];
    groups.push(recent.iter().rev().cloned().collect());
    groups
}

fn newest_group(newest_first: &[Attachment]) -> Vec<Attachment> {
    let mut group: Vec<Attachment> = Vec::new();
    for file in newest_first {
        let near = group.last().is_none_or(|last| {
            last.source == file.source && (last.created_at - file.created_at).abs() <= SENT_TOGETHER_WINDOW
        });
        if !near {
            break;
        }
        group.push(file.clone());
    }
    // Intermediate results are not counted.
    let parents: HashSet<AttachmentId> = group.iter().flat_map(|file| file.parents.clone()).collect();
    group.retain(|file| !parents.contains(&file.attachment_id));
    group.reverse();
    group
}

/// Selects from `all`; without a selection, the default.
pub fn select(
    all: &[Attachment],
    by_default: &[Attachment],
    selection: Option<&Selection>,
) -> Result<Vec<Attachment>, TargetError> {
    let have = all.len();
    let out_of_range = |asked: i32| TargetError::OutOfRange { asked, have };
    match selection {
        None => Ok(by_default.to_vec()),
        Some(Selection::All | Selection::Them) => Ok(all.to_vec()),
        Some(Selection::Others) => without(all, by_default),
        Some(Selection::Except(unwanted)) => {
            without(all, &select(all, by_default, Some(&Selection::Nth(unwanted.clone())))?)
        }
        Some(Selection::Nth(wanted)) => {
            let mut chosen: Vec<Attachment> = Vec::new();
            for n in wanted {
                let from_end = |n: i32| have.checked_sub(n.unsigned_abs() as usize);
                let index = if *n < 0 { from_end(*n) } else { (*n as usize).checked_sub(1) };
                let file = index.and_then(|index| all.get(index)).ok_or_else(|| out_of_range(*n))?;
                if !chosen.contains(file) {
                    chosen.push(file.clone());
                }
            }
            Ok(chosen)
        }
        Some(Selection::First(n)) => {
            all.get(..*n as usize).map(<[_]>::to_vec).ok_or_else(|| out_of_range(*n))
        }
        Some(Selection::Last(n)) => {
            let from = have.checked_sub(*n as usize).ok_or_else(|| out_of_range(*n))?;
            Ok(all[from..].to_vec())
        }
    }
}

/// All files but these.
pub fn without(all: &[Attachment], these: &[Attachment]) -> Result<Vec<Attachment>, TargetError> {
    let these: HashSet<AttachmentId> = these.iter().map(|file| file.attachment_id).collect();
    let others: Vec<Attachment> =
        all.iter().filter(|file| !these.contains(&file.attachment_id)).cloned().collect();
    if others.is_empty() { Err(TargetError::NoOthers) } else { Ok(others) }
}
