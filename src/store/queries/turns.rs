//! Turns: filed with the messages they answer, claimed one per conversation, finished with their sends.

use super::{
    CLAIM, Conn, Db, JOIN, attachments, history, inbox, members, outbox,
    rows::{self, TURN},
    sessions,
};
use crate::{
    domain::{Conversation, MessageId, NewMessage, SessionId, Turn, TurnId, TurnState},
    store::{Filed, Filing, Finish, Origin, QueryError, WantsTurn},
};
use chrono::Utc;
use sqlx::{AssertSqlSafe, QueryBuilder, Row as _};

/// Messages, attachments, thread, turn and the closing of the inbox rows: at once or not at all.
pub async fn file(conn: &mut Conn, filing: &Filing) -> Result<Filed, QueryError> {
    inbox::close_updates(conn, &filing.inbox_ids).await?;
    let session = match (&filing.thread_root, filing.session) {
        (Some(root), _) => root.session_id,
        (None, Some(session)) => session,
        (None, None) => sessions::ensure_session(conn, &filing.conversation, &filing.user_id).await?,
    };
    let mut root = filing.thread_root.as_ref().map(|message| message.root());
    let mut messages = Vec::new();
    for filed in &filing.messages {
        for attachment in &filed.attachments {
            attachments::add_attachment(conn, attachment).await?;
        }
        let known = filed.message.attachments.iter().copied();
        // Only what someone is to answer is said to anyone.
        let agent_id = (filing.wants_turn == WantsTurn::Yes).then(|| filing.agent_id.clone());
        let message = NewMessage {
            agent_id,
            session_id: session,
            thread_root_id: root,
            attachments: known.chain(filed.attachments.iter().map(|a| a.attachment_id)).collect(),
            ..filed.message.clone()
        };
        let id = history::add_message(conn, &message).await?;
        root.get_or_insert(id);
        messages.push(id);
    }
    let turn = match (root, filing.wants_turn) {
        (Some(root), WantsTurn::Yes) => Some(join_or_start(conn, filing, session, root, &messages).await?),
        _ => None,
    };
    members::add_member(conn, &filing.conversation, &filing.user_id).await?;
    if let (Some(echo), Some(first)) = (&filing.echo, messages.first()) {
        let origin = Origin { turn: None, message: Some(*first) };
        outbox::queue(conn, &filing.conversation, origin, echo.reply_to.as_deref(), &echo.sends).await?;
    }
    Ok(Filed { messages, turn })
}

/// A late photo joins the turn of its album if that has not started; anything else is a turn of its own.
async fn join_or_start(
    conn: &mut Conn,
    filing: &Filing,
    session: SessionId,
    root: MessageId,
    messages: &[MessageId],
) -> Result<TurnId, QueryError> {
    let mut joined = None;
    for album in filing.messages.iter().filter_map(|m| m.message.album_id.as_ref()) {
        let sql = format!(
            "SELECT t.turn_id FROM message_history m JOIN turn_inputs i ON i.internal_id = m.internal_id \
             JOIN turns t ON t.turn_id = i.turn_id AND t.state = 'pending' \
             WHERE m.interface_type = $1 AND m.conversation_id = $2 AND m.album_id = $3 {JOIN}"
        );
        let row = sqlx::query::<Db>(AssertSqlSafe(sql))
            .bind(filing.conversation.interface.as_str())
            .bind(&filing.conversation.id)
            .bind(album)
            .fetch_optional(&mut *conn)
            .await?;
        if let Some(row) = row {
            joined = Some(rows::parsed::<TurnId>(&row, "turn_id")?);
            break;
        }
    }
    let turn = match joined {
        Some(turn) => turn,
        None => start(conn, filing, session, root).await?,
    };
    for id in messages {
        sqlx::query::<Db>("INSERT INTO turn_inputs (turn_id, internal_id) VALUES ($1, $2)")
            .bind(turn.to_string())
            .bind(id.0)
            .execute(&mut *conn)
            .await?;
    }
    Ok(turn)
}

async fn start(
    conn: &mut Conn,
    filing: &Filing,
    session: SessionId,
    root: MessageId,
) -> Result<TurnId, QueryError> {
    let turn = TurnId::new();
    sqlx::query::<Db>(
        "INSERT INTO turns (turn_id, interface_type, conversation_id, session_id, state, thread_root_id, user_id, \
         agent_id, created_at) VALUES ($1, $2, $3, $4, 'pending', $5, $6, $7, $8)",
    )
    .bind(turn.to_string())
    .bind(filing.conversation.interface.as_str())
    .bind(&filing.conversation.id)
    .bind(session.to_string())
    .bind(root.0)
    .bind(&filing.user_id.0)
    .bind(&filing.agent_id)
    .bind(Utc::now())
    .execute(conn)
    .await?;
    Ok(turn)
}

/// The oldest waiting turn whose conversation is free; it is running from now on.
pub async fn claim_turn(conn: &mut Conn) -> Result<Option<Turn>, QueryError> {
    let sql = format!(
        "UPDATE turns SET state = 'running', attempts = attempts + 1, started_at = $1 WHERE turn_id = ( \
           SELECT p.turn_id FROM turns p WHERE p.state IN ('pending', 'running') AND p.state = 'pending' \
           AND NOT EXISTS ( \
             SELECT 1 FROM turns o WHERE o.state IN ('pending', 'running') \
             AND o.interface_type = p.interface_type AND o.conversation_id = p.conversation_id \
             AND (o.state = 'running' OR (o.created_at, o.turn_id) < (p.created_at, p.turn_id))) \
           ORDER BY p.created_at, p.turn_id LIMIT 1 {CLAIM}) RETURNING turn_id"
    );
    let row = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(Utc::now()).fetch_optional(&mut *conn).await;
    let row = match row {
        // Another instance just took a turn of this conversation.
        Err(sqlx::Error::Database(e)) if e.is_unique_violation() => None,
        other => other?,
    };
    match row {
        Some(row) => turn(conn, rows::parsed(&row, "turn_id")?).await,
        None => Ok(None),
    }
}

pub async fn turn(conn: &mut Conn, id: TurnId) -> Result<Option<Turn>, QueryError> {
    let sql = format!("SELECT {TURN} FROM turns t WHERE t.turn_id = $1");
    let row = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(id.to_string()).fetch_optional(conn).await?;
    Ok(row.as_ref().map(rows::turn).transpose()?)
}

/// The turn's last message and its planned sends. Refused if the turn was cancelled meanwhile.
pub async fn finish_turn(conn: &mut Conn, finish: &Finish<'_>) -> Result<MessageId, QueryError> {
    let done = sqlx::query::<Db>(
        "UPDATE turns SET state = $2, finished_at = $3 WHERE turn_id = $1 AND state = 'running'",
    )
    .bind(finish.turn.turn_id.to_string())
    .bind(finish.state.as_str())
    .bind(Utc::now())
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 0 {
        return Err(QueryError::AlreadyDone);
    }
    let id = history::add_message(conn, finish.message).await?;
    outbox::queue(
        conn,
        &finish.turn.conversation,
        Origin { turn: Some(finish.turn.turn_id), message: Some(id) },
        finish.reply_to,
        finish.sends,
    )
    .await?;
    Ok(id)
}

/// Ends everything that runs or waits in a conversation; returns what was ended.
pub async fn cancel_turns(conn: &mut Conn, place: &Conversation) -> Result<Vec<TurnId>, QueryError> {
    let rows = sqlx::query::<Db>(
        "UPDATE turns SET state = $3, finished_at = $4 WHERE interface_type = $1 AND conversation_id = $2 \
         AND state IN ('pending', 'running') RETURNING turn_id",
    )
    .bind(place.interface.as_str())
    .bind(&place.id)
    .bind(TurnState::Cancelled.as_str())
    .bind(Utc::now())
    .fetch_all(conn)
    .await?;
    Ok(rows.iter().map(|row| rows::parsed(row, "turn_id")).collect::<Result<_, _>>()?)
}

/// After a crash: what was running goes back to the queue and will go on from its stored steps.
pub async fn recover_turns(conn: &mut Conn) -> Result<u64, QueryError> {
    let done =
        sqlx::query::<Db>("UPDATE turns SET state = 'pending' WHERE state = 'running'").execute(conn).await?;
    Ok(done.rows_affected())
}

/// After the database was away: a turn that was claimed without our hearing of it goes back to the queue.
pub async fn give_back_turns(conn: &mut Conn, running: &[TurnId]) -> Result<u64, QueryError> {
    let mut query = QueryBuilder::<Db>::new("UPDATE turns SET state = 'pending' WHERE state = 'running'");
    if !running.is_empty() {
        query.push(" AND turn_id NOT IN (");
        let mut ids = query.separated(", ");
        for id in running {
            ids.push_bind(id.to_string());
        }
        query.push(")");
    }
    Ok(query.build().execute(conn).await?.rows_affected())
}

/// The turn of a session that runs, or else the first that waits.
pub async fn open_turn_of_session(conn: &mut Conn, session: SessionId) -> Result<Option<Turn>, QueryError> {
    let sql = format!(
        "SELECT {TURN} FROM turns t WHERE t.session_id = $1 AND t.state IN ('pending', 'running') \
         ORDER BY CASE t.state WHEN 'running' THEN 0 ELSE 1 END, t.created_at, t.turn_id LIMIT 1"
    );
    let row = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(session.to_string()).fetch_optional(conn).await?;
    Ok(row.as_ref().map(rows::turn).transpose()?)
}

/// How many turns wait or run, for `doctor`.
pub async fn open_turns(conn: &mut Conn) -> Result<i64, QueryError> {
    let row = sqlx::query::<Db>("SELECT COUNT(*) AS n FROM turns WHERE state IN ('pending', 'running')")
        .fetch_one(conn)
        .await?;
    Ok(row.try_get("n")?)
}
