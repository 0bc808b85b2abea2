//! Lists of sessions: whose, and with what in them.

use super::{Conn, Db, SAID, all_of, rows};
use crate::store::{QueryError, SessionFilter, SessionList};
use sqlx::{QueryBuilder, Row as _};

/// The sessions that fit, newest activity first, and how many there are.
pub async fn sessions(
    conn: &mut Conn,
    filter: &SessionFilter,
    limit: i64,
    offset: i64,
) -> Result<SessionList, QueryError> {
    let mut count = QueryBuilder::<Db>::new("SELECT COUNT(*) AS n FROM ");
    narrow(&mut count, filter);
    let total: i64 = count.build().fetch_one(&mut *conn).await?.try_get("n")?;
    let mut list = QueryBuilder::<Db>::new("SELECT s.* FROM ");
    narrow(&mut list, filter);
    list.push(" ORDER BY s.last_activity DESC, s.session_id LIMIT ").push_bind(limit);
    list.push(" OFFSET ").push_bind(offset);
    let found = list.build().fetch_all(conn).await?;
    Ok(SessionList { sessions: found.iter().map(rows::session).collect::<Result<_, _>>()?, total })
}

fn narrow(query: &mut QueryBuilder<Db>, filter: &SessionFilter) {
    match &filter.seen_by {
        // The cross join makes SQLite begin with the few conversations of this person.
        Some(user) => query
            .push("members b CROSS JOIN session_metadata s WHERE b.interface_type = s.interface_type ")
            .push("AND b.conversation_id = s.conversation_id AND b.user_id = ")
            .push_bind(user.0.clone()),
        None => query.push("session_metadata s WHERE true"),
    };
    if let Some(user) = &filter.user {
        query.push(" AND s.user_id = ").push_bind(user.0.clone());
    }
    for (kind, value) in [("tag", &filter.tag), ("ref", &filter.reference)] {
        let Some(value) = value else { continue };
        query.push(" AND s.session_id IN (SELECT l.session_id FROM message_labels l WHERE l.kind = ");
        query.push_bind(kind).push(" AND l.value = ").push_bind(rows::clean(value).into_owned()).push(")");
    }
    if !filter.words.is_empty() {
        query.push(" AND (s.session_id IN (").push(SAID).push_bind(all_of(&filter.words)).push(")) OR (true");
        for word in &filter.words {
            query.push(" AND LOWER(s.title) LIKE ").push_bind(format!("%{word}%"));
        }
        query.push("))");
    }
}
