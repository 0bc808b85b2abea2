//! Plain types that every room shares: what a message, a thread, a turn and an attachment *are*.
//! No I/O, no SQL, no Telegram.

#[macro_use]
mod text_enum;

pub mod annotation;
mod answer;
mod attachment;
mod conversation;
mod ids;
mod message;
mod reply;
mod turn;

pub use annotation::{Flaw, Reference, Target};
pub use answer::{Answer, PlannedSend, SendKind};
pub use attachment::{Attachment, AttachmentSource, Content, Recipe};
pub use conversation::{Conversation, InterfaceType};
pub use ids::{AttachmentId, MessageId, SessionId, TokenId, TurnId, UserId};
pub use message::{Message, NewMessage, Role, ToolCall};

pub use reply::{ReplyTo, Session};
pub use turn::{Turn, TurnState};
