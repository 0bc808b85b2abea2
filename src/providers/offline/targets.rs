//! Which files a request is about: those sent with it, those replied to, or the newest ones.

use crate::domain::{Attachment, AttachmentId, AttachmentSource};
use crate::providers::Focus;
use chrono::TimeDelta;
use std::collections::HashSet;

/// Files that came within this time of each other were sent together, as far as we can know.
const TOGETHER: TimeDelta = TimeDelta::seconds(60);

/// How the words choose among several.
#[derive(Debug, Clone, PartialEq)]
pub enum Pick {
    All,
    Them,
    Others,
    /// All but these, counted from one.
    Except(Vec<i32>),
    /// From one; negative counts from the end.
    Nth(Vec<i32>),
    First(i32),
    Last(i32),
}

/// What a request can work with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    Pictures,
    Anything,
    /// Files that may hold text: all but pictures.
    Text,
}

#[derive(Debug, Clone, PartialEq)]
pub enum NoTarget {
    Nothing,
    /// There are files, but none of the wanted kind.
    WrongKind(Vec<Attachment>),
    OutOfRange {
        asked: i32,
        have: usize,
    },
    NoOthers,
    /// One picture is not enough for this.
    TooFew,
    /// It takes two.
    TooMany {
        have: usize,
    },
    /// Nothing here was edited yet, so there is nothing to do again.
    NeverEdited,
    /// The same, but to which?
    SameToWhich,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    pub ids: Vec<AttachmentId>,
    /// Files passed over because they are no pictures.
    pub skipped: usize,
}

pub fn choose(focus: &Focus, pick: Option<&Pick>, wants: Wants) -> Result<Chosen, NoTarget> {
    let usable = |files: &[Attachment]| -> Vec<Attachment> {
        let fits = |file: &&Attachment| match wants {
            Wants::Pictures => file.is_image(),
            Wants::Text => !file.is_image(),
            Wants::Anything => true,
        };
        files.iter().filter(fits).cloned().collect()
    };
    let skipped = |files: &[Attachment], chosen: Vec<Attachment>| {
        let skipped = if wants == Wants::Pictures { files.len() - usable(files).len() } else { 0 };
        Chosen { ids: chosen.iter().map(|file| file.attachment_id).collect(), skipped }
    };
    let (sent, replied) = (usable(&focus.sent), usable(&focus.replied));
    if !sent.is_empty() {
        return picked(&sent, &sent, pick).map(|chosen| skipped(&focus.sent, chosen));
    }
    if !replied.is_empty() {
        let album = usable(&focus.album);
        let around = if album.is_empty() { &replied } else { &album };
        return picked(around, &replied, pick).map(|chosen| skipped(&focus.replied, chosen));
    }
    let pointed_at: Vec<Attachment> = focus.sent.iter().chain(&focus.replied).cloned().collect();
    if !pointed_at.is_empty() {
        return Err(NoTarget::WrongKind(pointed_at));
    }
    let recent = usable(&focus.recent);
    let Some(newest) = recent.first() else {
        return Err(match focus.recent.first() {
            Some(other) => NoTarget::WrongKind(vec![other.clone()]),
            None => NoTarget::Nothing,
        });
    };
    let mut answer = Err(NoTarget::Nothing);
    for group in groups(&recent) {
        answer = picked(&group, std::slice::from_ref(newest), pick);
        if answer.is_ok() {
            break;
        }
    }
    answer.map(|chosen| skipped(&[], chosen))
}

pub fn pictures(files: &[Attachment]) -> Vec<Attachment> {
    files.iter().filter(|file| file.is_image()).cloned().collect()
}

/// What an edited picture was made from in the first place, as far as it is known here.
pub fn origin(focus: &Focus, file: &Attachment) -> Option<AttachmentId> {
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

/// The pictures a person sent together with this one, in order; if it came alone, all that people sent here.
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
    let came = by_people.iter().find(|file| file.attachment_id == first).map(|file| file.created_at);
    let near = |file: &&Attachment| came.is_none_or(|came| (file.created_at - came).abs() <= TOGETHER);
    let together: Vec<Attachment> = by_people.iter().filter(near).cloned().collect();
    if together.len() > 1 { together } else { by_people }
}

/// The newest pictures that came together, the newest that a person sent together.
pub fn newest_groups(recent: &[Attachment]) -> Vec<Vec<Attachment>> {
    if recent.is_empty() {
        return Vec::new();
    }
    let mut groups = groups(recent);
    groups.truncate(2);
    groups
}

/// What "photo 2" may count in when nothing is pointed at, best guess first, each oldest first: the newest
/// files that came together, the newest that a person sent together, all of them.
fn groups(recent: &[Attachment]) -> Vec<Vec<Attachment>> {
    let by_a_person = recent.iter().position(|file| file.source == AttachmentSource::User).unwrap_or(0);
    let mut groups = vec![together(recent), together(&recent[by_a_person..])];
    groups.push(recent.iter().rev().cloned().collect());
    groups
}

fn together(newest_first: &[Attachment]) -> Vec<Attachment> {
    let mut group: Vec<Attachment> = Vec::new();
    for file in newest_first {
        let near = group.last().is_none_or(|last| {
            last.source == file.source && (last.created_at - file.created_at).abs() <= TOGETHER
        });
        if !near {
            break;
        }
        group.push(file.clone());
    }
    // Steps on the way to a result are not what anybody counts.
    let parents: HashSet<AttachmentId> = group.iter().flat_map(|file| file.parents.clone()).collect();
    group.retain(|file| !parents.contains(&file.attachment_id));
    group.reverse();
    group
}

pub fn picked(
    all: &[Attachment],
    by_default: &[Attachment],
    pick: Option<&Pick>,
) -> Result<Vec<Attachment>, NoTarget> {
    let have = all.len();
    let out_of_range = |asked: i32| NoTarget::OutOfRange { asked, have };
    match pick {
        None => Ok(by_default.to_vec()),
        Some(Pick::All | Pick::Them) => Ok(all.to_vec()),
        Some(Pick::Others) => without(all, by_default),
        Some(Pick::Except(unwanted)) => {
            without(all, &picked(all, by_default, Some(&Pick::Nth(unwanted.clone())))?)
        }
        Some(Pick::Nth(wanted)) => {
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
        Some(Pick::First(n)) => all.get(..*n as usize).map(<[_]>::to_vec).ok_or_else(|| out_of_range(*n)),
        Some(Pick::Last(n)) => {
            let from = have.checked_sub(*n as usize).ok_or_else(|| out_of_range(*n))?;
            Ok(all[from..].to_vec())
        }
    }
}

pub fn without(all: &[Attachment], these: &[Attachment]) -> Result<Vec<Attachment>, NoTarget> {
    let these: HashSet<AttachmentId> = these.iter().map(|file| file.attachment_id).collect();
    let others: Vec<Attachment> =
        all.iter().filter(|file| !these.contains(&file.attachment_id)).cloned().collect();
    if others.is_empty() { Err(NoTarget::NoOthers) } else { Ok(others) }
}
