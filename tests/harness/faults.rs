//! What can go wrong between the bot and Telegram, on order of the test; and the pace the bot kept.

use super::{gate::Gate, received::Call, state::Shared, state::State};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// A fault that waits for the next request it fits.
pub struct Rule {
    method: String,
    chat_id: Option<i64>,
    times: usize,
    fault: Fault,
}

#[derive(Clone)]
pub enum Fault {
    /// The request is never seen by Telegram, the line just dies.
    CutBefore,
    /// Telegram acts, but the bot never hears of it.
    CutAfter,
    /// A download that dies after half of its bytes.
    CutHalfway,
    Answer(u16),
    Flood(u64),
    Hold(Gate),
    HoldAnswer(Gate),
}

/// Every send the flood limits count.
const SENDS: [&str; 4] = ["sendMessage", "sendPhoto", "sendDocument", "sendMediaGroup"];
const ANY_SEND: &str = "any send";

impl State {
    /// The fault ordered for this request, used up by asking.
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

/// The next request to a method; say what shall happen to it.
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

    /// Only requests about this chat.
    pub fn in_chat(mut self, chat_id: i64) -> Self {
        self.chat_id = Some(chat_id);
        self
    }

    /// Not just the next one but the next `times`.
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// The connection dies and nothing happened.
    pub fn gets_lost(self) {
        self.order(Fault::CutBefore);
    }

    /// It happens, but the connection dies before the answer: the ambiguous send.
    pub fn loses_its_answer(self) {
        self.order(Fault::CutAfter);
    }

    /// A download stops after half of the file.
    pub fn breaks_halfway(self) {
        self.order(Fault::CutHalfway);
    }

    /// Nothing happens and the answer is this error, such as 500 or 502.
    pub fn answers(self, status: u16) {
        self.order(Fault::Answer(status));
    }

    /// Nothing happens and the bot is told to wait.
    pub fn meets_flood(self, retry_after: u64) {
        self.order(Fault::Flood(retry_after));
    }

    /// It waits before anything happens, until the gate is opened.
    pub fn waits(self) -> Gate {
        let gate = Gate::closed();
        self.order(Fault::Hold(gate.clone()));
        gate
    }

    /// It happens at once, but its answer waits until the gate is opened.
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

/// The pace Telegram asks of bots. An album is one message for the chat's second, and as many as it has
/// pictures for the group's minute and for all chats together.
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
    /// Where the recorded calls were too fast, in words; refused sends count too, as they do at Telegram.
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

/// The windows are a little short, so that a punctual bot on a jittery machine is not blamed.
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
