//! SQL and nothing else: one `Store` over SQLite or PostgreSQL.
//!
//! Its methods are called verbs, and the table at the end of this file lists them. Each one is written once in `queries/`,
//! as a function over `&mut Conn`, and compiled for both databases. A `read` verb takes any connection; a `write` verb is
//! one transaction; an `add_files` verb is a `write` verb that also gets the quota, which it checks in its transaction; an
//! `erase` verb is a `write` verb after which SQLite's files do not hold the removed content any more; a `rewrite` verb is both.

mod erasure;
mod error;
mod pool;
#[allow(clippy::duplicate_mod)]
mod postgres;
mod quota;
mod records;
#[doc(hidden)]
pub mod schema;
mod spending;
#[allow(clippy::duplicate_mod)]
mod sqlite;

pub use error::{DatabaseError, StoreError};
pub use pool::Store;
pub use quota::*;
pub use records::*;
pub use spending::*;

use crate::domain::{
    Attachment, AttachmentId, Conversation, Findings, InterfaceType, Message, MessageId, NewMessage,
    PlannedSend, ReservationId, Session, SessionId, TokenId, Turn, TurnId, UserId,
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
    (@erase $store:ident, $module:ident, $verb:ident($($arg:ident),*)) => {
        verbs!(@truncate $store, verbs!(@write $store, $module, $verb($($arg),*)))
    };
    (@rewrite $store:ident, $module:ident, $verb:ident($($arg:ident),*)) => {
        verbs!(@truncate $store, verbs!(@add_files $store, $module, $verb($($arg),*)))
    };
    (@truncate $store:ident, $run:expr) => {{
        let out: Result<_, QueryError> = async { $run }.await;
        if out.is_ok() {
            $store.truncate_wal().await;
        }
        out
    }};
    (@write $store:ident, $module:ident, $verb:ident($($arg:ident),*)) => {
        verbs!(@transaction $store, $module, $verb, $($arg),*)
    };
    (@add_files $store:ident, $module:ident, $verb:ident($($arg:ident),*)) => {
        verbs!(@transaction $store, $module, $verb, &$store.quota, $($arg),*)
    };
    (@transaction $store:ident, $module:ident, $verb:ident, $($arg:expr),*) => {
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
        add_files add_message(message: &NewMessage, new_files: &[Attachment]) -> MessageId;
        read message(id: MessageId) -> Option<Message>;
        read find_message(conversation: &Conversation, shown_id: &str) -> Option<FoundMessage>;
        read recent_messages(session: SessionId, before: MessageId, since: DateTime<Utc>, limit: i64) -> Vec<Message>;
        read recent_by_conversation(filter: &RecentFilter) -> Vec<(Conversation, Vec<Message>)>;
        read thread(root: MessageId) -> Vec<Message>;
        read messages_of_turn(turn: TurnId) -> Vec<Message>;
        read inputs_of_turn(turn: TurnId) -> Vec<Message>;
        read messages_of_album(conversation: &Conversation, album: &str) -> Vec<Message>;
        read messages_of_session(session: SessionId, before: Option<MessageId>, limit: Option<i64>, detail: Detail) -> Vec<Message>;
        read history_span(session: SessionId, before: Option<MessageId>, limit: Option<i64>, detail: Detail) -> Option<HistorySpan>;
        read history_page(session: SessionId, after: MessageId, last: MessageId, detail: Detail) -> Vec<Message>;
        read question_and_answer(session: SessionId, last: MessageId) -> (Option<Message>, Option<Message>);
        read messages_after(session: SessionId, after: MessageId, limit: i64) -> Vec<Message>;
        read last_message_id(session: SessionId) -> Option<MessageId>;
        erase edit_message(conversation: &Conversation, shown_id: &str, content: &str) -> bool;
    }
    attachments {
        read attachment(conversation: &Conversation, id: AttachmentId) -> Option<Attachment>;
        read attachments(conversation: &Conversation, ids: &[AttachmentId]) -> Vec<Attachment>;
        read carrying_messages(session: SessionId, ids: &[AttachmentId]) -> Vec<(AttachmentId, MessageId)>;
        read attachment_of_any_conversation(id: AttachmentId) -> Option<Attachment>;
        read children_of_attachment(parent: &Attachment) -> Vec<Attachment>;
        add_files store_rendered_attachment(rendered: &Attachment) -> bool;
        add_files add_attachment(attachment: &Attachment) -> ();
        read interface_message_id(message: MessageId, attachment: Option<AttachmentId>) -> Option<String>;
        read recent_attachments(conversation: &Conversation, since: DateTime<Utc>, limit: i64) -> Vec<Attachment>;
        read stored_bytes(conversation: &Conversation, user: &UserId) -> StoredBytes;
        read stored_objects(from: &str, to: &str) -> Vec<(AttachmentId, String)>;
    }
    findings {
        read findings_of(id: AttachmentId) -> Vec<Findings>;
        read findings_of_files(ids: &[AttachmentId]) -> Vec<Findings>;
        write save_findings(findings: &Findings) -> ();
    }
    sessions {
        write start_session(conversation: &Conversation, user: &UserId) -> SessionId;
        read session(id: SessionId) -> Option<Session>;
        write create_web_session(user: &UserId, title: Option<&str>) -> Session;
        erase rename_session(id: SessionId, title: &str) -> bool;
        write replace_title(id: SessionId, from: Option<&str>, to: &str) -> bool;
    }
    session_list {
        read sessions(filter: &SessionFilter, limit: i64, offset: i64) -> SessionMatches;
    }
    members {
        write add_member(conversation: &Conversation, user: &UserId) -> ();
        write remove_member(conversation: &Conversation, user: &UserId) -> ();
        read is_member(conversation: &Conversation, user: &UserId) -> bool;
    }
    chats {
        write migrate_chat(from: &Conversation, to: &Conversation) -> Vec<TurnId>;
    }
    logins {
        write ensure_web_key(name: &str, fresh: &str) -> String;
        write add_login_link(link: &LoginLink) -> ();
        read login_link_is_valid(link_hash: &str, now: DateTime<Utc>) -> bool;
        write log_in(link_hash: &str, login_hash: &str, now: DateTime<Utc>, until: DateTime<Utc>) -> Option<UserId>;
        read login(login_hash: &str) -> Option<Login>;
        write renew_login(old_hash: &str, new_hash: &str, now: DateTime<Utc>, until: DateTime<Utc>) -> bool;
        write log_out(login_hash: &str) -> ();
        write log_out_everywhere(user: &UserId) -> ();
        write delete_expired_logins(now: DateTime<Utc>, replaced_before: DateTime<Utc>) -> u64;
        write add_api_token(token: &ApiToken, token_hash: &str, max: i64) -> bool;
        read api_token(token_hash: &str) -> Option<ApiToken>;
        read api_tokens(user: &UserId) -> Vec<ApiToken>;
        write record_token_use(token_id: TokenId, now: DateTime<Utc>) -> ();
        write revoke_api_token(user: &UserId, token_id: TokenId) -> bool;
    }
    deletion {
        erase delete_session(id: SessionId) -> Option<DeletedSession>;
        erase delete_attachment(id: AttachmentId) -> bool;
        read objects_to_delete(limit: i64) -> Vec<ObjectToDelete>;
        erase delete_unused_uploads(before: DateTime<Utc>) -> u64;
        read conversations_with_files_before(before: DateTime<Utc>) -> Vec<Conversation>;
        erase expire_files(conversation: &Conversation, before: DateTime<Utc>, rewrite: &RewriteMessage<'_>) -> u64;
        read object_in_use(object_key: &str) -> bool;
        write unlist_objects(ids: &[AttachmentId]) -> ();
    }
    annotations {
        erase annotate_message(annotation: &MessageAnnotation) -> ChangeOutcome;
    }
    replacement {
        rewrite replace_history(new: &Replacement) -> ChangeOutcome;
        read turns_of_other_sessions(session: SessionId, turns: &[TurnId]) -> Vec<TurnId>;
        read turns_of_session(session: SessionId) -> Vec<TurnId>;
    }
    people {
        read owners(interface: InterfaceType) -> Vec<UserId>;
        write become_owner(interface: InterfaceType, user: &UserId) -> bool;
        write claim_stranger_notice(interface: InterfaceType, user: &UserId, since: DateTime<Utc>) -> bool;
    }
    inbox {
        write receive_updates(updates: &[NewUpdate]) -> Vec<InboxRow>;
        read unhandled_updates() -> Vec<InboxRow>;
        write add_to_batches(updates: &[BatchedUpdate]) -> ();
        write close_update(inbox_id: i64) -> ();
        write close_updates(inbox_ids: &[i64]) -> ();
        write skip_update(inbox_id: i64, note: &str) -> ();
        read waiting_groups() -> Vec<WaitingGroup>;
        read waiting_updates(conversation_id: &str, sender_id: &str) -> Vec<InboxRow>;
        read waiting_conversations(chat: &Conversation, sender_id: &str) -> Vec<Conversation>;
        erase prune_inbox(before: DateTime<Utc>) -> u64;
    }
    filing {
        add_files file(filing: &Filing) -> Filed;
    }
    turns {
        write claim_turn(max_per_person: i64) -> Option<Turn>;
        read turn(id: TurnId) -> Option<Turn>;
        write finish_turn(finish: &FinishedTurn<'_>) -> MessageId;
        write cancel_turns(conversation: &Conversation) -> Vec<TurnId>;
        write requeue_running_turns() -> u64;
        write requeue_turns_except(running: &[TurnId]) -> u64;
        read count_open_turns() -> i64;
    }
    outbox {
        write answer_update(inbox_ids: &[i64], conversation: &Conversation, reply_to: Option<&str>, sends: &[PlannedSend]) -> ();
        read conversations_to_send(interface: InterfaceType) -> Vec<Conversation>;
        read next_send(conversation: &Conversation) -> Option<OutboxRow>;
        read is_sending(conversation: &Conversation) -> bool;
        write claim_send(outbox_id: i64) -> bool;
        write mark_sent(send: &OutboxRow, shown_ids: &[String]) -> ();
        write requeue_send(outbox_id: i64, not_before: DateTime<Utc>, error: &str) -> ();
        write replace_send(outbox_id: i64, send: &PlannedSend, reply_to: Option<&str>, error: &str) -> ();
        write mark_send_unknown(outbox_id: i64, error: &str) -> ();
        write mark_send_failed(outbox_id: i64, error: &str) -> ();
        write mark_interrupted_sends() -> u64;
        read undelivered_sends(limit: i64) -> Vec<OutboxRow>;
    }
    usage {
        write add_usage(request: &RequestUsage) -> ();
        read costs_of_day(on: NaiveDate, spender: &Spender) -> DayCosts;
        read usage_of_user(user: &UserId, since: NaiveDate) -> Vec<ModelUsage>;
        read usage_of_conversation(conversation: &Conversation, since: NaiveDate) -> Vec<ModelUsage>;
    }
    budgets {
        write reserve_budget(reservation: &BudgetReservation, caps: &DayCaps) -> ReserveOutcome;
        write release_reservation(id: ReservationId) -> ();
        write charge_reservation(id: ReservationId) -> ();
        write charge_expired_reservations(now: DateTime<Utc>) -> u64;
        write charge_open_reservations() -> u64;
    }
    reactions {
        write add_reaction(reaction: &Reaction) -> bool;
        read spare_reactions() -> Vec<Reaction>;
        write delete_reaction(inbox_id: i64) -> ();
    }
    drafts {
        write start_draft(turn: TurnId, send: &PlannedSend, reply_to: Option<&str>) -> Option<i64>;
        write mark_draft_sent(turn: TurnId, shown_id: &str) -> ();
        write delete_draft(turn: TurnId) -> ();
        read draft_of_turn(turn: TurnId) -> Option<Draft>;
        read find_draft(conversation: &Conversation, shown_id: &str) -> Option<Draft>;
        read abandoned_drafts() -> Vec<Draft>;
    }
}
