-- Names of tables and columns are a contract: see docs/architecture.md.

CREATE TABLE session_metadata (
    session_id            TEXT PRIMARY KEY,
    interface_type        TEXT NOT NULL,
    conversation_id       TEXT NOT NULL,
    user_id               TEXT NOT NULL,
    title                 TEXT NOT NULL DEFAULT '',
    first_message_preview TEXT NOT NULL DEFAULT '',
    message_count         INTEGER NOT NULL DEFAULT 0,
    created_at            TEXT NOT NULL,
    last_activity         TEXT NOT NULL
);
CREATE INDEX session_by_conversation ON session_metadata (interface_type, conversation_id, created_at);
CREATE INDEX session_by_user ON session_metadata (user_id, last_activity);

CREATE TABLE message_history (
    internal_id          INTEGER PRIMARY KEY AUTOINCREMENT,
    interface_type       TEXT NOT NULL,
    conversation_id      TEXT NOT NULL,
    session_id           TEXT NOT NULL REFERENCES session_metadata (session_id),
    interface_message_id TEXT,
    turn_id              TEXT,
    thread_root_id       INTEGER REFERENCES message_history (internal_id),
    timestamp            TEXT NOT NULL,
    role                 TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
    content              TEXT NOT NULL,
    tool_calls           TEXT,
    tool_call_id         TEXT,
    tool_name            TEXT,
    agent_id             TEXT,
    user_id              TEXT,
    reasoning_info       TEXT,
    provider_metadata    TEXT,
    error                TEXT,
    refs                 TEXT,
    tags                 TEXT,
    reply                TEXT,
    album_id             TEXT
);
CREATE UNIQUE INDEX message_by_interface_id
    ON message_history (interface_type, conversation_id, interface_message_id)
    WHERE interface_message_id IS NOT NULL;
CREATE INDEX message_by_conversation ON message_history (interface_type, conversation_id, timestamp);
CREATE INDEX message_by_time ON message_history (timestamp);
CREATE INDEX message_by_session ON message_history (session_id, internal_id);
CREATE INDEX message_by_thread ON message_history (thread_root_id, internal_id) WHERE thread_root_id IS NOT NULL;
CREATE INDEX message_by_turn ON message_history (turn_id, internal_id) WHERE turn_id IS NOT NULL;
CREATE INDEX message_by_album ON message_history (interface_type, conversation_id, album_id) WHERE album_id IS NOT NULL;

-- Later pieces of one long answer: each has an id of its own that can be replied to.
CREATE TABLE message_chunks (
    interface_type       TEXT NOT NULL,
    conversation_id      TEXT NOT NULL,
    interface_message_id TEXT NOT NULL,
    internal_id          INTEGER NOT NULL REFERENCES message_history (internal_id) ON DELETE CASCADE,
    PRIMARY KEY (interface_type, conversation_id, interface_message_id)
);
CREATE INDEX message_chunk_by_message ON message_chunks (internal_id);

CREATE TABLE attachment_metadata (
    attachment_id   TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL,
    interface_type  TEXT NOT NULL,
    source          TEXT NOT NULL CHECK (source IN ('user', 'tool')),
    sha256          TEXT NOT NULL,
    mime_type       TEXT NOT NULL,
    filename        TEXT NOT NULL,
    description     TEXT,
    size            INTEGER NOT NULL,
    width           INTEGER,
    height          INTEGER,
    object_key      TEXT NOT NULL,
    created_at      TEXT NOT NULL,
    parents         TEXT NOT NULL,
    recipe          TEXT
);
CREATE INDEX attachment_by_conversation ON attachment_metadata (interface_type, conversation_id, created_at);
CREATE INDEX attachment_by_content ON attachment_metadata (object_key);

CREATE TABLE message_attachments (
    internal_id          INTEGER NOT NULL REFERENCES message_history (internal_id) ON DELETE CASCADE,
    position             INTEGER NOT NULL,
    attachment_id        TEXT NOT NULL REFERENCES attachment_metadata (attachment_id) ON DELETE CASCADE,
    interface_message_id TEXT,
    PRIMARY KEY (internal_id, position)
);
CREATE INDEX message_attachment_by_attachment ON message_attachments (attachment_id);
CREATE INDEX message_attachment_by_interface_id ON message_attachments (interface_message_id)
    WHERE interface_message_id IS NOT NULL;

CREATE TABLE turns (
    turn_id         TEXT PRIMARY KEY,
    interface_type  TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    session_id      TEXT NOT NULL REFERENCES session_metadata (session_id),
    state           TEXT NOT NULL CHECK (state IN ('pending', 'running', 'done', 'failed', 'cancelled')),
    thread_root_id  INTEGER NOT NULL REFERENCES message_history (internal_id),
    user_id         TEXT NOT NULL,
    agent_id        TEXT NOT NULL,
    attempts        INTEGER NOT NULL DEFAULT 0,
    created_at      TEXT NOT NULL,
    started_at      TEXT,
    finished_at     TEXT
);
CREATE INDEX turn_by_thread ON turns (thread_root_id);
CREATE INDEX turn_by_session ON turns (session_id);
-- SQLite takes a partial index only if the query repeats its condition word for word.
CREATE INDEX turn_open ON turns (interface_type, conversation_id, created_at) WHERE state IN ('pending', 'running');

-- One turn at a time in a conversation, whoever claims it.
CREATE UNIQUE INDEX turn_running ON turns (interface_type, conversation_id) WHERE state = 'running';

CREATE TABLE turn_inputs (
    turn_id     TEXT NOT NULL REFERENCES turns (turn_id) ON DELETE CASCADE,
    internal_id INTEGER NOT NULL REFERENCES message_history (internal_id) ON DELETE CASCADE,
    PRIMARY KEY (turn_id, internal_id)
);
CREATE INDEX turn_input_by_message ON turn_inputs (internal_id);

-- Every update as Telegram gave it, committed before Telegram is told that we have it.
CREATE TABLE inbox (
    inbox_id        INTEGER PRIMARY KEY AUTOINCREMENT,
    update_key      TEXT NOT NULL UNIQUE,
    raw             TEXT NOT NULL,
    arrived_at      TEXT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('received', 'waiting', 'done', 'skipped')),
    conversation_id TEXT,
    sender_id       TEXT,
    album_id        TEXT,
    note            TEXT
);
CREATE INDEX inbox_by_state ON inbox (state, inbox_id);

CREATE TABLE outbox (
    outbox_id       INTEGER PRIMARY KEY AUTOINCREMENT,
    interface_type  TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    turn_id         TEXT,
    internal_id     INTEGER REFERENCES message_history (internal_id) ON DELETE CASCADE,
    kind            TEXT NOT NULL CHECK (kind IN ('text', 'photo', 'media_group', 'document')),
    payload         TEXT NOT NULL,
    items           INTEGER NOT NULL,
    attachments     TEXT NOT NULL,
    reply_to        TEXT,
    state           TEXT NOT NULL CHECK (state IN ('queued', 'sending', 'sent', 'unknown', 'failed')),
    attempts        INTEGER NOT NULL DEFAULT 0,
    not_before      TEXT,
    error           TEXT,
    created_at      TEXT NOT NULL,
    updated_at      TEXT NOT NULL
);
CREATE INDEX outbox_open ON outbox (interface_type, conversation_id, outbox_id) WHERE state IN ('queued', 'sending');
CREATE INDEX outbox_by_message ON outbox (internal_id) WHERE internal_id IS NOT NULL;
CREATE INDEX outbox_unsure ON outbox (state, outbox_id) WHERE state IN ('unknown', 'failed');

-- Who paired with the bot, and which strangers were already told that it is private.
CREATE TABLE people (
    interface_type TEXT NOT NULL,
    user_id        TEXT NOT NULL,
    standing       TEXT NOT NULL CHECK (standing IN ('owner', 'stranger')),
    since          TEXT NOT NULL,
    PRIMARY KEY (interface_type, user_id)
);
-- Only one person can be first, however many pair at once.
CREATE UNIQUE INDEX person_owner ON people (interface_type) WHERE standing = 'owner';
