//! Messages: adds them, finds the target of a reply, and reads histories.

use super::{
    Conn, Db, attachments, labels,
    rows::{self, MESSAGE},
    sessions,
};
use crate::{
    domain::{
        Attachment, AttachmentId, Conversation, Message, MessageId, NewMessage, Role, SessionId, TurnId,
    },
    store::{Detail, FoundMessage, HistorySpan, QueryError, Quota, RecentFilter},
};
use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, Row as _};

/// A page of a history has at most this many messages.
const MAX_PAGE_ROWS: i64 = 64;
/// And ends after the message with which it reaches this size.
const MAX_PAGE_BYTES: i64 = 256 << 10;

/// Adds one message with its links to attachments, whose rows must exist, and counts it in its session.
pub async fn insert_message(conn: &mut Conn, message: &NewMessage) -> Result<MessageId, QueryError> {
    let m = message;
    // First, because it locks the session's row: ids must become visible in order to those who read after the last id.
    sessions::count_message(conn, m).await?;
    let row = sqlx::query::<Db>(
        "INSERT INTO message_history (interface_type, conversation_id, session_id, interface_message_id, turn_id, \
         thread_root_id, timestamp, role, content, tool_calls, tool_call_id, tool_name, agent_id, user_id, \
         reasoning_info, provider_metadata, error, reply, album_id, refs, tags, user_name) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22) \
         RETURNING internal_id",
    )
    .bind(m.conversation.interface.as_str())
    .bind(&m.conversation.id)
    .bind(m.session_id.to_string())
    .bind(&m.interface_message_id)
    .bind(m.turn_id.map(|id| id.to_string()))
    .bind(m.thread_root_id.map(|id| id.0))
    .bind(m.timestamp)
    .bind(m.role.as_str())
    .bind(rows::strip_nul(&m.content))
    .bind((!m.tool_calls.is_empty()).then(|| rows::json_without_nul(&m.tool_calls)).transpose()?)
    .bind(m.tool_call_id.as_deref().map(rows::strip_nul))
    .bind(m.tool_name.as_deref().map(rows::strip_nul))
    .bind(&m.agent_id)
    .bind(m.user_id.as_ref().map(|id| &id.0))
    .bind(m.reasoning_info.as_ref().map(rows::json_without_nul).transpose()?)
    .bind(m.provider_metadata.as_ref().map(rows::json_without_nul).transpose()?)
    .bind(m.error.as_deref().map(rows::strip_nul))
    .bind(m.reply.as_ref().map(rows::json_without_nul).transpose()?)
    .bind(&m.album_id)
    .bind((!m.refs.is_empty()).then(|| rows::json_without_nul(&m.refs)).transpose()?)
    .bind((!m.tags.is_empty()).then(|| rows::json_without_nul(&m.tags)).transpose()?)
    .bind(m.user_name.as_deref().map(rows::strip_nul))
    .fetch_one(&mut *conn)
    .await?;
    let id: i64 = row.try_get("internal_id")?;
    for (position, attachment) in m.attachments.iter().enumerate() {
        // A user message is the one that carries its file. For files of the bot, the id is known after the send.
        let carried_by = (m.role == Role::User).then_some(m.interface_message_id.as_ref()).flatten();
        attachments::link(conn, MessageId(id), position, *attachment, carried_by).await?;
    }
    labels::index_labels(conn, MessageId(id), m).await?;
    Ok(MessageId(id))
}

/// Adds a message and the files that are new with it.
pub async fn add_message(
    conn: &mut Conn,
    quota: &Quota,
    message: &NewMessage,
    new_files: &[Attachment],
) -> Result<MessageId, QueryError> {
    attachments::add_attachments(conn, quota, new_files).await?;
    insert_message(conn, message).await
}

pub async fn message(conn: &mut Conn, id: MessageId) -> Result<Option<Message>, QueryError> {
    let sql = format!("SELECT {MESSAGE} FROM message_history m WHERE m.internal_id = $1");
    let row = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(id.0).fetch_optional(conn).await?;
    Ok(row.as_ref().map(rows::read_message).transpose()?)
}

/// The message with this id on the interface, and the attachment that it shows. The id may be that of the message
/// itself, of one photo of an album that the bot sent, or of a later chunk of a long answer.
pub async fn find_message(
    conn: &mut Conn,
    conversation: &Conversation,
    shown_id: &str,
) -> Result<Option<FoundMessage>, QueryError> {
    let sql = format!(
        "SELECT {MESSAGE}, c.attachment_id AS shown FROM ( \
           SELECT internal_id, NULL AS attachment_id, 2 AS rank FROM message_history \
            WHERE interface_type = $1 AND conversation_id = $2 AND interface_message_id = $3 \
           UNION ALL \
           SELECT a.internal_id, a.attachment_id, 1 AS rank FROM message_attachments a \
             JOIN message_history h ON h.internal_id = a.internal_id \
            WHERE a.interface_message_id = $3 AND h.interface_type = $1 AND h.conversation_id = $2 \
           UNION ALL \
           SELECT internal_id, NULL AS attachment_id, 3 AS rank FROM message_chunks \
            WHERE interface_type = $1 AND conversation_id = $2 AND interface_message_id = $3 \
         ) c JOIN message_history m ON m.internal_id = c.internal_id ORDER BY c.rank LIMIT 1"
    );
    let row = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(conversation.interface.as_str())
        .bind(&conversation.id)
        .bind(shown_id)
        .fetch_optional(conn)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let shown: Option<String> = row.try_get("shown")?;
    Ok(Some(FoundMessage {
        message: rows::read_message(&row)?,
        attachment: shown.and_then(|id| id.parse().ok()),
    }))
}

/// Of the newest `limit` messages of a session before `before`, those since `since`, oldest first. The limit applies
/// first: otherwise a long history without recent messages would be scanned to its start.
pub async fn recent_messages(
    conn: &mut Conn,
    session: SessionId,
    before: MessageId,
    since: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<Message>, QueryError> {
    let sql = format!(
        "SELECT {MESSAGE} FROM ( \
           SELECT internal_id FROM message_history WHERE session_id = $1 AND internal_id < $2 \
           ORDER BY internal_id DESC LIMIT $4 \
         ) newest CROSS JOIN message_history m \
         WHERE m.internal_id = newest.internal_id AND m.timestamp >= $3 ORDER BY m.internal_id DESC"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(session.to_string())
        .bind(before.0)
        .bind(since)
        .bind(limit)
        .fetch_all(conn)
        .await?;
    let mut messages = rows::read_messages(rows)?;
    messages.reverse();
    Ok(messages)
}

/// The newest messages of each conversation, oldest first; the conversation with the newest message comes first.
/// The joined names and the cross join make SQLite start with the few recent rows.
pub async fn recent_by_conversation(
    conn: &mut Conn,
    filter: &RecentFilter,
) -> Result<Vec<(Conversation, Vec<Message>)>, QueryError> {
    let sql = format!(
        "SELECT {MESSAGE} FROM ( \
           SELECT internal_id, position, DENSE_RANK() OVER (ORDER BY newest_id DESC) AS conversation_rank FROM ( \
             SELECT r.internal_id, \
               ROW_NUMBER() OVER (PARTITION BY r.interface_type || ':' || r.conversation_id \
                 ORDER BY r.internal_id DESC) AS position, \
               MAX(r.internal_id) OVER (PARTITION BY r.interface_type || ':' || r.conversation_id) AS newest_id \
             FROM message_history r WHERE r.timestamp >= $1 \
             AND ($2 OR (r.role <> 'tool' AND (r.tool_calls IS NULL OR CAST(r.tool_calls AS TEXT) = '[]'))) \
             AND ($3 OR EXISTS (SELECT 1 FROM members b WHERE b.interface_type = r.interface_type \
               AND b.user_id = $4 AND r.conversation_id || '/' LIKE b.conversation_id || '/%')) \
           ) numbered \
         ) newest CROSS JOIN message_history m \
         WHERE m.internal_id = newest.internal_id AND newest.position <= $5 AND newest.conversation_rank <= $6 \
         ORDER BY m.internal_id DESC"
    );
    let found = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(filter.since)
        .bind(filter.detail == Detail::WithTools)
        .bind(filter.seen_by.is_none())
        .bind(filter.seen_by.as_ref().map(|user| user.0.clone()))
        .bind(filter.per_conversation)
        .bind(filter.conversations)
        .fetch_all(conn)
        .await?;
    let mut grouped: Vec<(Conversation, Vec<Message>)> = Vec::new();
    for message in rows::read_messages(found)? {
        match grouped.iter_mut().find(|(conversation, _)| *conversation == message.conversation) {
            Some((_, messages)) => messages.insert(0, message),
            None => grouped.push((message.conversation.clone(), vec![message])),
        }
    }
    Ok(grouped)
}

/// The root and its children, oldest first. Two index lookups; an OR would scan the conversation.
pub async fn thread(conn: &mut Conn, root: MessageId) -> Result<Vec<Message>, QueryError> {
    let sql = format!(
        "SELECT {MESSAGE} FROM message_history m WHERE m.internal_id = $1 \
         UNION ALL SELECT {MESSAGE} FROM message_history m WHERE m.thread_root_id = $1 ORDER BY internal_id"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(root.0).fetch_all(conn).await?;
    Ok(rows::read_messages(rows)?)
}

/// The messages of the agent and its tools in a turn, in order. The user messages are `inputs_of_turn`.
pub async fn messages_of_turn(conn: &mut Conn, turn: TurnId) -> Result<Vec<Message>, QueryError> {
    let sql = format!("SELECT {MESSAGE} FROM message_history m WHERE m.turn_id = $1 ORDER BY m.internal_id");
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(turn.to_string()).fetch_all(conn).await?;
    Ok(rows::read_messages(rows)?)
}

/// The user messages that a turn answers, in order.
pub async fn inputs_of_turn(conn: &mut Conn, turn: TurnId) -> Result<Vec<Message>, QueryError> {
    let sql = format!(
        "SELECT {MESSAGE} FROM turn_inputs i JOIN message_history m ON m.internal_id = i.internal_id \
         WHERE i.turn_id = $1 ORDER BY m.internal_id"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(turn.to_string()).fetch_all(conn).await?;
    Ok(rows::read_messages(rows)?)
}

/// The messages of one album, in order.
pub async fn messages_of_album(
    conn: &mut Conn,
    conversation: &Conversation,
    album: &str,
) -> Result<Vec<Message>, QueryError> {
    let sql = format!(
        "SELECT {MESSAGE} FROM message_history m WHERE m.interface_type = $1 AND m.conversation_id = $2 \
         AND m.album_id = $3 ORDER BY m.internal_id"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(conversation.interface.as_str())
        .bind(&conversation.id)
        .bind(album)
        .fetch_all(conn)
        .await?;
    Ok(rows::read_messages(rows)?)
}

/// The newest messages of a session before `before`, oldest first. Without a limit, all of them.
pub async fn messages_of_session(
    conn: &mut Conn,
    session: SessionId,
    before: Option<MessageId>,
    limit: Option<i64>,
    detail: Detail,
) -> Result<Vec<Message>, QueryError> {
    let sql = format!(
        "SELECT {MESSAGE} FROM message_history m WHERE m.session_id = $1 AND m.internal_id < $2 \
         AND ($4 OR (m.role <> 'tool' AND (m.tool_calls IS NULL OR CAST(m.tool_calls AS TEXT) = '[]'))) \
         ORDER BY m.internal_id DESC LIMIT $3"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(session.to_string())
        .bind(before.map_or(i64::MAX, |id| id.0))
        .bind(limit.unwrap_or(i64::MAX))
        .bind(detail == Detail::WithTools)
        .fetch_all(conn)
        .await?;
    let mut messages = rows::read_messages(rows)?;
    messages.reverse();
    Ok(messages)
}

/// The newest `limit` messages of a session before `before`, or all of them. None if there are none.
pub async fn history_span(
    conn: &mut Conn,
    session: SessionId,
    before: Option<MessageId>,
    limit: Option<i64>,
    detail: Detail,
) -> Result<Option<HistorySpan>, QueryError> {
    let row = sqlx::query::<Db>(
        "SELECT MIN(internal_id) AS first, MAX(internal_id) AS last, COUNT(*) AS n FROM ( \
           SELECT m.internal_id FROM message_history m WHERE m.session_id = $1 AND m.internal_id < $2 \
           AND ($4 OR (m.role <> 'tool' AND (m.tool_calls IS NULL OR CAST(m.tool_calls AS TEXT) = '[]'))) \
           ORDER BY m.internal_id DESC LIMIT $3 \
         ) newest",
    )
    .bind(session.to_string())
    .bind(before.map_or(i64::MAX, |id| id.0))
    .bind(limit.unwrap_or(i64::MAX))
    .bind(detail == Detail::WithTools)
    .fetch_one(conn)
    .await?;
    let (first, last): (Option<i64>, Option<i64>) = (row.try_get("first")?, row.try_get("last")?);
    let count = row.try_get("n")?;
    let ends = first.zip(last);
    Ok(ends.map(|(first, last)| HistorySpan { first: MessageId(first), last: MessageId(last), count }))
}

/// The next messages of a session after one and up to another, oldest first: one message, and more while they are small.
/// `octet_length` reads no text, so that looking ahead is cheap.
pub async fn history_page(
    conn: &mut Conn,
    session: SessionId,
    after: MessageId,
    last: MessageId,
    detail: Detail,
) -> Result<Vec<Message>, QueryError> {
    let sql = format!(
        "SELECT {MESSAGE} FROM message_history m WHERE m.internal_id IN ( \
           SELECT internal_id FROM ( \
             SELECT internal_id, SUM(bytes) OVER (ORDER BY internal_id) - bytes AS bytes_before FROM ( \
               SELECT h.internal_id, octet_length(h.content) + COALESCE(octet_length(h.error), 0) \
                 + COALESCE(octet_length(CAST(h.tool_calls AS TEXT)), 0) \
                 + COALESCE(octet_length(CAST(h.provider_metadata AS TEXT)), 0) \
                 + COALESCE(octet_length(CAST(h.refs AS TEXT)), 0) AS bytes \
               FROM message_history h WHERE h.session_id = $1 AND h.internal_id > $2 AND h.internal_id <= $3 \
               AND ($4 OR (h.role <> 'tool' AND (h.tool_calls IS NULL OR CAST(h.tool_calls AS TEXT) = '[]'))) \
               ORDER BY h.internal_id LIMIT $5 \
             ) sized \
           ) summed WHERE bytes_before < $6 \
         ) ORDER BY m.internal_id"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(session.to_string())
        .bind(after.0)
        .bind(last.0)
        .bind(detail == Detail::WithTools)
        .bind(MAX_PAGE_ROWS)
        .bind(MAX_PAGE_BYTES)
        .fetch_all(conn)
        .await?;
    Ok(rows::read_messages(rows)?)
}

/// The first message of a person and the last answer of the agent, up to this message.
pub async fn question_and_answer(
    conn: &mut Conn,
    session: SessionId,
    last: MessageId,
) -> Result<(Option<Message>, Option<Message>), QueryError> {
    let question = format!(
        "SELECT {MESSAGE} FROM message_history m WHERE m.session_id = $1 AND m.internal_id <= $2 \
         AND m.role = 'user' ORDER BY m.internal_id LIMIT 1"
    );
    let answer = format!(
        "SELECT {MESSAGE} FROM message_history m WHERE m.session_id = $1 AND m.internal_id <= $2 \
         AND m.role = 'assistant' AND (m.tool_calls IS NULL OR CAST(m.tool_calls AS TEXT) = '[]') \
         ORDER BY m.internal_id DESC LIMIT 1"
    );
    Ok((
        first_message(conn, question, session, last).await?,
        first_message(conn, answer, session, last).await?,
    ))
}

/// The message that a statement over a session and its last message finds.
async fn first_message(
    conn: &mut Conn,
    sql: String,
    session: SessionId,
    last: MessageId,
) -> Result<Option<Message>, QueryError> {
    let query = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(session.to_string()).bind(last.0);
    Ok(query.fetch_optional(conn).await?.as_ref().map(rows::read_message).transpose()?)
}

/// The messages of a session after this one, oldest first.
pub async fn messages_after(
    conn: &mut Conn,
    session: SessionId,
    after: MessageId,
    limit: i64,
) -> Result<Vec<Message>, QueryError> {
    let sql = format!(
        "SELECT {MESSAGE} FROM message_history m WHERE m.session_id = $1 AND m.internal_id > $2 \
         ORDER BY m.internal_id LIMIT $3"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(session.to_string())
        .bind(after.0)
        .bind(limit)
        .fetch_all(conn)
        .await?;
    Ok(rows::read_messages(rows)?)
}

/// The id of the newest message of a session.
pub async fn last_message_id(conn: &mut Conn, session: SessionId) -> Result<Option<MessageId>, QueryError> {
    let row = sqlx::query::<Db>("SELECT MAX(internal_id) AS last FROM message_history WHERE session_id = $1")
        .bind(session.to_string())
        .fetch_one(conn)
        .await?;
    Ok(row.try_get::<Option<i64>, _>("last")?.map(MessageId))
}

/// Stores an id that a sent message has on the interface. The first id is stored with the message, later ones (chunks of
/// a long text) in `message_chunks`. An id that another message has already stays there: a person replied to the message
/// before its id was stored, and the reply's copy of it was filed.
pub async fn set_interface_id(conn: &mut Conn, id: MessageId, shown_id: &str) -> Result<(), QueryError> {
    let done = sqlx::query::<Db>(
        "UPDATE message_history SET interface_message_id = $2 \
         WHERE internal_id = $1 AND interface_message_id IS NULL AND NOT EXISTS ( \
           SELECT 1 FROM message_history taken WHERE taken.interface_type = message_history.interface_type \
           AND taken.conversation_id = message_history.conversation_id AND taken.interface_message_id = $2)",
    )
    .bind(id.0)
    .bind(shown_id)
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 0 {
        sqlx::query::<Db>(
            "INSERT INTO message_chunks (interface_type, conversation_id, interface_message_id, internal_id) \
             SELECT interface_type, conversation_id, $2, internal_id FROM message_history \
             WHERE internal_id = $1 ON CONFLICT DO NOTHING",
        )
        .bind(id.0)
        .bind(shown_id)
        .execute(conn)
        .await?;
    }
    Ok(())
}

/// Stores the id that one file of a sent message has on the interface.
pub async fn set_attachment_interface_id(
    conn: &mut Conn,
    message: MessageId,
    attachment: AttachmentId,
    shown_id: &str,
) -> Result<(), QueryError> {
    // A picture may be in an answer twice: each position has its own id.
    let done = sqlx::query::<Db>(
        "UPDATE message_attachments SET interface_message_id = $3 WHERE internal_id = $1 AND position = ( \
           SELECT MIN(position) FROM message_attachments \
           WHERE internal_id = $1 AND attachment_id = $2 AND interface_message_id IS NULL)",
    )
    .bind(message.0)
    .bind(attachment.to_string())
    .bind(shown_id)
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 0 {
        return set_interface_id(conn, message, shown_id).await;
    }
    sqlx::query::<Db>(
        "UPDATE message_history SET interface_message_id = $2 \
         WHERE internal_id = $1 AND interface_message_id IS NULL AND NOT EXISTS ( \
           SELECT 1 FROM message_history taken WHERE taken.interface_type = message_history.interface_type \
           AND taken.conversation_id = message_history.conversation_id AND taken.interface_message_id = $2)",
    )
    .bind(message.0)
    .bind(shown_id)
    .execute(conn)
    .await?;
    Ok(())
}

/// Stores the new text of a message that a person edited. False if the message is not stored.
pub async fn edit_message(
    conn: &mut Conn,
    conversation: &Conversation,
    shown_id: &str,
    content: &str,
) -> Result<bool, QueryError> {
    let found = sqlx::query::<Db>(
        "SELECT internal_id, session_id, content FROM message_history \
         WHERE interface_type = $1 AND conversation_id = $2 AND interface_message_id = $3 AND role = 'user'",
    )
    .bind(conversation.interface.as_str())
    .bind(&conversation.id)
    .bind(shown_id)
    .fetch_optional(&mut *conn)
    .await?;
    let Some(row) = found else { return Ok(false) };
    sqlx::query::<Db>("UPDATE message_history SET content = $2 WHERE internal_id = $1")
        .bind(row.try_get::<i64, _>("internal_id")?)
        .bind(rows::strip_nul(content))
        .execute(&mut *conn)
        .await?;
    let session = rows::parse_column(&row, "session_id")?;
    sessions::replace_preview(conn, session, &row.try_get::<String, _>("content")?, content).await?;
    sessions::increase_revision(conn, session).await?;
    Ok(true)
}
