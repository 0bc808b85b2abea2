//! Reactions: messages that show a reaction of the bot. A row is here before the reaction is asked for and until it is gone.

use super::{Conn, Db, rows};
use crate::store::{QueryError, Reaction};
use sqlx::Row as _;

/// Records a reaction that is about to be shown. False if a photo of the same album shows one: Telegram shows it at the
/// first photo, whichever it is asked for.
pub async fn add_reaction(conn: &mut Conn, reaction: &Reaction) -> Result<bool, QueryError> {
    let done = sqlx::query::<Db>(
        "INSERT INTO reactions (inbox_id, interface_type, conversation_id, interface_message_id) \
         SELECT $1, $2, $3, $4 WHERE NOT EXISTS ( \
           SELECT 1 FROM inbox i JOIN inbox s ON s.conversation_id = i.conversation_id AND s.album_id = i.album_id \
             AND s.state = 'waiting' JOIN reactions e ON e.inbox_id = s.inbox_id WHERE i.inbox_id = $1) \
         ON CONFLICT DO NOTHING",
    )
    .bind(reaction.inbox_id)
    .bind(reaction.conversation.interface.as_str())
    .bind(&reaction.conversation.id)
    .bind(&reaction.shown_id)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Reactions whose message waits for nothing any more: it is in no batch, its turn has ended, and its answer is sent. There
/// are few rows: one for each message that is being answered.
pub async fn spare_reactions(conn: &mut Conn) -> Result<Vec<Reaction>, QueryError> {
    let found = sqlx::query::<Db>(
        "SELECT e.inbox_id, e.interface_type, e.conversation_id, e.interface_message_id FROM reactions e \
         WHERE NOT EXISTS (SELECT 1 FROM inbox i WHERE i.inbox_id = e.inbox_id \
           AND i.state IN ('received', 'waiting')) \
         AND NOT EXISTS (SELECT 1 FROM message_history m JOIN turn_inputs u ON u.internal_id = m.internal_id \
           JOIN turns t ON t.turn_id = u.turn_id \
           WHERE m.interface_type = e.interface_type AND m.conversation_id = e.conversation_id \
           AND m.interface_message_id = e.interface_message_id AND (t.state IN ('pending', 'running') \
             OR EXISTS (SELECT 1 FROM outbox o WHERE o.turn_id = t.turn_id AND o.state IN ('queued', 'sending')))) \
         ORDER BY e.inbox_id",
    )
    .fetch_all(conn)
    .await?;
    let read = |row: &super::Row| {
        Ok(Reaction {
            inbox_id: row.try_get("inbox_id")?,
            conversation: rows::read_conversation(row)?,
            shown_id: row.try_get("interface_message_id")?,
        })
    };
    found.iter().map(read).collect()
}

/// The reaction is gone, or was never shown.
pub async fn delete_reaction(conn: &mut Conn, inbox_id: i64) -> Result<(), QueryError> {
    sqlx::query::<Db>("DELETE FROM reactions WHERE inbox_id = $1").bind(inbox_id).execute(conn).await?;
    Ok(())
}
