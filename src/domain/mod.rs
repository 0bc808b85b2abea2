//! Plain types that all modules share: message, thread, turn, attachment, conversation, session and their ids.
//! No I/O, no SQL, no Telegram.

#[macro_use]
mod text_enum;

pub mod annotation;
mod answer;
mod attachment;
mod conversation;
mod findings;
mod ids;
mod message;
mod reply;
mod session;
mod turn;

pub use annotation::{FieldError, Reference, ReferenceTarget};
pub use answer::{Answer, PlannedSend, SendKind};
pub use attachment::{Attachment, AttachmentSource, Content, Recipe};
pub use conversation::{Conversation, InterfaceType};
pub use findings::Findings;
pub use ids::{AttachmentId, MessageId, ReservationId, SessionId, TokenId, TurnId, UserId};
pub use message::{Message, NewMessage, Role, ToolCall};
pub use reply::ReplyTo;
pub use session::Session;
pub use turn::{Turn, TurnState};
