-- A token that expired.
INSERT INTO api_tokens (token_id, token_hash, user_id, name, created_at, expires_at) VALUES ('0b0e7a52-5a52-4f3e-9d53-5f0f0c7b1a0a', 'dd', '100', 'for a day', '2026-01-02T03:06:00+00:00', '2026-01-03T03:06:00+00:00');
