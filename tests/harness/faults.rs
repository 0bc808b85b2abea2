//! Faults between the bot and Telegram that a test injects, and a check of the bot's send rate.

use super::{gate::Gate, received::Call, state::Shared, state::State};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// A fault for the next request that matches.
pub struct Rule {
    method: String,
    chat_id: Option<i64>,
    times: usize,
    fault: Fault,
}

#[derive(Clone)]
pub enum Fault {
    /// The connection is cut before Telegram acts.
    CutBefore,
    /// Telegram acts, and the connection is cut before the answer.
    CutAfter,
    /// A download is cut after half of its bytes.
    CutHalfway,
    Answer(u16),
    Flood(u64),
    Hold(Gate),
    HoldAnswer(Gate),
}

/// Every method that counts towards the flood limits.
const SENDS: [&str; 4] = ["sendMessage", "sendPhoto", "sendDocument", "sendMediaGroup"];
const ANY_SEND: &str = "any send";

impl State {
    /// Takes the first fault that matches this request.
    pub fn take_fault(&mut self, method: &str, chat_id: Option<i64>) -> Option<Fault> {
        let fits = |rule: &Rule| {
            let method_fits = rule.method == method || (rule.method == ANY_SEND && SENDS.contains(&method));
            method_fits && (rule.chat_id.is_none() || rule.chat_id == chat_id)
        };
        let index = self.rules.iter().position(fits)?;
        let rule = &mut self.rules[index];
        let fault = rule.fault.clone();
        rule.times -= 1;
        if rule.times == 0 {
            self.rules.remove(index);
        }
        Some(fault)
    }
}

/// Builder of a fault for the next request to a method.
#[must_use = "say what shall happen to it"]
pub struct Next<'w> {
    shared: &'w Shared,
    method: String,
    chat_id: Option<i64>,
    times: usize,
}

impl<'w> Next<'w> {
    pub(super) fn new(shared: &'w Shared, method: &str) -> Next<'w> {
        Next { shared, method: method.into(), chat_id: None, times: 1 }
    }

    pub(super) fn any_send(shared: &'w Shared) -> Next<'w> {
        Next::new(shared, ANY_SEND)
    }

    /// Only for requests about this chat.
    pub fn in_chat(mut self, chat_id: i64) -> Self {
        self.chat_id = Some(chat_id);
        self
    }

    /// For the next `times` requests instead of one.
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// The connection is cut and nothing happens.
    pub fn gets_lost(self) {
        self.order(Fault::CutBefore);
    }

    /// Telegram acts, but the connection is cut before the answer: a send with an unknown outcome.
    pub fn loses_its_answer(self) {
        self.order(Fault::CutAfter);
    }

    /// A download is cut after half of the file.
    pub fn breaks_halfway(self) {
        self.order(Fault::CutHalfway);
    }

    /// Nothing happens, and the answer is this status, such as 500 or 502.
    pub fn answers(self, status: u16) {
        self.order(Fault::Answer(status));
    }

    /// Nothing happens, and the answer is a 429.
    pub fn meets_flood(self, retry_after: u64) {
        self.order(Fault::Flood(retry_after));
    }

    /// Nothing happens until the gate is opened.
    pub fn waits(self) -> Gate {
        let gate = Gate::closed();
        self.order(Fault::Hold(gate.clone()));
        gate
    }

    /// Telegram acts at once, but answers only when the gate is opened.
    pub fn waits_with_its_answer(self) -> Gate {
        let gate = Gate::closed();
        self.order(Fault::HoldAnswer(gate.clone()));
        gate
    }

    fn order(self, fault: Fault) {
        let Next { shared, method, chat_id, times } = self;
        assert!(times > 0, "a fault that happens zero times");
        shared.change(|state| state.rules.push(Rule { method, chat_id, times, fault }));
    }
}

/// Telegram's flood limits. An album counts as one message for the limit per chat and second, and as one per picture for
/// the limits per group and minute and for all chats together.
#[derive(Clone, Copy, Debug)]
pub struct RateLimits {
    pub chat_per_second: usize,
    pub group_per_minute: usize,
    pub overall_per_second: usize,
}

impl Default for RateLimits {
    fn default() -> Self {
        RateLimits { chat_per_second: 1, group_per_minute: 20, overall_per_second: 30 }
    }
}

impl RateLimits {
    /// Describes where the recorded calls broke a limit. Refused sends count too, as they do at Telegram.
    pub(super) fn violations(&self, calls: &[Call]) -> Vec<String> {
        let mut by_chat: BTreeMap<i64, Vec<(Instant, usize)>> = BTreeMap::new();
        let mut overall = Vec::new();
        let counts = |call: &&Call| SENDS.contains(&call.method.as_str()) || call.method == "editMessageText";
        for call in calls.iter().filter(counts) {
            let messages = call.params["media"].as_array().map_or(1, Vec::len);
            overall.push((call.at, messages));
            by_chat.entry(call.chat_id.unwrap_or_default()).or_default().push((call.at, messages));
        }
        let second = Duration::from_millis(950);
        let minute = Duration::from_secs(59);
        let mut found = over("all chats", &overall, second, self.overall_per_second);
        for (chat, sends) in &by_chat {
            let single: Vec<_> = sends.iter().map(|(at, _)| (*at, 1)).collect();
            found.extend(over(&format!("chat {chat}"), &single, second, self.chat_per_second));
            if *chat < 0 {
                found.extend(over(&format!("group {chat}"), sends, minute, self.group_per_minute));
            }
        }
        found
    }
}

/// The windows are a little shorter than Telegram's, because a slow machine delays sends unevenly.
fn over(who: &str, sends: &[(Instant, usize)], window: Duration, most: usize) -> Vec<String> {
    let mut found = Vec::new();
    for (index, (end, _)) in sends.iter().enumerate() {
        let recent = sends[..=index].iter().filter(|(at, _)| end.duration_since(*at) < window);
        let count: usize = recent.map(|(_, messages)| messages).sum();
        if count > most {
            found.push(format!("{who}: {count} messages within {window:?}, at most {most} allowed"));
        }
    }
    found
}
