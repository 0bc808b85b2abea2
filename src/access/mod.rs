//! Who may talk to the bot (`Access`), who may see and change what over HTTP (`Viewer`), and how they log in (`Logins`).
//! Admission yields a `Scope`, the proof that a person may use one conversation. Every tool and file access needs it.

mod changes;
mod logins;
mod viewer;

pub use logins::{
    Credential, LINK_LIFETIME, LOGIN_LIFETIME, LoggedIn, Logins, MAX_TOKENS_PER_USER, PageAccess,
    REPLACED_LOGIN_LIFETIME,
};
pub use viewer::{Standing, Viewer};

use crate::{
    domain::{Conversation, InterfaceType, Turn, UserId},
    store::{Store, StoreError},
};
use chrono::{TimeDelta, Utc};
use rand::RngExt as _;
use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use subtle::ConstantTimeEq as _;

/// A stranger is told that the bot is private at most once in this time.
const STRANGER_NOTICE_INTERVAL: TimeDelta = TimeDelta::hours(12);
/// People type the code by hand: no letters and digits that look alike.
const CODE_LETTERS: &[u8] = b"ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const CODE_LENGTH: usize = 8;
/// Wrong codes of one person that are answered per `WRONG_CODE_WINDOW`; more are ignored.
const MAX_WRONG_CODES: usize = 3;
const WRONG_CODE_WINDOW: Duration = Duration::from_secs(60);
/// People whose wrong codes are remembered. Wrong codes of more people are ignored.
const MAX_GUESSERS: usize = 1_000;

/// The right of one person to use the messages and files of one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    conversation: Conversation,
    user: UserId,
}

impl Scope {
    /// Turns are created only for admitted people, so a turn is proof enough.
    pub fn of_turn(turn: &Turn) -> Self {
        Self { conversation: turn.conversation.clone(), user: turn.user_id.clone() }
    }

    #[cfg(test)]
    pub fn local(conversation: Conversation) -> Self {
        Self { conversation, user: UserId("local".into()) }
    }

    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    pub fn user(&self) -> &UserId {
        &self.user
    }
}

#[derive(Debug)]
pub enum Admission {
    Welcome(Scope),
    Stranger,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Pairing {
    /// This person is now the owner.
    Paired,
    WrongCode,
    /// Another wrong code, too soon after others: it gets no answer.
    Ignored,
    /// There is an owner already, or pairing was never enabled.
    Closed,
}

pub struct Access {
    store: Store,
    allowed: HashSet<UserId>,
    everyone: bool,
    interface: InterfaceType,
    code: Mutex<Option<String>>,
    wrong_codes: Mutex<HashMap<UserId, Vec<Instant>>>,
}

impl Access {
    /// Enables pairing if no owner, no allowed user and no open access is configured.
    pub async fn open(
        store: Store,
        allowed: impl IntoIterator<Item = UserId>,
        everyone: bool,
    ) -> Result<Self, StoreError> {
        let interface = InterfaceType::Telegram;
        let allowed: HashSet<UserId> = allowed.into_iter().collect();
        let closed = everyone || !allowed.is_empty() || !store.owners(interface).await?.is_empty();
        let code = (!closed).then(new_code);
        Ok(Self {
            store,
            allowed,
            everyone,
            interface,
            code: Mutex::new(code),
            wrong_codes: Mutex::default(),
        })
    }

    /// The code to print at start-up, while there is no owner.
    pub fn pairing_code(&self) -> Option<String> {
        self.code().clone()
    }

    fn code(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.code.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn admit(&self, conversation: &Conversation, user: &UserId) -> Result<Admission, StoreError> {
        if self.is_allowed(user).await? {
            return Ok(Admission::Welcome(Scope { conversation: conversation.clone(), user: user.clone() }));
        }
        Ok(Admission::Stranger)
    }

    /// Whether to tell this stranger now that the bot is private. Records that they were told.
    pub async fn should_notify(&self, stranger: &UserId) -> Result<bool, StoreError> {
        self.store
            .claim_stranger_notice(self.interface, stranger, Utc::now() - STRANGER_NOTICE_INTERVAL)
            .await
    }

    /// Whether the user is allowed, is the owner, or everyone is allowed.
    pub async fn is_allowed(&self, user: &UserId) -> Result<bool, StoreError> {
        if self.everyone || self.allowed.contains(user) {
            return Ok(true);
        }
        Ok(self.store.owners(self.interface).await?.contains(user))
    }

    /// The first person who sends the right code becomes the owner; then the code is invalid.
    pub async fn pair(&self, user: &UserId, offered: &str) -> Result<Pairing, StoreError> {
        let right = match &*self.code() {
            None => return Ok(Pairing::Closed),
            Some(code) => codes_match(code, offered.trim()),
        };
        if !right {
            let answered = self.answers_wrong_code(user, Instant::now());
            return Ok(if answered { Pairing::WrongCode } else { Pairing::Ignored });
        }
        let paired = self.store.become_owner(self.interface, user).await?;
        *self.code() = None;
        Ok(if paired { Pairing::Paired } else { Pairing::Closed })
    }

    /// Whether a wrong code is answered now. Only answers are limited: the right code is always taken.
    fn answers_wrong_code(&self, user: &UserId, now: Instant) -> bool {
        let mut guessers = self.wrong_codes.lock().unwrap_or_else(PoisonError::into_inner);
        guessers.retain(|_, answered| {
            answered.retain(|at| now.duration_since(*at) < WRONG_CODE_WINDOW);
            !answered.is_empty()
        });
        if guessers.len() >= MAX_GUESSERS && !guessers.contains_key(user) {
            return false;
        }
        let answered = guessers.entry(user.clone()).or_default();
        let answers = answered.len() < MAX_WRONG_CODES;
        if answers {
            answered.push(now);
        }
        answers
    }
}

/// Compares in constant time.
fn codes_match(code: &str, offered: &str) -> bool {
    let offered = offered.to_ascii_uppercase();
    code.as_bytes().ct_eq(offered.as_bytes()).into()
}

fn new_code() -> String {
    let mut rng = rand::rng();
    (0..CODE_LENGTH).map(|_| char::from(CODE_LETTERS[rng.random_range(0..CODE_LETTERS.len())])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn wrong_codes_are_answered_a_few_times_a_minute_per_person() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("test.db").display());
        let access = Access::open(Store::open(&url).await.unwrap(), [], false).await.unwrap();
        let (eve, ann) = (UserId("6666".into()), UserId("1001".into()));
        let now = Instant::now();
        let answers = |user, at| access.answers_wrong_code(user, at);
        assert_eq!([0; 5].map(|_| answers(&eve, now)), [true, true, true, false, false]);
        assert!(answers(&ann, now), "another person is answered");
        assert!(!answers(&eve, now + WRONG_CODE_WINDOW - Duration::from_millis(1)));
        assert!(answers(&eve, now + WRONG_CODE_WINDOW));
        assert_eq!(access.wrong_codes.lock().unwrap().len(), 1, "people are forgotten after the window");
    }
}
