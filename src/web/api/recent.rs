//! Recent messages of all conversations that the viewer may see, grouped by interface and conversation.

use super::history::load_files;
use crate::{
    access::Viewer,
    domain::{Conversation, InterfaceType, Message},
    store::{Detail, RecentFilter},
    transfer::json::{HistoryEntry, entries_of},
    web::{
        Site,
        extract::Query,
        problem::{CommonProblems, Problem},
    },
};
use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use std::{ops::RangeInclusive, sync::Arc};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

const CONVERSATIONS: RangeInclusive<i64> = 1..=100;
const MESSAGES: RangeInclusive<i64> = 1..=50;
const HOURS: RangeInclusive<i64> = 1..=720;
const DEFAULT_HOURS: i64 = 24;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RecentQuery {
    /// At most this many conversations: those with the newest messages.
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: i64,
    /// At most this many messages of each conversation: the newest.
    #[serde(default = "default_per_conversation")]
    #[param(minimum = 1, maximum = 50, default = 10)]
    per_conversation: i64,
    /// Only messages of the last hours; 24 without it.
    #[param(minimum = 1, maximum = 720)]
    hours: Option<i64>,
    /// Only messages since this time, in place of `hours`; at most 720 hours ago.
    since: Option<DateTime<Utc>>,
    /// Also tool calls and their results.
    #[serde(default)]
    include_tools: bool,
}

fn default_limit() -> i64 {
    20
}

fn default_per_conversation() -> i64 {
    10
}

#[derive(Serialize, ToSchema)]
pub struct RecentHistory {
    success: bool,
    /// The conversation with the newest message first.
    conversations: Vec<RecentConversation>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecentConversation {
    #[schema(value_type = String, example = "telegram")]
    interface_type: InterfaceType,
    conversation_id: String,
    /// The sessions of these messages.
    session_ids: Vec<Uuid>,
    /// Oldest first.
    history: Vec<HistoryEntry>,
}

/// What is going on: the newest messages of all conversations you may see, the most recent conversation first.
#[utoipa::path(get, path = "/history/recent", operation_id = "get_recent_history", tag = "history", params(RecentQuery),
    responses((status = 200, body = RecentHistory), CommonProblems))]
pub async fn list(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Query(query): Query<RecentQuery>,
) -> Result<axum::Json<RecentHistory>, Problem> {
    let detail = if query.include_tools { Detail::WithTools } else { Detail::WithoutTools };
    check("limit", query.limit, CONVERSATIONS)?;
    check("per_conversation", query.per_conversation, MESSAGES)?;
    let filter = RecentFilter {
        seen_by: viewer.visible_sessions().seen_by,
        since: start(&query, Utc::now())?,
        conversations: query.limit,
        per_conversation: query.per_conversation,
        detail,
    };
    let mut conversations = Vec::new();
    for (conversation, messages) in site.store.recent_by_conversation(&filter).await? {
        conversations.push(describe(&site, conversation, &messages, detail).await?);
    }
    Ok(axum::Json(RecentHistory { success: true, conversations }))
}

fn check(name: &str, value: i64, allowed: RangeInclusive<i64>) -> Result<(), Problem> {
    match allowed.contains(&value) {
        true => Ok(()),
        false => {
            let (min, max) = allowed.into_inner();
            Err(Problem::bad(format!("{name} must be between {min} and {max}.")))
        }
    }
}

/// The time from which messages are listed.
fn start(query: &RecentQuery, now: DateTime<Utc>) -> Result<DateTime<Utc>, Problem> {
    match (query.since, query.hours) {
        (Some(_), Some(_)) => Err(Problem::bad("Send hours or since, not both.")),
        (Some(since), None) if since < now - TimeDelta::hours(*HOURS.end()) => {
            Err(Problem::bad(format!("since must be at most {} hours ago.", HOURS.end())))
        }
        (Some(since), None) => Ok(since),
        (None, hours) => {
            let hours = hours.unwrap_or(DEFAULT_HOURS);
            check("hours", hours, HOURS)?;
            Ok(now - TimeDelta::hours(hours))
        }
    }
}

async fn describe(
    site: &Site,
    conversation: Conversation,
    messages: &[Message],
    detail: Detail,
) -> Result<RecentConversation, Problem> {
    let files = load_files(&site.store, &conversation, messages).await?;
    let mut session_ids: Vec<Uuid> = Vec::new();
    for message in messages {
        if !session_ids.contains(&message.session_id.0) {
            session_ids.push(message.session_id.0);
        }
    }
    Ok(RecentConversation {
        interface_type: conversation.interface,
        conversation_id: conversation.id,
        session_ids,
        history: messages.iter().flat_map(|message| entries_of(message, &files, detail)).collect(),
    })
}
