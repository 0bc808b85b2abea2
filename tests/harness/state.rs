//! State of the Telegram stand-in: chats, messages, files, queued updates and recorded calls. One lock guards it, and
//! every change wakes all waits.

use super::{
    WAIT_TIMEOUT,
    faults::Rule,
    files::StoredFile,
    received::{Call, Received},
    topics::Topic,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    fmt::Write,
    path::PathBuf,
    sync::{Mutex, MutexGuard},
};
use tokio::sync::watch;

pub const BOT_ID: i64 = 7_000_001;
pub const BOT_NAME: &str = "photothread_bot";

pub struct Shared {
    pub token: String,
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

impl Shared {
    pub fn new(token: String) -> Shared {
        Shared { token, state: Mutex::default(), changed: watch::Sender::new(()) }
    }

    pub fn look(&self) -> MutexGuard<'_, State> {
        // An assertion that failed under the lock must not turn later ones into errors about a poisoned mutex.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let outcome = change(&mut self.look());
        self.changed.send_replace(());
        outcome
    }

    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Waits until `seen` returns a value. `what` completes the failure message "waited for …".
    pub async fn wait<T>(&self, what: &str, mut seen: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut changes = self.changes();
        let search = async {
            loop {
                changes.mark_unchanged();
                if let Some(found) = seen(&mut self.look()) {
                    return found;
                }
                let _ = changes.changed().await;
            }
        };
        match tokio::time::timeout(WAIT_TIMEOUT, search).await {
            Ok(found) => found,
            Err(_) => {
                let story = self.look().story();
                panic!("waited {WAIT_TIMEOUT:?} for {what}. Recorded calls:\n{story}")
            }
        }
    }
}

pub struct Update {
    pub id: i64,
    pub body: Value,
}

#[derive(Default)]
pub struct State {
    pub chats: BTreeMap<i64, Chat>,
    pub files: HashMap<String, StoredFile>,
    pub updates: VecDeque<Update>,
    /// Updates that exist but are not shown to the bot yet.
    pub held_back: Option<Vec<Update>>,
    pub confirmed_offset: i64,
    pub allowed_updates: Option<Vec<String>>,
    /// Counts getUpdates calls: a later call ends an earlier one.
    pub polls: u64,
    pub calls: Vec<Call>,
    pub rules: Vec<Rule>,
    pub commands: HashMap<String, Value>,
    pub open_callbacks: HashSet<String>,
    /// Where a local server keeps its files; none at Telegram's own.
    pub local_folder: Option<PathBuf>,
    /// Whether the server has sendMessageDraft.
    pub streams_drafts: bool,
    last_update: Option<i64>,
    last_number: u64,
}

pub struct Chat {
    pub info: Value,
    pub members: BTreeMap<i64, Value>,
    pub messages: BTreeMap<i32, Value>,
    last_message_id: i32,
    /// One entry per send: an album is one entry with several messages.
    pub deliveries: Vec<Vec<Received>>,
    /// How many deliveries were read in each topic.
    pub deliveries_read: BTreeMap<Option<i32>, usize>,
    pub edits: Vec<Received>,
    pub edits_read: BTreeMap<Option<i32>, usize>,
    pub deleted: Vec<i32>,
    pub actions: Vec<String>,
    /// The topic of each action.
    pub action_topics: Vec<Option<i32>>,
    pub topics: BTreeMap<i32, Topic>,
    /// Whether the person of this private chat has turned on topics.
    pub topics_enabled: bool,
    /// Why the bot may not write here, as Telegram words it.
    pub closed: Option<&'static str>,
    /// The supergroup that this group became.
    pub migrated_to: Option<i64>,
    pub bot_is_admin: bool,
    /// The reactions of the bot, by message.
    pub reactions: BTreeMap<i32, String>,
    pub reactions_seen: Vec<i32>,
    pub forbids_reactions: bool,
    pub drafts: Vec<(Option<i32>, i64, String)>,
}

impl Chat {
    pub fn new(info: Value) -> Chat {
        Chat {
            info,
            members: BTreeMap::new(),
            messages: BTreeMap::new(),
            last_message_id: 0,
            deliveries: Vec::new(),
            deliveries_read: BTreeMap::new(),
            edits: Vec::new(),
            edits_read: BTreeMap::new(),
            deleted: Vec::new(),
            actions: Vec::new(),
            action_topics: Vec::new(),
            topics: BTreeMap::new(),
            topics_enabled: false,
            closed: None,
            migrated_to: None,
            bot_is_admin: false,
            reactions: BTreeMap::new(),
            reactions_seen: Vec::new(),
            forbids_reactions: false,
            drafts: Vec::new(),
        }
    }

    pub fn next_message_id(&mut self) -> i32 {
        self.last_message_id += 1;
        self.last_message_id
    }

    /// Leaves a gap, as deleted messages and other devices do.
    pub fn skip_message_ids(&mut self, count: i32) {
        self.last_message_id += count;
    }

    /// The next delivery in a topic that was not read yet.
    pub fn read_delivery(&mut self, topic: Option<i32>) -> Option<Vec<Received>> {
        let read = self.deliveries_read.entry(topic).or_default();
        let mut of_topic = self.deliveries.iter().filter(|delivery| delivery[0].topic == topic);
        let delivery = of_topic.nth(*read)?.clone();
        *read += 1;
        Some(delivery)
    }

    pub fn read_edit(&mut self, topic: Option<i32>) -> Option<Received> {
        let read = self.edits_read.entry(topic).or_default();
        let edit = self.edits.iter().filter(|edit| edit.topic == topic).nth(*read)?.clone();
        *read += 1;
        Some(edit)
    }

    pub fn unread(&self, topic: Option<i32>) -> Vec<&Vec<Received>> {
        let read = self.deliveries_read.get(&topic).copied().unwrap_or_default();
        self.deliveries.iter().filter(|delivery| delivery[0].topic == topic).skip(read).collect()
    }

    pub fn is_private(&self) -> bool {
        self.info["type"] == "private"
    }
}

impl State {
    pub fn chat(&mut self, id: i64) -> &mut Chat {
        self.chats.get_mut(&id).unwrap_or_else(|| panic!("no chat {id} in this world"))
    }

    /// A number that is used once.
    pub fn fresh_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Queues an update of this kind. Kinds that the bot did not ask for are dropped, as at Telegram.
    pub fn publish(&mut self, kind: &str, content: Value) -> i64 {
        let wanted = match &self.allowed_updates {
            Some(kinds) => kinds.iter().any(|wanted| wanted == kind),
            None => !matches!(kind, "chat_member" | "message_reaction" | "message_reaction_count"),
        };
        let id = self.next_update_id();
        if wanted {
            self.queue(Update { id, body: json!({ "update_id": id, kind: content }) });
        }
        id
    }

    /// Queues an update exactly as given, only with an id.
    pub fn publish_raw(&mut self, mut body: Value) -> i64 {
        let id = self.next_update_id();
        body["update_id"] = id.into();
        self.queue(Update { id, body });
        id
    }

    fn next_update_id(&mut self) -> i64 {
        let next = self.last_update.map_or(100_000, |last| last + 1);
        self.last_update = Some(next);
        next
    }

    pub fn restart_update_ids(&mut self, first: i64) {
        self.last_update = Some(first - 1);
    }

    fn queue(&mut self, update: Update) {
        match &mut self.held_back {
            Some(held) => held.push(update),
            None => self.updates.push_back(update),
        }
    }

    pub fn last_update_id(&self) -> i64 {
        self.last_update.unwrap_or_default()
    }

    /// All recorded calls, for a failure message.
    pub fn story(&self) -> String {
        let mut story = String::new();
        for call in self.calls.iter().filter(|call| call.method != "getUpdates") {
            let _ = writeln!(story, "  call {call}");
        }
        let polls = self.calls.iter().filter(|call| call.method == "getUpdates").count();
        let _ = writeln!(story, "  getUpdates ×{polls}, confirmed below {}", self.confirmed_offset);
        for update in &self.updates {
            let _ = writeln!(story, "  update {} not confirmed", update.id);
        }
        let held = self.held_back.as_ref().map_or(0, Vec::len);
        let _ = writeln!(story, "  {held} updates held back, {} faults still waiting", self.rules.len());
        for (id, chat) in &self.chats {
            for message in &chat.deliveries {
                let _ = writeln!(story, "  chat {id}: {message:?}");
            }
            let _ = writeln!(story, "  chat {id} read: {:?}", chat.deliveries_read);
            for edit in &chat.edits {
                let _ = writeln!(story, "  chat {id} edited: {edit:?}");
            }
            for deleted in &chat.deleted {
                let _ = writeln!(story, "  chat {id} deleted: #{deleted}");
            }
        }
        story
    }
}
