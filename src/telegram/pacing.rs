//! How fast we may send: a token bucket per chat, and what Telegram counts per group and overall. Pure; the
//! sender waits.

use crate::config::PacingSettings;
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

    /// Whether one more would leave at least half of it for others, now and later.
    fn is_half_free(&self, now: Instant) -> bool {
        let taken = self.booked.iter().filter(|(at, _)| now.saturating_duration_since(*at) < self.span);
        taken.map(|(_, items)| items).sum::<i64>() < self.most / 2
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
    /// Telegram wants to hear nothing before then.
    silent_until: Option<Instant>,
}

impl Chat {
    fn is_silent(&self, now: Instant) -> bool {
        self.silent_until.is_some_and(|until| until > now)
    }
}

pub struct Pacer {
    rules: PacingSettings,
    overall: Window,
    chats: HashMap<String, Chat>,
}

impl Pacer {
    pub fn new(rules: PacingSettings) -> Self {
        let overall = Window::new(rules.overall_per_second, Duration::from_secs(1));
        Self { rules, overall, chats: HashMap::new() }
    }

    /// Books `items` messages to a chat and says how long to wait before they may leave.
    pub fn book(&mut self, chat_id: &str, items: i64, now: Instant) -> Duration {
        let (chat, overall) = self.chat(chat_id, now);
        let mut at = now + chat.bucket.wait(items as f64);
        at = at.max(chat.silent_until.unwrap_or(at));
        if let Some(group) = &chat.group {
            at = group.earliest(at, items);
        }
        at = overall.earliest(at, items);
        chat.bucket.tokens -= items as f64;
        for window in chat.group.iter_mut().chain([overall]) {
            window.book(at, items, now);
        }
        at - now
    }

    /// Books one message that is only a courtesy and leaves at once or not at all: what must be said never waits for
    /// it, so there must be room for another after it.
    pub fn try_book(&mut self, chat_id: &str, now: Instant) -> bool {
        let (chat, overall) = self.chat(chat_id, now);
        let room =
            chat.bucket.tokens >= 2.0 && chat.group.iter().chain([&*overall]).all(|w| w.is_half_free(now));
        if chat.is_silent(now) || !room {
            return false;
        }
        chat.bucket.tokens -= 1.0;
        for window in chat.group.iter_mut().chain([overall]) {
            window.book(now, 1, now);
        }
        true
    }

    /// Telegram was told too much in this chat: nothing leaves for it before then.
    pub fn silence(&mut self, chat_id: &str, until: Instant, now: Instant) {
        let (chat, _) = self.chat(chat_id, now);
        chat.silent_until = Some(until.max(chat.silent_until.unwrap_or(until)));
    }

    pub fn is_silent(&self, chat_id: &str, now: Instant) -> bool {
        self.chats.get(chat_id).is_some_and(|chat| chat.is_silent(now))
    }

    /// A chat as it stands now, and what all chats share.
    fn chat(&mut self, chat_id: &str, now: Instant) -> (&mut Chat, &mut Window) {
        self.chats.retain(|_, chat| {
            chat.is_silent(now) || now.saturating_duration_since(chat.bucket.at) < FORGET_AFTER
        });
        let rules = self.rules;
        let chat = self.chats.entry(chat_id.to_owned()).or_insert_with(|| Chat {
            bucket: Bucket::new(f64::from(rules.per_chat_burst), rules.per_chat_per_second, now),
            group: is_group(chat_id).then(|| Window::new(rules.group_per_minute, Duration::from_secs(60))),
            silent_until: None,
        });
        chat.bucket.refill(now);
        (chat, &mut self.overall)
    }
}

/// Telegram gives groups and channels negative ids.
pub fn is_group(chat_id: &str) -> bool {
    chat_id.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> PacingSettings {
        PacingSettings {
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
        let mut pacer = Pacer::new(PacingSettings { per_chat_per_second: 100.0, ..rules() });
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
        let mut pacer = Pacer::new(PacingSettings { overall_per_second: 2.0, ..rules() });
        for _ in 0..5 {
            pacer.book("1", 10, now);
        }
        let later = now + Duration::from_secs(1);
        assert_eq!(pacer.book("2", 1, later), Duration::ZERO);
    }

    #[test]
    fn a_courtesy_goes_at_once_or_not_at_all_and_leaves_room() {
        let now = Instant::now();
        let mut pacer = Pacer::new(rules());
        let booked = (0..10).filter(|_| pacer.try_book("1", now)).count();
        assert_eq!(booked, 4, "of five that may go at once");
        assert_eq!(pacer.book("1", 1, now), Duration::ZERO, "what must be said goes at once");
        assert!(!pacer.try_book("1", now));
        assert!(pacer.try_book("1", now + Duration::from_secs(2)));
    }

    #[test]
    fn courtesies_take_at_most_half_of_what_a_group_and_all_together_get() {
        let now = Instant::now();
        let mut pacer = Pacer::new(PacingSettings { per_chat_burst: 100, ..rules() });
        assert_eq!((0..30).filter(|_| pacer.try_book("-5", now)).count(), 10);
        assert_eq!(pacer.book("-5", 10, now), Duration::ZERO, "an album still goes at once");
        let mut pacer = Pacer::new(rules());
        assert_eq!((0..60).filter(|chat| pacer.try_book(&chat.to_string(), now)).count(), 15);
    }

    #[test]
    fn a_silenced_chat_gets_nothing_until_it_is_over_and_the_others_do_not_mind() {
        let now = Instant::now();
        let mut pacer = Pacer::new(rules());
        pacer.silence("1", now + Duration::from_secs(30), now);
        pacer.silence("1", now + Duration::from_secs(5), now);
        assert!(!pacer.try_book("1", now + Duration::from_secs(29)));
        assert!(pacer.is_silent("1", now) && !pacer.is_silent("2", now));
        assert_eq!(pacer.book("1", 1, now).as_secs(), 30);
        assert!(pacer.try_book("2", now));
        assert!(pacer.try_book("1", now + Duration::from_secs(31)));
    }

    #[test]
    fn less_than_one_a_second_is_possible() {
        let now = Instant::now();
        let mut pacer = Pacer::new(PacingSettings { overall_per_second: 0.5, ..rules() });
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
