-- A file of a person who left no message.
INSERT INTO attachment_metadata (attachment_id, conversation_id, interface_type, user_id, source, sha256, mime_type, filename, size, object_key, created_at, parents)
VALUES ('5f0f0c7b-1a01-4f3e-9d53-0b0e7a525a60', '1', 'telegram', '200', 'user', 'cdcd', 'text/plain', 'note.txt', 5, 'cd/cdcd', '2026-01-02T03:07:00+00:00', '[]');
