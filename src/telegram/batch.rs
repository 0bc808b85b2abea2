//! When is a batch complete? Albums and bursts of one sender are judged by arrival times in the database, and
//! only while we know of nothing that Telegram still holds for us.

use super::{Telegram, filing};
use crate::{config::BatchSettings, store::WaitingGroup};
use chrono::{DateTime, TimeDelta, Utc};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::watch, task::JoinSet};
use tracing::error;

/// When a group may be filed: after a quiet time since its last message, or when its first has waited enough.
pub fn due_at(group: &WaitingGroup, timing: &BatchSettings) -> DateTime<Utc> {
    let quiet = if group.has_album { timing.album_quiet() } else { timing.quiet() };
    let delta = |d: Duration| TimeDelta::from_std(d).unwrap_or(TimeDelta::MAX);
    (group.last_arrival + delta(quiet)).min(group.first_arrival + delta(timing.max_wait()))
}

/// How soon to look again for updates that are just being handled.
const MOMENT: Duration = Duration::from_millis(20);

/// A conversation whose turn runs keeps its messages for the next turn, except photos of an album whose turn
/// has not started.
fn must_wait(group: &WaitingGroup) -> bool {
    group.busy && !group.joins_pending
}

/// Conversations being filed right now; leaving gives the place back.
#[derive(Clone, Default)]
struct Filing(Arc<Mutex<HashSet<String>>>);

struct Place {
    filing: Filing,
    conversation_id: String,
}

impl Filing {
    fn enter(&self, conversation_id: &str) -> Option<Place> {
        let mut busy = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        busy.insert(conversation_id.to_owned())
            .then(|| Place { filing: self.clone(), conversation_id: conversation_id.to_owned() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.filing.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.conversation_id);
    }
}

/// Files batches as they become complete, until cancelled.
pub async fn run(telegram: Arc<Telegram>, mut caught_up: watch::Receiver<bool>) {
    let filing = Filing::default();
    // In a set of their own, so that dropping us drops them.
    let mut work = JoinSet::new();
    let mut turns = telegram.turns.events();
    loop {
        if caught_up.wait_for(|caught_up| *caught_up).await.is_err() {
            return;
        }
        let pause = match telegram.store.waiting_groups().await {
            Ok(groups) => file_what_is_due(&telegram, &filing, &mut work, &groups),
            Err(error) => {
                error!(%error, "the waiting messages cannot be read");
                Duration::from_secs(1)
            }
        };
        while work.try_join_next().is_some() {}
        tokio::select! {
            () = telegram.batch_wake.notified() => {}
            // A turn that ended frees its conversation; a lagging receiver must look, too.
            _ = turns.recv() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Starts what is due and says how long until the next could be.
fn file_what_is_due(
    telegram: &Arc<Telegram>,
    filing: &Filing,
    work: &mut JoinSet<()>,
    groups: &[WaitingGroup],
) -> Duration {
    let now = Utc::now();
    let mut pause = Duration::from_secs(5);
    for group in groups.iter().filter(|group| !must_wait(group)) {
        if group.more_may_come {
            pause = pause.min(MOMENT);
            continue;
        }
        let left = due_at(group, &telegram.timing) - now;
        if left > TimeDelta::zero() {
            pause = pause.min(left.to_std().unwrap_or_default() + Duration::from_millis(1));
            continue;
        }
        let Some(place) = filing.enter(&group.conversation_id) else {
            continue;
        };
        let (telegram, group) = (telegram.clone(), group.clone());
        work.spawn(async move {
            filing::file_batch(&telegram, &group.conversation_id, &group.sender_id).await;
            drop(place);
            telegram.batch_wake.notify_one();
        });
    }
    pause
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(first_ms: i64, last_ms: i64, has_album: bool) -> WaitingGroup {
        let at = |ms| DateTime::<Utc>::from_timestamp_millis(ms).unwrap();
        WaitingGroup {
            conversation_id: "1".into(),
            sender_id: "2".into(),
            first_arrival: at(first_ms),
            last_arrival: at(last_ms),
            has_album,
            busy: false,
            joins_pending: false,
            more_may_come: false,
        }
    }

    const TIMING: BatchSettings = BatchSettings { quiet_ms: 300, album_quiet_ms: 1000, max_wait_ms: 10_000 };

    #[test]
    fn a_batch_is_complete_after_its_quiet_time_and_never_waits_longer_than_the_most() {
        let due = |group: &WaitingGroup| due_at(group, &TIMING).timestamp_millis();
        assert_eq!(due(&group(0, 0, false)), 300);
        assert_eq!(due(&group(0, 500, false)), 800);
        assert_eq!(due(&group(0, 500, true)), 1500);
        assert_eq!(due(&group(0, 9_900, true)), 10_000);
    }

    #[test]
    fn messages_wait_while_a_turn_runs_unless_they_complete_an_album_that_has_not_started() {
        let busy = WaitingGroup { busy: true, ..group(0, 0, true) };
        assert!(must_wait(&busy));
        assert!(!must_wait(&WaitingGroup { joins_pending: true, ..busy }));
    }
}
