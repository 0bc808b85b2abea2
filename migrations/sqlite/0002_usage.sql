-- What models took: one row for each day (UTC), place, person, agent and model, added to after every request.
CREATE TABLE usage (
    day             TEXT NOT NULL,
    interface_type  TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    agent_id        TEXT NOT NULL,
    provider        TEXT NOT NULL,
    model           TEXT NOT NULL,
    requests        INTEGER NOT NULL,
    input_tokens    INTEGER NOT NULL,
    output_tokens   INTEGER NOT NULL,
    cost_micros     INTEGER NOT NULL,
    unpriced        INTEGER NOT NULL,
    PRIMARY KEY (day, interface_type, conversation_id, user_id, agent_id, provider, model)
);
CREATE INDEX usage_by_user ON usage (interface_type, user_id, day);
CREATE INDEX usage_by_conversation ON usage (interface_type, conversation_id, day);
