-- Topics are conversations `<chat>/<topic>`. Members are members of the chat, and see the sessions of its topics.
CREATE INDEX session_by_chat ON session_metadata (interface_type, split_part(conversation_id, '/', 1), last_activity);

-- Messages that show a reaction of the bot until their answer is there.
CREATE TABLE reactions (
    inbox_id             BIGINT PRIMARY KEY,
    interface_type       TEXT NOT NULL,
    conversation_id      TEXT NOT NULL,
    interface_message_id TEXT NOT NULL
);
