-- One of everything, as version 1 wrote it: a photo, the bot's cropped answer in two pieces, and open edges.
INSERT INTO session_metadata (session_id, interface_type, conversation_id, user_id, title, first_message_preview, message_count, created_at, last_activity)
VALUES ('0b0e7a52-5a52-4f3e-9d53-5f0f0c7b1a01', 'telegram', '1', '100', 'Cat', 'crop it', 2, '2026-01-02T03:04:05.678901+00:00', '2026-01-02T03:05:00+00:00');

INSERT INTO message_history (interface_type, conversation_id, session_id, interface_message_id, timestamp, role, content, user_id, reply, album_id)
VALUES ('telegram', '1', '0b0e7a52-5a52-4f3e-9d53-5f0f0c7b1a01', '10', '2026-01-02T03:04:05+00:00', 'user', 'crop it', '100', '{"quote":"the cat"}', 'album');
INSERT INTO message_history (interface_type, conversation_id, session_id, interface_message_id, turn_id, thread_root_id, timestamp, role, content, tool_calls, agent_id, reasoning_info)
SELECT 'telegram', '1', session_id, '11', '01890a5d-ac96-774b-bcce-b302099a8057', internal_id, '2026-01-02T03:05:00+00:00', 'assistant', 'Cropped.', '[]', 'photothread', '{"model":"offline"}'
FROM message_history WHERE interface_message_id = '10';
INSERT INTO message_chunks (interface_type, conversation_id, interface_message_id, internal_id)
SELECT 'telegram', '1', '12', internal_id FROM message_history WHERE interface_message_id = '11';

INSERT INTO attachment_metadata (attachment_id, conversation_id, interface_type, source, sha256, mime_type, filename, size, width, height, object_key, created_at, parents, recipe)
VALUES ('5f0f0c7b-1a01-4f3e-9d53-0b0e7a525a52', '1', 'telegram', 'tool', 'abab', 'image/jpeg', 'image.jpg', 1000, 40, 30, 'ab/abab', '2026-01-02T03:04:59+00:00',
        '["5f0f0c7b-1a01-4f3e-9d53-0b0e7a525a53"]', '{"tool":"crop_image","arguments":{"aspect":"1:1"}}');
INSERT INTO message_attachments (internal_id, position, attachment_id, interface_message_id)
SELECT internal_id, 0, '5f0f0c7b-1a01-4f3e-9d53-0b0e7a525a52', '11' FROM message_history WHERE interface_message_id = '11';

INSERT INTO turns (turn_id, interface_type, conversation_id, session_id, state, thread_root_id, user_id, agent_id, created_at)
SELECT '01890a5d-ac96-774b-bcce-b302099a8057', 'telegram', '1', session_id, 'pending', internal_id, '100', 'photothread', '2026-01-02T03:04:06+00:00'
FROM message_history WHERE interface_message_id = '10';
INSERT INTO turn_inputs (turn_id, internal_id)
SELECT '01890a5d-ac96-774b-bcce-b302099a8057', internal_id FROM message_history WHERE interface_message_id = '10';

INSERT INTO inbox (update_key, raw, arrived_at, state) VALUES ('1', '{"update_id":1}', '2026-01-02T03:04:05+00:00', 'received');
INSERT INTO outbox (interface_type, conversation_id, kind, payload, items, attachments, state, created_at, updated_at)
VALUES ('telegram', '1', 'text', '{"text":"hi"}', 1, '[]', 'queued', '2026-01-02T03:05:00+00:00', '2026-01-02T03:05:00+00:00');
INSERT INTO people (interface_type, user_id, standing, since) VALUES ('telegram', '100', 'owner', '2026-01-01T00:00:00+00:00');
