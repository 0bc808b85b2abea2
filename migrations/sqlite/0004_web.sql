-- The web interface: who sees what, notes on messages, search, logins, and files that are to go.

-- Goes up with every change to the session's messages: what an ETag is made of.
ALTER TABLE session_metadata ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
CREATE INDEX session_by_activity ON session_metadata (last_activity);

-- Who takes part in a conversation, and so may see it.
CREATE TABLE members (
    interface_type  TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    since           TEXT NOT NULL,
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
    internal_id INTEGER NOT NULL REFERENCES message_history (internal_id) ON DELETE CASCADE,
    session_id  TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('tag', 'ref')),
    value       TEXT NOT NULL,
    PRIMARY KEY (internal_id, kind, value)
);
CREATE INDEX message_label_by_value ON message_labels (kind, value, session_id);

-- What people and the agent said, word by word. Deleted words are wiped from the index at once.
CREATE VIRTUAL TABLE message_text USING fts5 (
    content, content = 'message_history', content_rowid = 'internal_id', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO message_text (message_text, rank) VALUES ('secure-delete', 1);
INSERT INTO message_text (rowid, content) SELECT internal_id, content FROM message_history WHERE role <> 'tool';
CREATE TRIGGER message_text_added AFTER INSERT ON message_history WHEN new.role <> 'tool' BEGIN
    INSERT INTO message_text (rowid, content) VALUES (new.internal_id, new.content);
END;
CREATE TRIGGER message_text_removed AFTER DELETE ON message_history WHEN old.role <> 'tool' BEGIN
    INSERT INTO message_text (message_text, rowid, content) VALUES ('delete', old.internal_id, old.content);
END;
CREATE TRIGGER message_text_changed AFTER UPDATE OF content ON message_history WHEN old.role <> 'tool' BEGIN
    INSERT INTO message_text (message_text, rowid, content) VALUES ('delete', old.internal_id, old.content);
    INSERT INTO message_text (rowid, content) VALUES (new.internal_id, new.content);
END;

-- Links that log a person in once, logins of browsers, and tokens of programs: hashes only, never what opens the door.
CREATE TABLE login_links (
    link_hash  TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    used_at    TEXT
);
CREATE TABLE logins (
    login_hash  TEXT PRIMARY KEY,
    user_id     TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    -- Replaced by a newer one; still good for requests that were already under way.
    replaced_at TEXT
);
CREATE INDEX login_by_expiry ON logins (expires_at);
CREATE TABLE api_tokens (
    token_id     TEXT PRIMARY KEY,
    token_hash   TEXT NOT NULL UNIQUE,
    user_id      TEXT NOT NULL,
    name         TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    last_used_at TEXT
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
