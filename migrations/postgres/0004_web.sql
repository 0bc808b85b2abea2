-- The web interface: who sees what, notes on messages, search, logins, and files that are to go.

-- Goes up with every change to the session's messages: what an ETag is made of.
ALTER TABLE session_metadata ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;
CREATE INDEX session_by_activity ON session_metadata (last_activity);

-- Who takes part in a conversation, and so may see it.
CREATE TABLE members (
    interface_type  TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    since           TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (interface_type, conversation_id, user_id)
);
CREATE INDEX member_by_user ON members (user_id, interface_type, conversation_id);
INSERT INTO members (interface_type, conversation_id, user_id, since)
SELECT interface_type, conversation_id, user_id, MIN(timestamp) FROM message_history
WHERE user_id IS NOT NULL AND role = 'user' GROUP BY interface_type, conversation_id, user_id;
INSERT INTO members (interface_type, conversation_id, user_id, since)
SELECT interface_type, conversation_id, user_id, MIN(created_at) FROM session_metadata
WHERE true GROUP BY interface_type, conversation_id, user_id
ON CONFLICT DO NOTHING;

-- Tags and references once more, to find messages by them; the message's own columns are the truth.
CREATE TABLE message_labels (
    internal_id BIGINT NOT NULL REFERENCES message_history (internal_id) ON DELETE CASCADE,
    session_id  TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('tag', 'ref')),
    value       TEXT NOT NULL,
    PRIMARY KEY (internal_id, kind, value)
);
CREATE INDEX message_label_by_value ON message_labels (kind, value, session_id);

-- What people and the agent said, word by word. A text has more words than an index takes: its beginning will do.
CREATE INDEX message_text ON message_history USING gin (to_tsvector('simple', left(content, 100000))) WHERE role <> 'tool';

-- Links that log a person in once, logins of browsers, and tokens of programs: hashes only, never what opens the door.
CREATE TABLE login_links (
    link_hash  TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    used_at    TIMESTAMPTZ
);
CREATE TABLE logins (
    login_hash  TEXT PRIMARY KEY,
    user_id     TEXT NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    expires_at  TIMESTAMPTZ NOT NULL,
    -- Replaced by a newer one; still good for requests that were already under way.
    replaced_at TIMESTAMPTZ
);
CREATE INDEX login_by_expiry ON logins (expires_at);
CREATE TABLE api_tokens (
    token_id     TEXT PRIMARY KEY,
    token_hash   TEXT NOT NULL UNIQUE,
    user_id      TEXT NOT NULL,
    name         TEXT NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ
);
CREATE INDEX api_token_by_user ON api_tokens (user_id);
-- What this installation signs with, made at the first need.
CREATE TABLE web_keys (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- What was planned for a turn goes with it.
CREATE INDEX outbox_by_turn ON outbox (turn_id) WHERE turn_id IS NOT NULL;

-- Files whose rows are gone: noted with the deletion, so that a crash in between leaves nothing behind.
CREATE TABLE doomed_objects (
    attachment_id TEXT PRIMARY KEY,
    object_key    TEXT NOT NULL,
    sha256        TEXT NOT NULL
);
