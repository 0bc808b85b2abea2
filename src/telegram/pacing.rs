//! How fast we may send: a token bucket per chat, and what Telegram counts per group and overall. Pure; the
//! sender waits.

use crate::config::Pacing;
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// Buckets that were full for this long are forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(600);

#[derive(Debug, Clone)]
struct Bucket {
    capacity: f64,
    per_second: f64,
    tokens: f64,
    at: Instant,
}

impl Bucket {
    fn new(capacity: f64, per_second: f64, now: Instant) -> Self {
        Self { capacity, per_second, tokens: capacity, at: now }
    }

    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.per_second).min(self.capacity);
        self.at = self.at.max(now);
    }

    /// How long until `items` may go. More than the bucket holds goes once it is full, on credit.
    fn wait(&self, items: f64) -> Duration {
        let missing = items.min(self.capacity) - self.tokens;
        Duration::from_secs_f64((missing / self.per_second).max(0.0))
    }
}

/// At most so many in any span of time: a bucket of that size would let twice as many through at first.
#[derive(Debug, Clone)]
struct Window {
    most: i64,
    span: Duration,
    booked: Vec<(Instant, i64)>,
}

impl Window {
    fn new(rate: f64, span: Duration) -> Self {
        // Less than one in a span is one in a longer span.
        let span = span.div_f64(rate.clamp(0.001, 1.0));
        Self { most: (rate as i64).max(1), span, booked: Vec::new() }
    }

    /// The first moment from `from` on at which `items` may go. More than the window takes goes alone.
    fn earliest(&self, from: Instant, items: i64) -> Instant {
        let later = self.booked.iter().map(|(at, _)| *at + self.span).filter(|at| *at > from);
        let mut moments: Vec<Instant> = later.chain([from]).collect();
        moments.sort();
        moments.into_iter().find(|at| self.fits(*at, items.min(self.most))).unwrap_or(from)
    }

    /// Every span that would hold it ends with it or with something booked for later.
    fn fits(&self, at: Instant, items: i64) -> bool {
        let later = self.booked.iter().map(|(end, _)| *end).filter(|end| *end > at && *end < at + self.span);
        later.chain([at]).all(|end| {
            let within =
                self.booked.iter().filter(|(at, _)| *at <= end && end.duration_since(*at) < self.span);
            within.map(|(_, items)| items).sum::<i64>() + items <= self.most
        })
    }

    fn book(&mut self, at: Instant, items: i64, now: Instant) {
        self.booked.retain(|(at, _)| now.saturating_duration_since(*at) < self.span);
        self.booked.push((at, items.min(self.most)));
    }
}

struct Chat {
    bucket: Bucket,
    /// Groups have a limit of their own.
    group: Option<Window>,
}

pub struct Pacer {
    rules: Pacing,
    overall: Window,
    chats: HashMap<String, Chat>,
}

impl Pacer {
    pub fn new(rules: Pacing) -> Self {
        let overall = Window::new(rules.overall_per_second, Duration::from_secs(1));
        Self { rules, overall, chats: HashMap::new() }
    }

    /// Books `items` messages to a chat and says how long to wait before they may leave.
    pub fn book(&mut self, chat_id: &str, items: i64, now: Instant) -> Duration {
        self.chats.retain(|_, chat| now.saturating_duration_since(chat.bucket.at) < FORGET_AFTER);
        let rules = self.rules;
        let chat = self.chats.entry(chat_id.to_owned()).or_insert_with(|| Chat {
            bucket: Bucket::new(f64::from(rules.per_chat_burst), rules.per_chat_per_second, now),
            group: is_group(chat_id).then(|| Window::new(rules.group_per_minute, Duration::from_secs(60))),
        });
        chat.bucket.refill(now);
        let mut at = now + chat.bucket.wait(items as f64);
        if let Some(group) = &chat.group {
            at = group.earliest(at, items);
        }
        at = self.overall.earliest(at, items);
        chat.bucket.tokens -= items as f64;
        for window in chat.group.iter_mut().chain([&mut self.overall]) {
            window.book(at, items, now);
        }
        at - now
    }
}

/// Telegram gives groups and channels negative ids.
fn is_group(chat_id: &str) -> bool {
    chat_id.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Pacing {
        Pacing {
            per_chat_per_second: 1.0,
            per_chat_burst: 5,
            group_per_minute: 20.0,
            overall_per_second: 30.0,
        }
    }

    #[test]
    fn a_short_burst_goes_at_once_and_then_one_a_second() {
        let now = Instant::now();
        let mut pacer = Pacer::new(rules());
        let waits: Vec<u64> = (0..8).map(|_| pacer.book("1", 1, now).as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 0, 0, 1, 2, 3]);
        assert_eq!(pacer.book("2", 1, now), Duration::ZERO, "another chat does not wait");
    }

    #[test]
    fn an_album_counts_each_item() {
        let now = Instant::now();
        let mut pacer = Pacer::new(rules());
        assert_eq!(pacer.book("1", 10, now), Duration::ZERO);
        assert_eq!(pacer.book("1", 1, now).as_secs(), 6);
    }

    #[test]
    fn a_group_gets_twenty_in_any_minute() {
        let mut now = Instant::now();
        let mut pacer = Pacer::new(Pacing { per_chat_per_second: 100.0, ..rules() });
        let mut sent = Vec::new();
        for items in [3, 1, 10, 1, 2, 5].into_iter().cycle().take(40) {
            now += pacer.book("-5", items, now);
            sent.push((now, items));
            let minute = sent.iter().filter(|(at, _)| now.duration_since(*at) < Duration::from_secs(60));
            assert!(minute.map(|(_, items)| items).sum::<i64>() <= 20);
        }
        let took = now.duration_since(sent[0].0);
        assert!(took < Duration::from_secs(12 * 60), "and no fewer than it may, took {took:?}");
    }

    #[test]
    fn a_chat_that_waits_for_its_turn_does_not_hold_up_the_others() {
        let now = Instant::now();
        let mut pacer = Pacer::new(Pacing { overall_per_second: 2.0, ..rules() });
        for _ in 0..5 {
            pacer.book("1", 10, now);
        }
        let later = now + Duration::from_secs(1);
        assert_eq!(pacer.book("2", 1, later), Duration::ZERO);
    }

    #[test]
    fn less_than_one_a_second_is_possible() {
        let now = Instant::now();
        let mut pacer = Pacer::new(Pacing { overall_per_second: 0.5, ..rules() });
        let waits: Vec<u64> = (0..3).map(|chat| pacer.book(&chat.to_string(), 1, now).as_secs()).collect();
        assert_eq!(waits, [0, 2, 4]);
    }

    #[test]
    fn all_chats_together_stay_under_the_overall_rate() {
        let now = Instant::now();
        let mut pacer = Pacer::new(rules());
        let late = (0..60).filter(|chat| pacer.book(&chat.to_string(), 1, now) > Duration::ZERO).count();
        assert_eq!(late, 30);
    }
}
