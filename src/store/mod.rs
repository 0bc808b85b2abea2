//! SQL and nothing else: one `Store` over SQLite or PostgreSQL, with a verb for every question the walk asks.
//!
//! Each verb is written once in `queries/`, as a plain function over `&mut Conn`, and compiled for both
//! databases; the table at the end of this file is the list of what the store can do. A `read` takes any
//! connection; a `write` is one transaction.

mod error;
mod pool;
#[allow(clippy::duplicate_mod)]
mod postgres;
mod records;
#[doc(hidden)]
pub mod schema;
#[allow(clippy::duplicate_mod)]
mod sqlite;

pub use error::{DatabaseError, StoreError};
pub use pool::Store;
pub use records::*;

use crate::domain::{
    Attachment, AttachmentId, Conversation, InterfaceType, Message, MessageId, NewMessage, PlannedSend,
    Recipe, Session, SessionId, TokenId, Turn, TurnId, UserId,
};
use chrono::{DateTime, NaiveDate, Utc};
use error::QueryError;
use pool::Pool;

macro_rules! verbs {
    ($($module:ident { $($kind:ident $verb:ident($($arg:ident: $type:ty),*) -> $out:ty;)* })*) => {
        impl Store {
            $($(
                pub async fn $verb(&self, $($arg: $type),*) -> Result<$out, StoreError> {
                    let run = async { verbs!(@$kind self, $module, $verb($($arg),*)) };
                    run.await.map_err(|error: QueryError| error.in_verb(stringify!($verb)))
                }
            )*)*
        }
    };
    (@read $store:ident, $module:ident, $verb:ident($($arg:ident),*)) => {
        match &*$store.pool {
            Pool::Sqlite { read, .. } => sqlite::$module::$verb(&mut *read.acquire().await?, $($arg),*).await,
            Pool::Postgres(pool) => postgres::$module::$verb(&mut *pool.acquire().await?, $($arg),*).await,
        }
    };
    (@write $store:ident, $module:ident, $verb:ident($($arg:ident),*)) => {
        match &*$store.pool {
            Pool::Sqlite { write, .. } => {
                let mut transaction = write.begin_with("BEGIN IMMEDIATE").await?;
                let out = sqlite::$module::$verb(&mut *transaction, $($arg),*).await?;
                transaction.commit().await?;
                Ok(out)
            }
            Pool::Postgres(pool) => {
                let mut transaction = pool.begin().await?;
                let out = postgres::$module::$verb(&mut *transaction, $($arg),*).await?;
                transaction.commit().await?;
                Ok(out)
            }
        }
    };
}

verbs! {
    history {
        write add_message(message: &NewMessage, new_files: &[Attachment]) -> MessageId;
        read message(id: MessageId) -> Option<Message>;
        read find_message(place: &Conversation, shown_id: &str) -> Option<Found>;
        read recent_messages(session: SessionId, before: MessageId, since: DateTime<Utc>, limit: i64) -> Vec<Message>;
        read recent_by_conversation(filter: &RecentFilter) -> Vec<(Conversation, Vec<Message>)>;
        read thread(root: MessageId) -> Vec<Message>;
        read messages_of_turn(turn: TurnId) -> Vec<Message>;
        read inputs_of_turn(turn: TurnId) -> Vec<Message>;
        read messages_of_album(place: &Conversation, album: &str) -> Vec<Message>;
        read messages_of_session(session: SessionId, before: Option<MessageId>, limit: Option<i64>, detail: Detail) -> Vec<Message>;
        read messages_after(session: SessionId, after: MessageId, limit: i64) -> Vec<Message>;
        read last_message(session: SessionId) -> Option<MessageId>;
        write edit_message(place: &Conversation, shown_id: &str, content: &str) -> bool;
    }
    attachments {
        read attachment(place: &Conversation, id: AttachmentId) -> Option<Attachment>;
        read attachments(place: &Conversation, ids: &[AttachmentId]) -> Vec<Attachment>;
        read carriers(session: SessionId, ids: &[AttachmentId]) -> Vec<(AttachmentId, MessageId)>;
        read attachment_anywhere(id: AttachmentId) -> Option<Attachment>;
        read children_of_attachment(parent: &Attachment) -> Vec<Attachment>;
        write set_provenance(id: AttachmentId, parents: &[AttachmentId], recipe: Option<&Recipe>) -> ();
        write store_rendered_attachment(rendered: &Attachment) -> bool;
        write add_attachment(attachment: &Attachment) -> ();
        read shown_as(message: MessageId, attachment: Option<AttachmentId>) -> Option<String>;
        read recent_attachments(place: &Conversation, since: DateTime<Utc>, limit: i64) -> Vec<Attachment>;
        read bytes_kept(place: &Conversation) -> i64;
    }
    sessions {
        write start_session(place: &Conversation, user: &UserId) -> SessionId;
        read session(id: SessionId) -> Option<Session>;
        write open_session(user: &UserId, title: Option<&str>) -> Session;
        write rename_session(id: SessionId, title: &str) -> bool;
        write retitle_session(id: SessionId, from: Option<&str>, to: &str) -> bool;
    }
    session_list {
        read sessions(filter: &SessionFilter, limit: i64, offset: i64) -> SessionList;
    }
    members {
        write add_member(place: &Conversation, user: &UserId) -> ();
        write remove_member(place: &Conversation, user: &UserId) -> ();
        read is_member(place: &Conversation, user: &UserId) -> bool;
    }
    logins {
        write web_key(name: &str, fresh: &str) -> String;
        write add_login_link(link: &LoginLink) -> ();
        read login_link_is_open(link_hash: &str, now: DateTime<Utc>) -> bool;
        write log_in(link_hash: &str, login_hash: &str, now: DateTime<Utc>, until: DateTime<Utc>) -> Option<UserId>;
        read login(login_hash: &str) -> Option<Login>;
        write renew_login(old_hash: &str, new_hash: &str, now: DateTime<Utc>, until: DateTime<Utc>) -> bool;
        write log_out(login_hash: &str) -> ();
        write forget_logins(now: DateTime<Utc>, replaced_before: DateTime<Utc>) -> u64;
        write add_api_token(token: &ApiToken, token_hash: &str, most: i64) -> bool;
        read api_token(token_hash: &str) -> Option<ApiToken>;
        read api_tokens(user: &UserId) -> Vec<ApiToken>;
        write note_token_use(token_id: TokenId, now: DateTime<Utc>) -> ();
        write revoke_api_token(user: &UserId, token_id: TokenId) -> bool;
    }
    deletion {
        write delete_session(id: SessionId) -> Option<DeletedSession>;
        write delete_attachment(id: AttachmentId) -> bool;
        read doomed_objects(limit: i64) -> Vec<Doomed>;
        write forget_uploads(before: DateTime<Utc>) -> u64;
        read object_in_use(object_key: &str) -> bool;
        write forget_doomed(ids: &[AttachmentId]) -> ();
    }
    annotations {
        write annotate_message(annotation: &Annotation) -> Change;
    }
    replacing {
        write replace_history(new: &Replacement) -> Change;
        read turns_elsewhere(session: SessionId, turns: &[TurnId]) -> Vec<TurnId>;
        read turns_of_session(session: SessionId) -> Vec<TurnId>;
    }
    people {
        read owners(interface: InterfaceType) -> Vec<UserId>;
        write become_owner(interface: InterfaceType, user: &UserId) -> bool;
        write should_tell_stranger(interface: InterfaceType, user: &UserId, since: DateTime<Utc>) -> bool;
    }
    inbox {
        write receive_updates(updates: &[NewUpdate]) -> Vec<InboxRow>;
        read unhandled_updates() -> Vec<InboxRow>;
        write park_updates(parked: &[Parked]) -> ();
        write close_update(inbox_id: i64) -> ();
        write close_updates(inbox_ids: &[i64]) -> ();
        write skip_update(inbox_id: i64, note: &str) -> ();
        read waiting_groups() -> Vec<WaitingGroup>;
        read waiting_updates(conversation_id: &str, sender_id: &str) -> Vec<InboxRow>;
        write prune_inbox(before: DateTime<Utc>) -> u64;
    }
    filing {
        write file(filing: &Filing) -> Filed;
    }
    turns {
        write claim_turn() -> Option<Turn>;
        read turn(id: TurnId) -> Option<Turn>;
        write finish_turn(finish: &Finish<'_>) -> MessageId;
        write cancel_turns(place: &Conversation) -> Vec<TurnId>;
        write recover_turns() -> u64;
        write give_back_turns(running: &[TurnId]) -> u64;
        read open_turns() -> i64;
    }
    outbox {
        write answer_update(inbox_ids: &[i64], place: &Conversation, reply_to: Option<&str>, sends: &[PlannedSend]) -> ();
        read conversations_to_send(interface: InterfaceType) -> Vec<Conversation>;
        read next_send(place: &Conversation) -> Option<OutboxRow>;
        read is_sending(place: &Conversation) -> bool;
        write claim_send(outbox_id: i64) -> bool;
        write send_done(send: &OutboxRow, shown_ids: &[String]) -> ();
        write send_again(outbox_id: i64, not_before: DateTime<Utc>, error: &str) -> ();
        write reshape_send(outbox_id: i64, send: &PlannedSend, reply_to: Option<&str>, error: &str) -> ();
        write send_unknown(outbox_id: i64, error: &str) -> ();
        write send_failed(outbox_id: i64, error: &str) -> ();
        write recover_sends() -> u64;
        read troubled_sends(limit: i64) -> Vec<OutboxRow>;
    }
    usage {
        write note_usage(note: &UsageNote) -> ();
        read spent(on: NaiveDate, spender: &Spender) -> Spent;
        read usage_of(interface: InterfaceType, user: &UserId, since: NaiveDate) -> Vec<Used>;
        read usage_in(place: &Conversation, since: NaiveDate) -> Vec<Used>;
    }
    drafts {
        write start_draft(turn: TurnId, send: &PlannedSend, reply_to: Option<&str>) -> Option<i64>;
        write draft_sent(turn: TurnId, shown_id: &str) -> ();
        write drop_draft(turn: TurnId) -> ();
        read draft_of_turn(turn: TurnId) -> Option<Draft>;
        read draft_shown_as(place: &Conversation, shown_id: &str) -> Option<Draft>;
        read spare_drafts() -> Vec<Draft>;
    }
}
