//! Lists and searches sessions.

use super::{Conn, Db, SESSION_OF_MEMBER, SESSIONS_BY_TEXT, full_text_query, rows};
use crate::store::{QueryError, SessionFilter, SessionMatches};
use sqlx::{QueryBuilder, Row as _};

/// One page of the sessions that match, newest activity first, and how many match in all.
pub async fn sessions(
    conn: &mut Conn,
    filter: &SessionFilter,
    limit: i64,
    offset: i64,
) -> Result<SessionMatches, QueryError> {
    let mut count = QueryBuilder::<Db>::new("SELECT COUNT(*) AS n FROM ");
    push_filter(&mut count, filter);
    let total: i64 = count.build().fetch_one(&mut *conn).await?.try_get("n")?;
    let mut list = QueryBuilder::<Db>::new("SELECT s.* FROM ");
    push_filter(&mut list, filter);
    list.push(" ORDER BY s.last_activity DESC, s.session_id LIMIT ").push_bind(limit);
    list.push(" OFFSET ").push_bind(offset);
    let found = list.build().fetch_all(conn).await?;
    Ok(SessionMatches { sessions: found.iter().map(rows::read_session).collect::<Result<_, _>>()?, total })
}

fn push_filter(query: &mut QueryBuilder<Db>, filter: &SessionFilter) {
    match &filter.seen_by {
        // The cross join makes SQLite start with the few conversations of this person.
        Some(user) => query
            .push("members b CROSS JOIN session_metadata s WHERE b.interface_type = s.interface_type ")
            .push("AND ")
            .push(SESSION_OF_MEMBER)
            .push(" AND b.user_id = ")
            .push_bind(user.0.clone()),
        None => query.push("session_metadata s WHERE true"),
    };
    if let Some(user) = &filter.user {
        query.push(" AND s.user_id = ").push_bind(user.0.clone());
    }
    for (kind, value) in [("tag", &filter.tag), ("ref", &filter.reference)] {
        let Some(value) = value else { continue };
        query.push(" AND s.session_id IN (SELECT l.session_id FROM message_labels l WHERE l.kind = ");
        query
            .push_bind(kind)
            .push(" AND l.value = ")
            .push_bind(rows::strip_nul(value).into_owned())
            .push(")");
    }
    if !filter.words.is_empty() {
        query
            .push(" AND (s.session_id IN (")
            .push(SESSIONS_BY_TEXT)
            .push_bind(full_text_query(&filter.words))
            .push(")) OR s.session_id IN (SELECT m.session_id FROM findings f JOIN message_attachments a ")
            .push("ON a.attachment_id = f.attachment_id JOIN message_history m ON m.internal_id = a.internal_id ")
            .push("WHERE true");
        for word in &filter.words {
            query.push(" AND f.words LIKE ").push_bind(format!("%{word}%"));
        }
        query.push(") OR (true");
        for word in &filter.words {
            query.push(" AND LOWER(s.title) LIKE ").push_bind(format!("%{word}%"));
        }
        query.push("))");
    }
}
