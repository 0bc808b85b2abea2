//! Filing: one transaction that stores the messages and files of a batch, starts or joins its turn, and closes its inbox
//! rows.

use super::{
    Conn, Db, LOCK_TURN,
    attachments::{self, AddedBytes},
    history, inbox, members, outbox, rows, sessions,
};
use crate::{
    domain::{AttachmentId, Conversation, MessageId, NewMessage, SessionId, TurnId},
    store::{Filed, FiledFile, Filing, QueryError, Quota, SendOrigin, WantsTurn},
};
use chrono::Utc;
use sqlx::AssertSqlSafe;

/// Files a batch. Fails with `AlreadyDone` if one of its inbox rows is closed already.
pub async fn file(conn: &mut Conn, quota: &Quota, filing: &Filing) -> Result<Filed, QueryError> {
    inbox::close_updates(conn, &filing.inbox_ids).await?;
    check_new_files(conn, quota, filing).await?;
    let session = match (&filing.thread_root, filing.session) {
        (Some(root), _) => root.session_id,
        (None, Some(session)) => session,
        (None, None) => sessions::ensure_session(conn, &filing.conversation, &filing.user_id).await?,
    };
    // Messages that start no turn are addressed to no agent.
    let agent_id = (filing.wants_turn == WantsTurn::Yes).then(|| filing.agent_id.clone());
    let mut root = filing.thread_root.as_ref().map(|message| message.root());
    let mut messages = Vec::new();
    for filed in &filing.messages {
        let mut attachments = Vec::new();
        for file in &filed.files {
            attachments.push(add_file(conn, &filing.conversation, file).await?);
        }
        let message = NewMessage {
            interface_message_id: filed.interface_message_id.clone(),
            thread_root_id: root,
            timestamp: filed.timestamp,
            agent_id: agent_id.clone(),
            user_id: filed.user_id.clone(),
            user_name: filed.user_name.clone(),
            error: filed.error.clone(),
            reply: filed.reply.clone(),
            album_id: filed.album_id.clone(),
            attachments,
            ..NewMessage::new(filing.conversation.clone(), session, filed.role, filed.content.as_str())
        };
        let id = history::insert_message(conn, &message).await?;
        root.get_or_insert(id);
        messages.push(id);
    }
    let turn = match (root, filing.wants_turn) {
        (Some(root), WantsTurn::Yes) => Some(join_or_start(conn, filing, session, root, &messages).await?),
        _ => None,
    };
    members::add_member(conn, &filing.conversation, &filing.user_id).await?;
    if let (Some(echo), Some(first)) = (&filing.echo, messages.first()) {
        let origin = SendOrigin { turn: None, message: Some(*first) };
        outbox::queue(conn, &filing.conversation, origin, echo.reply_to.as_deref(), &echo.sends).await?;
    }
    Ok(Filed { messages, turn })
}

/// Checks the sizes of all files that are new to the conversation.
async fn check_new_files(conn: &mut Conn, quota: &Quota, filing: &Filing) -> Result<(), QueryError> {
    let mut added = Vec::new();
    for file in filing.messages.iter().flat_map(|message| &message.files) {
        match file {
            FiledFile::New(attachment) => added.push(AddedBytes::of(attachment)),
            FiledFile::Known(_) => {}
            FiledFile::Moved { id, from } => {
                added.push(attachments::moved_bytes(conn, *id, from, &filing.conversation).await?);
            }
        }
    }
    attachments::check_quota(conn, quota, &added).await
}

async fn add_file(
    conn: &mut Conn,
    conversation: &Conversation,
    file: &FiledFile,
) -> Result<AttachmentId, QueryError> {
    match file {
        FiledFile::New(attachment) => attachments::insert_attachment(conn, attachment).await?,
        FiledFile::Known(_) => {}
        FiledFile::Moved { id, from } => attachments::move_attachment(conn, *id, from, conversation).await?,
    }
    Ok(file.id())
}

/// A late photo joins the pending turn of its album. Any other batch starts a turn.
async fn join_or_start(
    conn: &mut Conn,
    filing: &Filing,
    session: SessionId,
    root: MessageId,
    messages: &[MessageId],
) -> Result<TurnId, QueryError> {
    let mut joined = None;
    for album in filing.messages.iter().filter_map(|message| message.album_id.as_ref()) {
        let sql = format!(
            "SELECT t.turn_id FROM message_history m JOIN turn_inputs i ON i.internal_id = m.internal_id \
             JOIN turns t ON t.turn_id = i.turn_id AND t.state = 'pending' \
             WHERE m.interface_type = $1 AND m.conversation_id = $2 AND m.album_id = $3 {LOCK_TURN}"
        );
        let row = sqlx::query::<Db>(AssertSqlSafe(sql))
            .bind(filing.conversation.interface.as_str())
            .bind(&filing.conversation.id)
            .bind(album)
            .fetch_optional(&mut *conn)
            .await?;
        if let Some(row) = row {
            joined = Some(rows::parse_column::<TurnId>(&row, "turn_id")?);
            break;
        }
    }
    let turn = match joined {
        Some(turn) => turn,
        None => start_turn(conn, filing, session, root).await?,
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

async fn start_turn(
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
