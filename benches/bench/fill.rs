//! Databases with many messages, filled with SQL and kept in the temporary folder for the next run. In every conversation
//! a person repeatedly sends a photo, asks for an edit and replies twice.

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use photothread::store::Store;
use sqlx::{AssertSqlSafe, Connection as _, Row as _, SqliteConnection};
use std::{fs, path::Path};

/// 42 threads of three turns of four messages: the person, the tool call, its result, the answer.
pub const PER_CONVERSATION: i64 = 504;
pub const PER_THREAD: i64 = 12;
/// Part of the file's name. Raise it when the content changes.
const VERSION: u32 = 2;

pub struct Filled {
    pub url: String,
    pub conversations: i64,
    /// When the newest message was written.
    pub newest: DateTime<Utc>,
}

impl Filled {
    pub fn messages(&self) -> i64 {
        self.conversations * PER_CONVERSATION
    }

    /// The id of one turn of a conversation's last thread.
    pub fn last_turn(&self, conversation: i64, which: i64) -> String {
        let turn = PER_CONVERSATION / 4 - PER_THREAD / 4 + which;
        format!("00000000-0000-4000-8000-{:012x}", turn * self.conversations + conversation)
    }
}

pub async fn filled(conversations: i64) -> anyhow::Result<Filled> {
    let messages = conversations * PER_CONVERSATION;
    let path = std::env::temp_dir().join(format!("photothread-bench-v{VERSION}-{messages}.db"));
    if !path.exists() {
        eprintln!("filling in {messages} messages…");
        let draft = path.with_extension("draft");
        fill(&draft, conversations).await.context("the messages cannot be filled in")?;
        fs::rename(&draft, &path)?;
    }
    let url = format!("sqlite://{}", path.display());
    let mut conn = SqliteConnection::connect(&url).await?;
    let newest =
        sqlx::query("SELECT MAX(timestamp) AS newest FROM message_history").fetch_one(&mut conn).await?;
    let newest = newest.try_get("newest")?;
    conn.close().await?;
    Ok(Filled { url, conversations, newest })
}

async fn fill(path: &Path, conversations: i64) -> anyhow::Result<()> {
    for leftover in ["draft", "draft-wal", "draft-shm"] {
        // Fails if there is none, which is usual.
        let _ = fs::remove_file(path.with_extension(leftover));
    }
    let url = format!("sqlite://{}", path.display());
    Store::open(&url).await?.close().await;
    let mut conn = SqliteConnection::connect(&url).await?;
    let pace = "PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000;";
    sqlx::raw_sql(pace).execute(&mut conn).await?;
    let script = SCRIPT
        .replace(":conversations", &conversations.to_string())
        .replace(":messages", &(conversations * PER_CONVERSATION).to_string())
        .replace(":length", &PER_CONVERSATION.to_string())
        .replace(":now", &Utc::now().timestamp().to_string());
    sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut conn).await?;
    sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut conn).await?;
    conn.close().await?;
    Ok(())
}

/// `n` counts all messages in order, `c` is the conversation, `k` the message's number in it, and `p` its position in the
/// thread. Ids are computed from `n`, so that rows can refer to each other.
const SCRIPT: &str = r#"
BEGIN;
CREATE TEMP TABLE laid_out AS
WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :messages)
SELECT n, n % :conversations AS c, n / :conversations AS k, (n / :conversations) % 12 AS p,
  (n / :conversations) % 4 AS step,
  strftime('%Y-%m-%dT%H:%M:%f', :now - (:length - n / :conversations) * 600, 'unixepoch') || '+00:00' AS at,
  printf('00000000-0000-4000-8000-%012x', (n / :conversations / 4) * :conversations + n % :conversations) AS turn,
  printf('00000000-0000-4000-9000-%012x', n % :conversations) AS session
FROM numbers;

INSERT INTO session_metadata (session_id, interface_type, conversation_id, user_id, title, first_message_preview,
  message_count, created_at, last_activity)
SELECT session, 'telegram', 100000 + c, 100000 + c, '', 'make it brighter', :length / 2, at, at
FROM laid_out WHERE k = 0;

INSERT INTO members (interface_type, conversation_id, user_id, since)
SELECT 'telegram', 100000 + c, 100000 + c, at FROM laid_out WHERE k = 0;

INSERT INTO message_history (internal_id, interface_type, conversation_id, session_id, interface_message_id, turn_id,
  thread_root_id, timestamp, role, content, tool_calls, tool_call_id, tool_name, agent_id, user_id, reply)
SELECT n + 1, 'telegram', CAST(100000 + c AS TEXT), session,
  CASE WHEN step IN (0, 3) THEN CAST(k + 1 AS TEXT) END,
  CASE WHEN step > 0 THEN turn END,
  CASE WHEN p > 0 THEN (k - p) * :conversations + c + 1 END,
  at,
  CASE step WHEN 0 THEN 'user' WHEN 2 THEN 'tool' ELSE 'assistant' END,
  CASE step
    WHEN 0 THEN 'please make it a little brighter and put a frame around the person on the left'
      || CASE WHEN p = 0 THEN printf(char(10) || '[Attachment ID: 00000000-0000-4000-a000-%012x]', n) ELSE '' END
    WHEN 1 THEN ''
    WHEN 2 THEN printf('Done.' || char(10) || '[Attachment ID: 00000000-0000-4000-a000-%012x]', n)
    ELSE 'I have made it brighter and framed the person on the left. Tell me if it should be a different colour.' END,
  CASE WHEN step = 1 THEN '[{"id": "call-1", "name": "highlight_image", "arguments": "{\"images\": [\"1\"], \"regions\": [{\"left\": 100, \"top\": 100, \"right\": 400, \"bottom\": 900}]}"}]' END,
  CASE WHEN step = 2 THEN 'call-1' END,
  CASE WHEN step = 2 THEN 'highlight_image' END,
  CASE WHEN step > 0 THEN 'photothread' END,
  CASE WHEN step = 0 THEN CAST(100000 + c AS TEXT) END,
  CASE WHEN step = 0 AND p > 0 THEN printf(
    '{"message": %d, "attachment": "00000000-0000-4000-a000-%012x", "quote": null}',
    n - :conversations + 1, n - 2 * :conversations) END
FROM laid_out ORDER BY n;

INSERT INTO attachment_metadata (attachment_id, conversation_id, interface_type, source, sha256, mime_type, filename,
  size, width, height, object_key, created_at, parents, recipe)
SELECT printf('00000000-0000-4000-a000-%012x', n), CAST(100000 + c AS TEXT), 'telegram',
  CASE WHEN step = 0 THEN 'user' ELSE 'tool' END, printf('%064x', n), 'image/jpeg', 'image.jpg', 2000000, 4000, 3000,
  printf('%02x/%064x', n % 256, n), at,
  CASE WHEN step = 0 THEN '[]'
    ELSE printf('["00000000-0000-4000-a000-%012x"]', (k - p) * :conversations + c) END,
  CASE WHEN step = 2 THEN '{"tool": "highlight_image", "arguments": {"regions": []}}' END
FROM laid_out WHERE p = 0 OR step = 2 ORDER BY n;

INSERT INTO message_attachments (internal_id, position, attachment_id, interface_message_id)
SELECT n + 1, 0, printf('00000000-0000-4000-a000-%012x', CASE step WHEN 3 THEN n - :conversations ELSE n END),
  CASE WHEN step IN (0, 3) THEN CAST(k + 1 AS TEXT) END
FROM laid_out WHERE p = 0 OR step IN (2, 3) ORDER BY n;

INSERT INTO turns (turn_id, interface_type, conversation_id, session_id, state, thread_root_id, user_id, agent_id,
  attempts, created_at)
SELECT turn, 'telegram', CAST(100000 + c AS TEXT), session, 'done', (k - p) * :conversations + c + 1,
  CAST(100000 + c AS TEXT), 'photothread', 1, at
FROM laid_out WHERE step = 0 ORDER BY n;

INSERT INTO turn_inputs (turn_id, internal_id) SELECT turn, n + 1 FROM laid_out WHERE step = 0 ORDER BY n;
DROP TABLE laid_out;
COMMIT;
"#;
