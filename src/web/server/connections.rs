//! The table of open connections: who may open one, and which idle one closes for it.

use super::ServerLimits;
use crate::web::address::{TrustedProxies, network_of};
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};
use tokio::sync::Notify;

type ConnectionId = u64;

pub struct Connections {
    max: usize,
    per_address: Option<usize>,
    proxies: TrustedProxies,
    table: Mutex<Table>,
    /// A connection closed, became idle or refused to close. Only the accept loop waits for it.
    changed: Notify,
}

#[derive(Default)]
struct Table {
    next_id: ConnectionId,
    open: HashMap<ConnectionId, Entry>,
}

struct Entry {
    /// The network whose share it counts for, if any.
    network: Option<IpAddr>,
    state: State,
    /// The client does not read, so that a part of a response is still unsent.
    write_stalled: Arc<AtomicBool>,
    close: Arc<Notify>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Waits for a request, or for the rest of its header.
    Idle(Instant),
    Busy,
    /// Idle since then, and told to close.
    Closing(Instant),
}

/// What is done about a new connection.
enum Decision {
    Admit(Slot),
    Refuse,
    /// Until a place is free.
    Wait,
}

/// The place of one open connection in the table.
pub struct Slot {
    connections: Arc<Connections>,
    id: ConnectionId,
    write_stalled: Arc<AtomicBool>,
    close: Arc<Notify>,
}

/// A request is handled, or its response is sent, until this is dropped.
pub struct Busy(Arc<Slot>);

impl Connections {
    pub fn new(limits: &ServerLimits) -> Self {
        Self {
            max: limits.max_connections,
            per_address: limits.per_address,
            proxies: limits.proxies.clone(),
            table: Mutex::default(),
            changed: Notify::new(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is a place. None if this address has its share and uses all of it.
    pub async fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Slot> {
        let is_shared = address.to_canonical().is_loopback() || self.proxies.contains(address);
        let network = (self.per_address.is_some() && !is_shared).then(|| network_of(address));
        loop {
            match self.decide(network) {
                Decision::Admit(slot) => return Some(slot),
                Decision::Refuse => return None,
                // A change since the decision is not missed: `Notify` keeps it.
                Decision::Wait => self.changed.notified().await,
            }
        }
    }

    fn decide(self: &Arc<Self>, network: Option<IpAddr>) -> Decision {
        let mut table = self.table();
        let of_address = |entry: &Entry| network.is_some() && entry.network == network;
        let count = table.open.values().filter(|entry| of_address(entry)).count();
        let over_share = self.per_address.is_some_and(|share| count >= share);
        if !over_share && table.open.len() < self.max {
            return Decision::Admit(self.open(&mut table, network));
        }
        let mut longest_idle: Option<(Instant, &mut Entry)> = None;
        for entry in table.open.values_mut().filter(|entry| !over_share || of_address(entry)) {
            match entry.state {
                State::Closing(_) => return Decision::Wait,
                State::Idle(since) if entry.may_close() => {
                    if longest_idle.as_ref().is_none_or(|(longest, _)| since < *longest) {
                        longest_idle = Some((since, entry));
                    }
                }
                State::Idle(_) | State::Busy => {}
            }
        }
        match longest_idle {
            Some((since, entry)) => {
                entry.state = State::Closing(since);
                entry.close.notify_one();
                Decision::Wait
            }
            None if over_share => Decision::Refuse,
            None => Decision::Wait,
        }
    }

    fn open(self: &Arc<Self>, table: &mut Table, network: Option<IpAddr>) -> Slot {
        let id = table.next_id;
        table.next_id += 1;
        let (write_stalled, close) = (Arc::<AtomicBool>::default(), Arc::new(Notify::new()));
        let state = State::Idle(Instant::now());
        let entry = Entry { network, state, write_stalled: write_stalled.clone(), close: close.clone() };
        table.open.insert(id, entry);
        Slot { connections: self.clone(), id, write_stalled, close }
    }

    fn set_state(&self, id: ConnectionId, state: State) {
        if let Some(entry) = self.table().open.get_mut(&id) {
            entry.state = state;
        }
        self.changed.notify_one();
    }
}

impl Entry {
    fn may_close(&self) -> bool {
        !self.write_stalled.load(Ordering::Relaxed)
    }
}

impl Slot {
    /// Set while the client does not read.
    pub fn write_stalled(&self) -> Arc<AtomicBool> {
        self.write_stalled.clone()
    }

    pub fn begin_request(slot: &Arc<Self>) -> Busy {
        slot.connections.set_state(slot.id, State::Busy);
        Busy(slot.clone())
    }

    /// Resolves when this connection must close for a new one. A request that came in the meantime is served first.
    pub async fn evicted(&self) {
        loop {
            self.close.notified().await;
            let mut table = self.connections.table();
            let Some(entry) = table.open.get_mut(&self.id) else { return };
            match entry.state {
                State::Closing(_) if entry.may_close() => return,
                State::Closing(since) => entry.state = State::Idle(since),
                State::Idle(_) | State::Busy => {}
            }
            self.connections.changed.notify_one();
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.connections.set_state(self.0.id, State::Idle(Instant::now()));
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.connections.table().open.remove(&self.id);
        self.connections.changed.notify_one();
    }
}
