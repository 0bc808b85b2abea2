//! When a batch is complete: after a quiet time since its last message, longer for albums. Only arrival times in the
//! database count, so slow networks, downloads and restarts do not split an album.

use crate::{config::BatchSettings, store::WaitingGroup};
use chrono::{DateTime, TimeDelta, Utc};
use std::time::Duration;

/// How soon to look again for updates that are being routed.
const ROUTING_WAIT: Duration = Duration::from_millis(20);

/// Whether a batch can be filed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    Complete,
    /// More messages may come. Look again after this time.
    Incomplete(Duration),
    /// A turn runs in its conversation. The end of the turn wakes the loop.
    Blocked,
}

pub fn readiness(group: &WaitingGroup, settings: &BatchSettings, now: DateTime<Utc>) -> Readiness {
    // Messages that come during a turn wait for the next turn. Photos of an album whose turn has not started join it.
    if group.busy && !group.joins_pending {
        return Readiness::Blocked;
    }
    if group.more_may_come {
        return Readiness::Incomplete(ROUTING_WAIT);
    }
    let left = complete_at(group, settings) - now;
    if left > TimeDelta::zero() {
        return Readiness::Incomplete(left.to_std().unwrap_or_default() + Duration::from_millis(1));
    }
    Readiness::Complete
}

/// The end of the quiet time after the last message, but no later than the longest wait after the first.
pub fn complete_at(group: &WaitingGroup, settings: &BatchSettings) -> DateTime<Utc> {
    let quiet = if group.has_album { settings.album_quiet() } else { settings.quiet() };
    let delta = |d: Duration| TimeDelta::from_std(d).unwrap_or(TimeDelta::MAX);
    (group.last_arrival + delta(quiet)).min(group.first_arrival + delta(settings.max_wait()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: BatchSettings =
        BatchSettings { quiet_ms: 300, album_quiet_ms: 1000, max_wait_ms: 10_000 };

    fn at(ms: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(ms).unwrap()
    }

    fn group(first_ms: i64, last_ms: i64, has_album: bool) -> WaitingGroup {
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

    #[test]
    fn a_batch_is_complete_after_its_quiet_time_or_the_longest_wait() {
        let complete = |group: &WaitingGroup| complete_at(group, &SETTINGS).timestamp_millis();
        assert_eq!(complete(&group(0, 0, false)), 300);
        assert_eq!(complete(&group(0, 500, false)), 800);
        assert_eq!(complete(&group(0, 500, true)), 1500);
        assert_eq!(complete(&group(0, 9_900, true)), 10_000);
    }

    #[test]
    fn a_batch_is_incomplete_until_then_and_while_updates_are_being_routed() {
        let text = group(0, 0, false);
        let wait = Duration::from_millis(201);
        assert_eq!(readiness(&text, &SETTINGS, at(100)), Readiness::Incomplete(wait));
        assert_eq!(readiness(&text, &SETTINGS, at(300)), Readiness::Complete);
        let routing = WaitingGroup { more_may_come: true, ..text };
        assert_eq!(readiness(&routing, &SETTINGS, at(300)), Readiness::Incomplete(ROUTING_WAIT));
    }

    #[test]
    fn a_running_turn_blocks_a_batch_unless_it_belongs_to_an_album_whose_turn_has_not_started() {
        let busy = WaitingGroup { busy: true, ..group(0, 0, true) };
        assert_eq!(readiness(&busy, &SETTINGS, at(2000)), Readiness::Blocked);
        let joins = WaitingGroup { joins_pending: true, ..busy };
        assert_eq!(readiness(&joins, &SETTINGS, at(2000)), Readiness::Complete);
    }
}
