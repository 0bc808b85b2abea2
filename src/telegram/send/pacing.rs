//! Pacing: how long to wait before a send, so that Telegram's limits per chat, per group and overall are kept. Pure: the
//! caller waits.

use crate::config::PacingSettings;
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// The state of a chat without sends for this long is dropped.
const CHAT_RETENTION: Duration = Duration::from_secs(600);

/// Allows `capacity` items at once and `per_second` items in the long run.
#[derive(Debug, Clone)]
struct TokenBucket {
    capacity: f64,
    per_second: f64,
    tokens: f64,
    at: Instant,
}

impl TokenBucket {
    fn new(capacity: f64, per_second: f64, now: Instant) -> Self {
        Self { capacity, per_second, tokens: capacity, at: now }
    }

    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.per_second).min(self.capacity);
        self.at = self.at.max(now);
    }

    /// How long until `items` may be sent. More than the capacity is sent once the bucket is full, and leaves a debt.
    fn wait(&self, items: f64) -> Duration {
        let missing = items.min(self.capacity) - self.tokens;
        Duration::from_secs_f64((missing / self.per_second).max(0.0))
    }
}

/// Allows at most `max_items` in any span of time. A token bucket of that size would allow twice as many at first.
#[derive(Debug, Clone)]
struct SlidingWindow {
    max_items: i64,
    span: Duration,
    booked: Vec<(Instant, i64)>,
}

impl SlidingWindow {
    fn new(rate: f64, span: Duration) -> Self {
        // Less than one item in a span is one item in a longer span.
        let span = span.div_f64(rate.clamp(0.001, 1.0));
        Self { max_items: (rate as i64).max(1), span, booked: Vec::new() }
    }

    /// The first moment from `from` on at which `items` may be sent. More than the window allows are sent alone.
    fn earliest(&self, from: Instant, items: i64) -> Instant {
        let later = self.booked.iter().map(|(at, _)| *at + self.span).filter(|at| *at > from);
        let mut moments: Vec<Instant> = later.chain([from]).collect();
        moments.sort();
        moments.into_iter().find(|at| self.fits(*at, items.min(self.max_items))).unwrap_or(from)
    }

    /// Checks every span that contains `at`. Such a span ends at `at` or at a later booking.
    fn fits(&self, at: Instant, items: i64) -> bool {
        let later = self.booked.iter().map(|(end, _)| *end).filter(|end| *end > at && *end < at + self.span);
        later.chain([at]).all(|end| {
            let within =
                self.booked.iter().filter(|(at, _)| *at <= end && end.duration_since(*at) < self.span);
            within.map(|(_, items)| items).sum::<i64>() + items <= self.max_items
        })
    }

    /// Whether less than half of the window is booked.
    fn is_half_free(&self, now: Instant) -> bool {
        let taken = self.booked.iter().filter(|(at, _)| now.saturating_duration_since(*at) < self.span);
        taken.map(|(_, items)| items).sum::<i64>() < self.max_items / 2
    }

    fn book(&mut self, at: Instant, items: i64, now: Instant) {
        self.booked.retain(|(at, _)| now.saturating_duration_since(*at) < self.span);
        self.booked.push((at, items.min(self.max_items)));
    }
}

struct ChatPace {
    bucket: TokenBucket,
    /// Groups have an additional limit.
    group: Option<SlidingWindow>,
    /// After a 429: nothing is sent before this moment.
    held_until: Option<Instant>,
}

impl ChatPace {
    fn is_held(&self, now: Instant) -> bool {
        self.held_until.is_some_and(|until| until > now)
    }
}

/// The pace of all chats of this process.
pub struct Pacer {
    settings: PacingSettings,
    overall: SlidingWindow,
    chats: HashMap<String, ChatPace>,
}

impl Pacer {
    pub fn new(settings: PacingSettings) -> Self {
        let overall = SlidingWindow::new(settings.overall_per_second, Duration::from_secs(1));
        Self { settings, overall, chats: HashMap::new() }
    }

    /// Books `items` messages to a chat. Returns how long to wait before they may be sent.
    pub fn book(&mut self, chat_id: &str, items: i64, now: Instant) -> Duration {
        let (chat, overall) = self.chat(chat_id, now);
        let mut at = now + chat.bucket.wait(items as f64);
        at = at.max(chat.held_until.unwrap_or(at));
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

    /// Books one optional message, which is sent now or not at all. True only if room for another message is left, so that
    /// required sends never wait for optional ones.
    pub fn try_book(&mut self, chat_id: &str, now: Instant) -> bool {
        let (chat, overall) = self.chat(chat_id, now);
        let room =
            chat.bucket.tokens >= 2.0 && chat.group.iter().chain([&*overall]).all(|w| w.is_half_free(now));
        if chat.is_held(now) || !room {
            return false;
        }
        chat.bucket.tokens -= 1.0;
        for window in chat.group.iter_mut().chain([overall]) {
            window.book(now, 1, now);
        }
        true
    }

    /// After a 429 in this chat: nothing is sent to it before `until`.
    pub fn hold(&mut self, chat_id: &str, until: Instant, now: Instant) {
        let (chat, _) = self.chat(chat_id, now);
        chat.held_until = Some(until.max(chat.held_until.unwrap_or(until)));
    }

    pub fn is_held(&self, chat_id: &str, now: Instant) -> bool {
        self.chats.get(chat_id).is_some_and(|chat| chat.is_held(now))
    }

    /// The state of a chat at `now`, and the window that all chats share.
    fn chat(&mut self, chat_id: &str, now: Instant) -> (&mut ChatPace, &mut SlidingWindow) {
        self.chats.retain(|_, chat| {
            chat.is_held(now) || now.saturating_duration_since(chat.bucket.at) < CHAT_RETENTION
        });
        let settings = self.settings;
        let chat = self.chats.entry(chat_id.to_owned()).or_insert_with(|| ChatPace {
            bucket: TokenBucket::new(f64::from(settings.per_chat_burst), settings.per_chat_per_second, now),
            group: is_group(chat_id)
                .then(|| SlidingWindow::new(settings.group_per_minute, Duration::from_secs(60))),
            held_until: None,
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

    fn settings() -> PacingSettings {
        PacingSettings {
            per_chat_per_second: 1.0,
            per_chat_burst: 5,
            group_per_minute: 20.0,
            overall_per_second: 30.0,
        }
    }

    #[test]
    fn a_short_burst_is_sent_at_once_and_then_one_a_second() {
        let now = Instant::now();
        let mut pacer = Pacer::new(settings());
        let waits: Vec<u64> = (0..8).map(|_| pacer.book("1", 1, now).as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 0, 0, 1, 2, 3]);
        assert_eq!(pacer.book("2", 1, now), Duration::ZERO, "another chat does not wait");
    }

    #[test]
    fn an_album_counts_as_its_items() {
        let now = Instant::now();
        let mut pacer = Pacer::new(settings());
        assert_eq!(pacer.book("1", 10, now), Duration::ZERO);
        assert_eq!(pacer.book("1", 1, now).as_secs(), 6);
    }

    #[test]
    fn a_group_gets_at_most_twenty_items_in_any_minute() {
        let mut now = Instant::now();
        let mut pacer = Pacer::new(PacingSettings { per_chat_per_second: 100.0, ..settings() });
        let mut sent = Vec::new();
        for items in [3, 1, 10, 1, 2, 5].into_iter().cycle().take(40) {
            now += pacer.book("-5", items, now);
            sent.push((now, items));
            let minute = sent.iter().filter(|(at, _)| now.duration_since(*at) < Duration::from_secs(60));
            assert!(minute.map(|(_, items)| items).sum::<i64>() <= 20);
        }
        let took = now.duration_since(sent[0].0);
        assert!(took < Duration::from_secs(12 * 60), "no slower than needed; took {took:?}");
    }

    #[test]
    fn a_waiting_chat_does_not_delay_others() {
        let now = Instant::now();
        let mut pacer = Pacer::new(PacingSettings { overall_per_second: 2.0, ..settings() });
        for _ in 0..5 {
            pacer.book("1", 10, now);
        }
        let later = now + Duration::from_secs(1);
        assert_eq!(pacer.book("2", 1, later), Duration::ZERO);
    }

    #[test]
    fn an_optional_message_is_sent_now_or_not_at_all_and_leaves_room() {
        let now = Instant::now();
        let mut pacer = Pacer::new(settings());
        let booked = (0..10).filter(|_| pacer.try_book("1", now)).count();
        assert_eq!(booked, 4, "of a burst of five");
        assert_eq!(pacer.book("1", 1, now), Duration::ZERO, "a required send does not wait");
        assert!(!pacer.try_book("1", now));
        assert!(pacer.try_book("1", now + Duration::from_secs(2)));
    }

    #[test]
    fn optional_messages_take_at_most_half_of_the_limits() {
        let now = Instant::now();
        let mut pacer = Pacer::new(PacingSettings { per_chat_burst: 100, ..settings() });
        assert_eq!((0..30).filter(|_| pacer.try_book("-5", now)).count(), 10);
        assert_eq!(pacer.book("-5", 10, now), Duration::ZERO, "an album does not wait");
        let mut pacer = Pacer::new(settings());
        assert_eq!((0..60).filter(|chat| pacer.try_book(&chat.to_string(), now)).count(), 15);
    }

    #[test]
    fn a_held_chat_gets_nothing_until_then_and_others_are_not_held() {
        let now = Instant::now();
        let mut pacer = Pacer::new(settings());
        pacer.hold("1", now + Duration::from_secs(30), now);
        pacer.hold("1", now + Duration::from_secs(5), now);
        assert!(!pacer.try_book("1", now + Duration::from_secs(29)));
        assert!(pacer.is_held("1", now) && !pacer.is_held("2", now));
        assert_eq!(pacer.book("1", 1, now).as_secs(), 30);
        assert!(pacer.try_book("2", now));
        assert!(pacer.try_book("1", now + Duration::from_secs(31)));
    }

    #[test]
    fn a_rate_below_one_per_second_works() {
        let now = Instant::now();
        let mut pacer = Pacer::new(PacingSettings { overall_per_second: 0.5, ..settings() });
        let waits: Vec<u64> = (0..3).map(|chat| pacer.book(&chat.to_string(), 1, now).as_secs()).collect();
        assert_eq!(waits, [0, 2, 4]);
    }

    #[test]
    fn all_chats_together_stay_under_the_overall_rate() {
        let now = Instant::now();
        let mut pacer = Pacer::new(settings());
        let late = (0..60).filter(|chat| pacer.book(&chat.to_string(), 1, now) > Duration::ZERO).count();
        assert_eq!(late, 30);
    }
}
