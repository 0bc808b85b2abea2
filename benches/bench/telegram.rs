//! A minimal Bot API server for load: it serves updates and records when sends arrive.

use anyhow::Context as _;
use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, State},
    routing::any,
    serve::ListenerExt as _,
};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::{Notify, mpsc, watch};

pub const TOKEN: &str = "1:benchmark";

/// A send of the bot that has arrived.
pub struct Sent {
    pub chat: i64,
    pub at: Instant,
}

pub struct Telegram {
    pub url: String,
    api: Arc<Api>,
}

struct Api {
    state: Mutex<UpdateQueue>,
    more: Notify,
    polls: watch::Sender<u64>,
    confirmed: watch::Sender<i64>,
    sent: mpsc::UnboundedSender<Sent>,
}

#[derive(Default)]
struct UpdateQueue {
    next_id: i64,
    messages: i64,
    waiting: VecDeque<(i64, Value)>,
    /// When the newest message of each chat was given to the bot.
    handed_out: HashMap<i64, Instant>,
}

impl Telegram {
    pub async fn start() -> anyhow::Result<(Self, mpsc::UnboundedReceiver<Sent>)> {
        let (sent, received) = mpsc::unbounded_channel();
        let api = Arc::new(Api {
            state: Mutex::new(UpdateQueue { next_id: 1, ..UpdateQueue::default() }),
            more: Notify::new(),
            polls: watch::channel(0).0,
            confirmed: watch::channel(0).0,
            sent,
        });
        let router = Router::new().route("/{token}/{method}", any(answer)).with_state(api.clone());
        Ok((Self { url: serve(router).await?, api }, received))
    }

    /// Queues messages of people, all at once.
    pub fn people_write(&self, messages: impl IntoIterator<Item = (i64, String)>) {
        let mut queue = self.api.queue();
        for (chat, text) in messages {
            let (id, message) = (queue.next_id, queue.messages + 1);
            (queue.next_id, queue.messages) = (id + 1, message);
            queue.waiting.push_back((id, update(id, message, chat, &text)));
        }
        drop(queue);
        self.api.more.notify_one();
    }

    /// When the newest message of this chat was given to the bot.
    pub fn handed_out(&self, chat: i64) -> Option<Instant> {
        self.api.queue().handed_out.get(&chat).copied()
    }

    /// Waits for the first poll from now on.
    pub fn next_poll(&self) -> impl Future<Output = anyhow::Result<()>> + use<> {
        let mut polls = self.api.polls.subscribe();
        async move { polls.changed().await.context("the server is gone") }
    }

    /// Waits until the bot has confirmed everything written so far.
    pub async fn all_confirmed(&self) -> anyhow::Result<()> {
        let last = self.api.queue().next_id;
        self.api.confirmed.subscribe().wait_for(|confirmed| *confirmed >= last).await?;
        Ok(())
    }
}

/// Serves for as long as the runtime lives; gives the address.
pub async fn serve(router: Router) -> anyhow::Result<String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let listener = listener.tap_io(|line| {
        // Without it, Nagle's algorithm delays some answers by 40 ms.
        let _ = line.set_nodelay(true);
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}

fn update(id: i64, message: i64, chat: i64, text: &str) -> Value {
    json!({"update_id": id, "message": {
        "message_id": message, "date": chrono::Utc::now().timestamp(), "text": text,
        "from": {"id": chat, "is_bot": false, "first_name": "Ann", "username": format!("ann{chat}"), "language_code": "en"},
        "chat": {"id": chat, "type": "private", "first_name": "Ann", "username": format!("ann{chat}")},
    }})
}

async fn answer(
    State(api): State<Arc<Api>>,
    Path((_, method)): Path<(String, String)>,
    body: Bytes,
) -> Json<Value> {
    let at = Instant::now();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let result = match method.to_ascii_lowercase().as_str() {
        "getme" => json!({"id": 1, "is_bot": true, "first_name": "Bench", "username": "bench_bot",
            "can_join_groups": true, "can_read_all_group_messages": false, "supports_inline_queries": false,
            "can_connect_to_business": false, "has_main_web_app": false}),
        "getupdates" => api.updates(&body).await,
        "sendmessage" => api.take(&body, at),
        _ => json!(true),
    };
    Json(json!({"ok": true, "result": result}))
}

impl Api {
    fn queue(&self) -> MutexGuard<'_, UpdateQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn updates(&self, body: &Value) -> Value {
        let offset = body["offset"].as_i64().unwrap_or_default();
        let limit = body["limit"].as_u64().unwrap_or(100) as usize;
        self.queue().waiting.retain(|(id, _)| *id >= offset);
        self.confirmed.send_replace(offset);
        self.polls.send_modify(|polls| *polls += 1);
        let until = Instant::now() + Duration::from_secs(body["timeout"].as_u64().unwrap_or_default());
        loop {
            let batch = self.queue().hand_out(limit);
            if !batch.is_empty() {
                return Value::Array(batch);
            }
            let left = until.saturating_duration_since(Instant::now());
            if tokio::time::timeout(left, self.more.notified()).await.is_err() {
                return json!([]);
            }
        }
    }

    fn take(&self, body: &Value, at: Instant) -> Value {
        let chat = body["chat_id"].as_i64().unwrap_or_default();
        let mut queue = self.queue();
        queue.messages += 1;
        let message = json!({"message_id": queue.messages, "date": chrono::Utc::now().timestamp(),
            "text": body["text"], "chat": {"id": chat, "type": "private", "first_name": "Ann"},
            "from": {"id": 1, "is_bot": true, "first_name": "Bench", "username": "bench_bot"}});
        drop(queue);
        // Fails if the benchmark does not read sends.
        let _ = self.sent.send(Sent { chat, at });
        message
    }
}

impl UpdateQueue {
    fn hand_out(&mut self, limit: usize) -> Vec<Value> {
        let now = Instant::now();
        let batch: Vec<Value> = self.waiting.iter().take(limit).map(|(_, update)| update.clone()).collect();
        for chat in batch.iter().filter_map(|update| update["message"]["chat"]["id"].as_i64()) {
            self.handed_out.insert(chat, now);
        }
        batch
    }
}
