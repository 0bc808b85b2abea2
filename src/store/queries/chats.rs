//! Moves a Telegram chat with all its topics to another id: a group that became a supergroup keeps its history.

use super::{Conn, Db, rows};
use crate::{
    domain::{Conversation, TurnId},
    store::QueryError,
};
use sqlx::QueryBuilder;

/// Tables whose rows only change their conversation.
const MOVED: [&str; 5] =
    ["session_metadata", "attachment_metadata", "turns", "outbox", "budget_reservations"];
/// Tables with message ids, which are the old chat's.
const WITH_MESSAGE_IDS: [&str; 2] = ["message_history", "message_chunks"];
/// Rows about messages of the old chat, where nothing can be changed any more.
const DROPPED: [&str; 2] = ["drafts", "reactions"];

/// Rewrites the conversations of a chat in all tables. The new chat numbers its messages anew, so the ids of the old ones
/// become `Conversation::foreign_message_id`, and no queued send is a reply any more. Running turns are pending again, and
/// are returned: they go on in the new chat. Moving a chat again moves what was stored under the old id meanwhile.
pub async fn migrate_chat(
    conn: &mut Conn,
    from: &Conversation,
    to: &Conversation,
) -> Result<Vec<TurnId>, QueryError> {
    let move_ = Move { from, to };
    let mut running = QueryBuilder::<Db>::new("UPDATE ");
    running.push("turns SET state = 'pending' WHERE state = 'running' AND ");
    move_.push_condition(&mut running);
    running.push(" RETURNING turn_id");
    let running = running.build().fetch_all(&mut *conn).await?;
    move_.rename_messages(conn).await?;
    // The row of a draft on its way would block the sends of the new chat.
    let mut on_its_way = QueryBuilder::<Db>::new("DELETE FROM ");
    on_its_way.push("outbox WHERE state = 'sending' AND outbox_id IN (SELECT outbox_id FROM drafts WHERE ");
    move_.push_condition(&mut on_its_way);
    on_its_way.push(")");
    on_its_way.build().execute(&mut *conn).await?;
    for table in DROPPED {
        let mut query = QueryBuilder::<Db>::new("DELETE FROM ");
        query.push(table).push(" WHERE ");
        move_.push_condition(&mut query);
        query.build().execute(&mut *conn).await?;
    }
    let mut replies = QueryBuilder::<Db>::new("UPDATE ");
    replies.push("outbox SET reply_to = NULL WHERE state IN ('queued', 'sending') AND ");
    move_.push_condition(&mut replies);
    replies.build().execute(&mut *conn).await?;
    for table in MOVED.into_iter().chain(WITH_MESSAGE_IDS) {
        let mut query = QueryBuilder::<Db>::new("UPDATE ");
        query.push(table).push(" SET conversation_id = ");
        move_.push_new_id(&mut query);
        query.push(" WHERE ");
        move_.push_condition(&mut query);
        query.build().execute(&mut *conn).await?;
    }
    // The inbox is Telegram's alone.
    let mut inbox = QueryBuilder::<Db>::new("UPDATE ");
    inbox.push("inbox SET conversation_id = ");
    move_.push_new_id(&mut inbox);
    inbox.push(" WHERE ");
    move_.push_id_condition(&mut inbox);
    inbox.build().execute(&mut *conn).await?;
    move_.merge(conn, "members", "user_id, since", "DO NOTHING").await?;
    let sums = "(day, interface_type, conversation_id, user_id, agent_id, provider, model) DO UPDATE SET \
         requests = usage.requests + excluded.requests, \
         input_tokens = usage.input_tokens + excluded.input_tokens, \
         output_tokens = usage.output_tokens + excluded.output_tokens, \
         cost_micros = usage.cost_micros + excluded.cost_micros, unpriced = usage.unpriced + excluded.unpriced";
    let columns = "day, user_id, agent_id, provider, model, requests, input_tokens, output_tokens, cost_micros, \
         unpriced";
    move_.merge(conn, "usage", columns, sums).await?;
    Ok(running.iter().map(|row| rows::parse_column(row, "turn_id")).collect::<Result<_, _>>()?)
}

struct Move<'a> {
    from: &'a Conversation,
    to: &'a Conversation,
}

impl Move<'_> {
    /// The chat and its topics, under the old id.
    fn push_condition(&self, query: &mut QueryBuilder<Db>) {
        query.push("interface_type = ").push_bind(self.from.interface.as_str()).push(" AND ");
        self.push_id_condition(query);
    }

    fn push_id_condition(&self, query: &mut QueryBuilder<Db>) {
        query.push("conversation_id || '/' LIKE ").push_bind(format!("{}/%", self.from.chat_id()));
    }

    /// The new id of the same topic.
    fn push_new_id(&self, query: &mut QueryBuilder<Db>) {
        let start = self.from.chat_id().len() + 1;
        query.push_bind(self.to.chat_id().to_owned());
        query.push(format!(" || substr(conversation_id, {start})"));
    }

    async fn rename_messages(&self, conn: &mut Conn) -> Result<(), QueryError> {
        let prefix = self.from.foreign_message_id("");
        let mut photos = QueryBuilder::<Db>::new("UPDATE ");
        photos.push("message_attachments SET interface_message_id = ").push_bind(prefix.clone());
        photos.push(" || interface_message_id WHERE interface_message_id NOT LIKE '%:%' ");
        photos.push("AND internal_id IN (SELECT internal_id FROM message_history WHERE ");
        self.push_condition(&mut photos);
        photos.push(")");
        photos.build().execute(&mut *conn).await?;
        for table in WITH_MESSAGE_IDS {
            let mut query = QueryBuilder::<Db>::new("UPDATE ");
            query.push(table).push(" SET interface_message_id = ").push_bind(prefix.clone());
            query.push(" || interface_message_id WHERE interface_message_id NOT LIKE '%:%' AND ");
            self.push_condition(&mut query);
            query.build().execute(&mut *conn).await?;
        }
        Ok(())
    }

    /// Moves rows of which the new chat may have the same already.
    async fn merge(
        &self,
        conn: &mut Conn,
        table: &str,
        columns: &str,
        on_conflict: &str,
    ) -> Result<(), QueryError> {
        let mut copy = QueryBuilder::<Db>::new("INSERT INTO ");
        copy.push(format!("{table} (interface_type, conversation_id, {columns}) SELECT interface_type, "));
        self.push_new_id(&mut copy);
        copy.push(format!(", {columns} FROM {table} WHERE "));
        self.push_condition(&mut copy);
        copy.push(format!(" ON CONFLICT {on_conflict}"));
        copy.build().execute(&mut *conn).await?;
        let mut old = QueryBuilder::<Db>::new("DELETE FROM ");
        old.push(table).push(" WHERE ");
        self.push_condition(&mut old);
        old.build().execute(conn).await?;
        Ok(())
    }
}
