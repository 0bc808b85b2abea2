-- What running requests to models will cost at most. A row is replaced by the real cost in `usage` when the request ends.
CREATE TABLE budget_reservations (
    reservation_id  TEXT PRIMARY KEY,
    day             DATE NOT NULL,
    interface_type  TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    agent_id        TEXT NOT NULL,
    provider        TEXT NOT NULL,
    model           TEXT NOT NULL,
    cost_micros     BIGINT NOT NULL,
    expires_at      TIMESTAMPTZ NOT NULL
);
-- A person is the same on Telegram and on the page.
DROP INDEX usage_by_user;
CREATE INDEX usage_by_person ON usage (user_id, day);
CREATE INDEX turn_running_of_person ON turns (user_id) WHERE state = 'running';
