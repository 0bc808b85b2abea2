//! How fast we may send: token buckets per chat, per group and overall. Pure; the sender waits.

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
        Self {
            capacity,
            per_second,
            tokens: capacity,
            at: now,
        }
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

pub struct Pacer {
    rules: Pacing,
    overall: Bucket,
    chats: HashMap<String, Vec<Bucket>>,
}

impl Pacer {
    pub fn new(rules: Pacing, now: Instant) -> Self {
        let rate = rules.overall_per_second;
        Self {
            rules,
            overall: Bucket::new(rate, rate, now),
            chats: HashMap::new(),
        }
    }

    /// Books `items` messages to a chat and says how long to wait before they may leave.
    pub fn book(&mut self, chat_id: &str, items: i64, now: Instant) -> Duration {
        let items = items as f64;
        self.chats.retain(|_, buckets| {
            buckets
                .iter()
                .any(|b| now.saturating_duration_since(b.at) < FORGET_AFTER)
        });
        let rules = self.rules;
        let chat = self.chats.entry(chat_id.to_owned()).or_insert_with(|| {
            let mut buckets = vec![Bucket::new(
                f64::from(rules.per_chat_burst),
                rules.per_chat_per_second,
                now,
            )];
            if is_group(chat_id) {
                buckets.push(Bucket::new(
                    rules.group_per_minute,
                    rules.group_per_minute / 60.0,
                    now,
                ));
            }
            buckets
        });
        let mut wait = Duration::ZERO;
        for bucket in chat.iter_mut().chain([&mut self.overall]) {
            bucket.refill(now);
            wait = wait.max(bucket.wait(items));
        }
        for bucket in chat.iter_mut().chain([&mut self.overall]) {
            bucket.tokens -= items;
        }
        wait
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
        let mut pacer = Pacer::new(rules(), now);
        let waits: Vec<u64> = (0..8).map(|_| pacer.book("1", 1, now).as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 0, 0, 1, 2, 3]);
        assert_eq!(
            pacer.book("2", 1, now),
            Duration::ZERO,
            "another chat does not wait"
        );
    }

    #[test]
    fn an_album_counts_each_item() {
        let now = Instant::now();
        let mut pacer = Pacer::new(rules(), now);
        assert_eq!(pacer.book("1", 10, now), Duration::ZERO);
        assert_eq!(pacer.book("1", 1, now).as_secs(), 6);
    }

    #[test]
    fn a_group_gets_twenty_a_minute() {
        let start = Instant::now();
        let mut pacer = Pacer::new(
            Pacing {
                per_chat_per_second: 100.0,
                ..rules()
            },
            start,
        );
        let sent = (0..600u64)
            .filter(|tenth| pacer_lets(&mut pacer, start + Duration::from_millis(tenth * 100)))
            .count();
        assert!(
            (38..=41).contains(&sent),
            "a full bucket and a minute's refill, got {sent}"
        );
    }

    fn pacer_lets(pacer: &mut Pacer, now: Instant) -> bool {
        let mut probe = Pacer {
            rules: pacer.rules,
            overall: pacer.overall.clone(),
            chats: pacer.chats.clone(),
        };
        let free = probe.book("-5", 1, now) == Duration::ZERO;
        if free {
            *pacer = probe;
        }
        free
    }

    #[test]
    fn all_chats_together_stay_under_the_overall_rate() {
        let now = Instant::now();
        let mut pacer = Pacer::new(rules(), now);
        let late = (0..60)
            .filter(|chat| pacer.book(&chat.to_string(), 1, now) > Duration::ZERO)
            .count();
        assert_eq!(late, 30);
    }
}
