-- Messages that show a reaction of the bot until their answer is there.
CREATE TABLE reactions (
    inbox_id             INTEGER PRIMARY KEY,
    interface_type       TEXT NOT NULL,
    conversation_id      TEXT NOT NULL,
    interface_message_id TEXT NOT NULL
);
