-- API tokens may expire. A person can end all logins at once.
ALTER TABLE api_tokens ADD COLUMN expires_at TIMESTAMPTZ;
CREATE INDEX login_by_user ON logins (user_id);
