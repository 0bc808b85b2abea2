//! Attachments: the rows about files. Their bytes are in the object store.

use super::{
    Conn, Db, lock_name,
    rows::{self, ATTACHMENT},
};
use crate::{
    domain::{Attachment, AttachmentId, Conversation, MessageId, SessionId, UserId},
    store::{QueryError, Quota, StoredBytes},
};
use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, QueryBuilder, Row as _, types::Json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Databases limit the number of values in one statement.
const MAX_VALUES: usize = 10_000;

/// Bytes that a transaction adds to the files of a conversation and of a person.
pub struct AddedBytes {
    conversation: Conversation,
    user: UserId,
    bytes: StoredBytes,
}

impl AddedBytes {
    pub fn of(file: &Attachment) -> Self {
        let bytes = StoredBytes::both(file.size.unsigned_abs());
        Self { conversation: file.conversation.clone(), user: file.user_id.clone(), bytes }
    }
}

/// Fails with `OverQuota` if all of this together exceeds a limit. Reads the totals once per conversation and person.
///
/// It locks the totals until the end of the transaction. Call it before anything else that locks rows of sessions or
/// files: transactions that lock in different orders would wait for each other.
pub async fn check_quota(conn: &mut Conn, quota: &Quota, added: &[AddedBytes]) -> Result<(), QueryError> {
    if *quota == Quota::default() {
        return Ok(());
    }
    let mut of_conversation: BTreeMap<&Conversation, u64> = BTreeMap::new();
    let mut of_person: BTreeMap<&str, u64> = BTreeMap::new();
    let mut owners: BTreeSet<(&Conversation, &str)> = BTreeSet::new();
    // A picture that is only a recipe adds nothing.
    for added in added.iter().filter(|added| added.bytes != StoredBytes::default()) {
        *of_conversation.entry(&added.conversation).or_default() += added.bytes.conversation;
        *of_person.entry(&added.user.0).or_default() += added.bytes.person;
        owners.insert((&added.conversation, &added.user.0));
    }
    // Two transactions must not add up the same files at the same moment. The maps give every one the same order.
    for conversation in of_conversation.keys() {
        lock_name(conn, &format!("files of conversation {conversation}")).await?;
    }
    for person in of_person.keys() {
        lock_name(conn, &format!("files of person {person}")).await?;
    }
    for (conversation, person) in owners {
        let kept = stored_bytes(conn, conversation, &UserId(person.to_owned())).await?;
        let sum = |bytes: Option<&u64>| bytes.copied().unwrap_or_default();
        let (conversation, person) = (sum(of_conversation.get(conversation)), sum(of_person.get(person)));
        quota.check(kept, StoredBytes { conversation, person })?;
    }
    Ok(())
}

pub async fn add_attachment(
    conn: &mut Conn,
    quota: &Quota,
    attachment: &Attachment,
) -> Result<(), QueryError> {
    add_attachments(conn, quota, std::slice::from_ref(attachment)).await
}

/// Adds new files. Their sizes are checked together, and before the first row.
pub async fn add_attachments(conn: &mut Conn, quota: &Quota, files: &[Attachment]) -> Result<(), QueryError> {
    let added: Vec<AddedBytes> = files.iter().map(AddedBytes::of).collect();
    check_quota(conn, quota, &added).await?;
    for file in files {
        insert_attachment(conn, file).await?;
    }
    Ok(())
}

/// Adds the row of a file whose size `check_quota` has checked in this transaction.
pub async fn insert_attachment(conn: &mut Conn, a: &Attachment) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "INSERT INTO attachment_metadata (attachment_id, conversation_id, interface_type, source, sha256, mime_type, \
         filename, description, size, width, height, object_key, created_at, parents, recipe, user_id) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
    )
    .bind(a.attachment_id.to_string())
    .bind(&a.conversation.id)
    .bind(a.conversation.interface.as_str())
    .bind(a.source.as_str())
    .bind(a.sha256().unwrap_or_default())
    .bind(&a.mime_type)
    .bind(rows::strip_nul(&a.filename))
    .bind(a.description.as_deref().map(rows::strip_nul))
    .bind(a.size)
    .bind(a.width)
    .bind(a.height)
    .bind(a.object_key().unwrap_or_default())
    .bind(a.created_at)
    .bind(Json(&a.parents))
    .bind(a.recipe().map(rows::json_without_nul).transpose()?)
    .bind(&a.user_id.0)
    .execute(conn)
    .await?;
    Ok(())
}

/// Stores the blob that a recipe was rendered to, unless there is one already. False if the attachment was deleted
/// meanwhile; then the blob is listed for deletion.
pub async fn store_rendered_attachment(
    conn: &mut Conn,
    quota: &Quota,
    rendered: &Attachment,
) -> Result<bool, QueryError> {
    let waiting = sqlx::query::<Db>(
        "SELECT COUNT(*) AS n FROM attachment_metadata WHERE attachment_id = $1 AND object_key = ''",
    )
    .bind(rendered.attachment_id.to_string())
    .fetch_one(&mut *conn)
    .await?;
    // Another render may have stored it already: then it takes no room.
    if waiting.try_get::<i64, _>("n")? > 0 {
        check_quota(conn, quota, &[AddedBytes::of(rendered)]).await?;
    }
    let (object_key, sha256) =
        (rendered.object_key().unwrap_or_default(), rendered.sha256().unwrap_or_default());
    let done = sqlx::query::<Db>(
        "UPDATE attachment_metadata SET sha256 = $2, mime_type = $3, size = $4, width = $5, height = $6, object_key = $7 \
         WHERE attachment_id = $1 AND object_key = ''",
    )
    .bind(rendered.attachment_id.to_string())
    .bind(sha256)
    .bind(&rendered.mime_type)
    .bind(rendered.size)
    .bind(rendered.width)
    .bind(rendered.height)
    .bind(object_key)
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() > 0 {
        return Ok(true);
    }
    let listed = sqlx::query::<Db>(
        "INSERT INTO doomed_objects (attachment_id, object_key, sha256) SELECT $1, $2, $3 \
         WHERE NOT EXISTS (SELECT 1 FROM attachment_metadata f WHERE f.attachment_id = $1) ON CONFLICT DO NOTHING",
    )
    .bind(rendered.attachment_id.to_string())
    .bind(object_key)
    .bind(sha256)
    .execute(conn)
    .await?;
    Ok(listed.rows_affected() == 0)
}

/// The attachments that were made from this one, newest first.
pub async fn children_of_attachment(
    conn: &mut Conn,
    parent: &Attachment,
) -> Result<Vec<Attachment>, QueryError> {
    let sql = format!(
        "SELECT {ATTACHMENT} FROM attachment_metadata f WHERE f.interface_type = $1 AND f.conversation_id = $2 \
         AND f.created_at >= $3 AND CAST(f.parents AS TEXT) LIKE $4 ORDER BY f.created_at DESC"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(parent.conversation.interface.as_str())
        .bind(&parent.conversation.id)
        .bind(parent.created_at)
        .bind(format!("%{}%", parent.attachment_id))
        .fetch_all(conn)
        .await?;
    Ok(rows::read_attachments(rows)?)
}

/// What moving a file adds to a conversation; its person keeps it. Fails with `AttachmentGone` if it is not in `from`.
pub async fn moved_bytes(
    conn: &mut Conn,
    id: AttachmentId,
    from: &Conversation,
    to: &Conversation,
) -> Result<AddedBytes, QueryError> {
    let file = attachment(conn, from, id).await?.ok_or(QueryError::AttachmentGone(id))?;
    let bytes = StoredBytes { conversation: file.size.unsigned_abs(), person: 0 };
    Ok(AddedBytes { conversation: to.clone(), user: file.user_id, bytes })
}

/// Moves a file from one conversation to another. Fails with `AttachmentGone` if it is not in the first one.
pub async fn move_attachment(
    conn: &mut Conn,
    id: AttachmentId,
    from: &Conversation,
    to: &Conversation,
) -> Result<(), QueryError> {
    let done = sqlx::query::<Db>(
        "UPDATE attachment_metadata SET interface_type = $4, conversation_id = $5 \
         WHERE attachment_id = $1 AND interface_type = $2 AND conversation_id = $3",
    )
    .bind(id.to_string())
    .bind(from.interface.as_str())
    .bind(&from.id)
    .bind(to.interface.as_str())
    .bind(&to.id)
    .execute(conn)
    .await?;
    if done.rows_affected() == 0 {
        return Err(QueryError::AttachmentGone(id));
    }
    Ok(())
}

/// The id that a message, or one file of it, has on the interface.
pub async fn interface_message_id(
    conn: &mut Conn,
    message: MessageId,
    attachment: Option<AttachmentId>,
) -> Result<Option<String>, QueryError> {
    let row = sqlx::query::<Db>(
        "SELECT COALESCE( \
           (SELECT MIN(a.interface_message_id) FROM message_attachments a \
            WHERE a.internal_id = m.internal_id AND a.attachment_id = $2), \
           m.interface_message_id) AS shown FROM message_history m WHERE m.internal_id = $1",
    )
    .bind(message.0)
    .bind(attachment.map(|id| id.to_string()))
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| row.try_get("shown")).transpose()?.flatten())
}

/// Links an attachment to a message. `carried_by` is the id of the message that shows it on the interface.
pub async fn link(
    conn: &mut Conn,
    message: MessageId,
    position: usize,
    attachment: AttachmentId,
    carried_by: Option<&String>,
) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "INSERT INTO message_attachments (internal_id, position, attachment_id, interface_message_id) \
         VALUES ($1, $2, $3, $4)",
    )
    .bind(message.0)
    .bind(position as i64)
    .bind(attachment.to_string())
    .bind(carried_by)
    .execute(conn)
    .await?;
    Ok(())
}

/// An attachment of this conversation. Ids of other conversations are not found.
pub async fn attachment(
    conn: &mut Conn,
    conversation: &Conversation,
    id: AttachmentId,
) -> Result<Option<Attachment>, QueryError> {
    let sql = format!(
        "SELECT {ATTACHMENT} FROM attachment_metadata f \
         WHERE f.attachment_id = $1 AND f.interface_type = $2 AND f.conversation_id = $3"
    );
    let row = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(id.to_string())
        .bind(conversation.interface.as_str())
        .bind(&conversation.id)
        .fetch_optional(conn)
        .await?;
    Ok(row.as_ref().map(rows::read_attachment).transpose()?)
}

/// The attachments of this conversation among `ids`, in the order of `ids`.
pub async fn attachments(
    conn: &mut Conn,
    conversation: &Conversation,
    ids: &[AttachmentId],
) -> Result<Vec<Attachment>, QueryError> {
    let mut found: HashMap<AttachmentId, Attachment> = HashMap::new();
    for chunk in ids.chunks(MAX_VALUES) {
        let mut query = QueryBuilder::<Db>::new(format!(
            "SELECT {ATTACHMENT} FROM attachment_metadata f WHERE f.interface_type = "
        ));
        query
            .push_bind(conversation.interface.as_str())
            .push(" AND f.conversation_id = ")
            .push_bind(&conversation.id);
        query.push(" AND f.attachment_id IN (");
        let mut list = query.separated(", ");
        for id in chunk {
            list.push_bind(id.to_string());
        }
        query.push(")");
        let rows = rows::read_attachments(query.build().fetch_all(&mut *conn).await?)?;
        found.extend(rows.into_iter().map(|file| (file.attachment_id, file)));
    }
    Ok(ids.iter().filter_map(|id| found.get(id).cloned()).collect())
}

/// For each of these attachments, the message of the session that carries it, if there is one. Chat messages are
/// preferred to tool results.
pub async fn carrying_messages(
    conn: &mut Conn,
    session: SessionId,
    ids: &[AttachmentId],
) -> Result<Vec<(AttachmentId, MessageId)>, QueryError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = QueryBuilder::<Db>::new(
        "SELECT a.attachment_id, a.internal_id FROM message_attachments a \
         JOIN message_history h ON h.internal_id = a.internal_id WHERE h.session_id = ",
    );
    query.push_bind(session.to_string());
    query.push(" AND a.attachment_id IN (");
    let mut list = query.separated(", ");
    for id in ids {
        list.push_bind(id.to_string());
    }
    query.push(") ORDER BY CASE WHEN h.role = 'tool' THEN 1 ELSE 0 END, a.internal_id");
    let mut found: Vec<(AttachmentId, MessageId)> = Vec::new();
    for row in query.build().fetch_all(conn).await? {
        let id: AttachmentId = rows::parse_column(&row, "attachment_id")?;
        if found.iter().all(|(known, _)| *known != id) {
            found.push((id, MessageId(row.try_get("internal_id")?)));
        }
    }
    Ok(found)
}

/// The attachments of a conversation since this time, newest first.
pub async fn recent_attachments(
    conn: &mut Conn,
    conversation: &Conversation,
    since: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<Attachment>, QueryError> {
    let sql = format!(
        "SELECT {ATTACHMENT} FROM attachment_metadata f WHERE f.interface_type = $1 AND f.conversation_id = $2 \
         AND f.created_at >= $3 ORDER BY f.created_at DESC LIMIT $4"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(conversation.interface.as_str())
        .bind(&conversation.id)
        .bind(since)
        .bind(limit)
        .fetch_all(conn)
        .await?;
    Ok(rows::read_attachments(rows)?)
}

/// The size of the files of a conversation, and of a person in all conversations.
pub async fn stored_bytes(
    conn: &mut Conn,
    conversation: &Conversation,
    user: &UserId,
) -> Result<StoredBytes, QueryError> {
    let row = sqlx::query::<Db>(
        "SELECT (SELECT CAST(COALESCE(SUM(f.size), 0) AS BIGINT) FROM attachment_metadata f \
                 WHERE f.interface_type = $1 AND f.conversation_id = $2) AS conversation, \
                (SELECT CAST(COALESCE(SUM(f.size), 0) AS BIGINT) FROM attachment_metadata f \
                 WHERE f.user_id = $3) AS person",
    )
    .bind(conversation.interface.as_str())
    .bind(&conversation.id)
    .bind(&user.0)
    .fetch_one(conn)
    .await?;
    let sum = |column| row.try_get::<i64, _>(column).map(i64::unsigned_abs);
    Ok(StoredBytes { conversation: sum("conversation")?, person: sum("person")? })
}

/// The attachments whose object key is at least `from` and less than `to`, with their keys.
pub async fn stored_objects(
    conn: &mut Conn,
    from: &str,
    to: &str,
) -> Result<Vec<(AttachmentId, String)>, QueryError> {
    let rows = sqlx::query::<Db>(
        "SELECT f.attachment_id, f.object_key FROM attachment_metadata f \
         WHERE f.object_key >= $1 AND f.object_key < $2",
    )
    .bind(from)
    .bind(to)
    .fetch_all(conn)
    .await?;
    let read = |row| -> Result<_, sqlx::Error> {
        Ok((rows::parse_column(row, "attachment_id")?, row.try_get("object_key")?))
    };
    Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
}

/// An attachment, whatever its conversation is. The caller must check that the person may see it.
pub async fn attachment_of_any_conversation(
    conn: &mut Conn,
    id: AttachmentId,
) -> Result<Option<Attachment>, QueryError> {
    let sql = format!("SELECT {ATTACHMENT} FROM attachment_metadata f WHERE f.attachment_id = $1");
    let row = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(id.to_string()).fetch_optional(conn).await?;
    Ok(row.as_ref().map(rows::read_attachment).transpose()?)
}
