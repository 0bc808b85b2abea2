//! Newtypes for ids, so that an id of one kind cannot be passed as another.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $make:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            #[allow(clippy::new_without_default)]
            pub fn new() -> Self {
                Self($make)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text.trim()).map(Self)
            }
        }
    };
}

uuid_id!(
    /// Names a file everywhere: `[Attachment ID: <uuid>]`.
    AttachmentId,
    Uuid::new_v4()
);
uuid_id!(
    /// All messages that the agent stores for one request carry this id.
    TurnId,
    Uuid::now_v7()
);
uuid_id!(
    /// A part of a conversation: `/new` starts the next one.
    SessionId,
    Uuid::new_v4()
);

uuid_id!(
    /// Names an API token without revealing its secret.
    TokenId,
    Uuid::new_v4()
);
uuid_id!(
    /// A part of a daily budget that one request to a model holds while it runs.
    ReservationId,
    Uuid::new_v4()
);

/// `message_history.internal_id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(pub i64);

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A person, under the id that the interface uses (Telegram: the numeric user id).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserId(pub String);

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
