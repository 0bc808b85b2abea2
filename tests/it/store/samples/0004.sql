-- Notes on the cropped answer, a person who may log in, and a file on its way out.
UPDATE message_history SET tags = '["topic:cats"]', refs = '[{"url":"https://example.org/cats"}]' WHERE interface_message_id = '11';
INSERT INTO message_labels (internal_id, session_id, kind, value)
SELECT internal_id, session_id, 'tag', 'topic:cats' FROM message_history WHERE interface_message_id = '11';
INSERT INTO login_links (link_hash, user_id, expires_at) VALUES ('aa', '100', '2026-01-02T03:10:00+00:00');
INSERT INTO logins (login_hash, user_id, created_at, expires_at) VALUES ('bb', '100', '2026-01-02T03:06:00+00:00', '2036-01-02T03:06:00+00:00');
INSERT INTO api_tokens (token_id, token_hash, user_id, name, created_at) VALUES ('0b0e7a52-5a52-4f3e-9d53-5f0f0c7b1a09', 'cc', '100', 'script', '2026-01-02T03:06:00+00:00');
INSERT INTO web_keys (name, value) VALUES ('links', '00');
INSERT INTO doomed_objects (attachment_id, object_key, sha256) VALUES ('0b0e7a52-5a52-4f3e-9d53-5f0f0c7b1a08', 'sha256/00/00', '00');
