-- The message in which a turn is shown while it runs. A row is here until that message is the answer or is gone.
CREATE TABLE drafts (
    turn_id              TEXT PRIMARY KEY REFERENCES turns (turn_id) ON DELETE CASCADE,
    outbox_id            INTEGER NOT NULL REFERENCES outbox (outbox_id) ON DELETE CASCADE,
    interface_type       TEXT NOT NULL,
    conversation_id      TEXT NOT NULL,
    interface_message_id TEXT
);
