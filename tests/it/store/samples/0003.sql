-- As version 3 wrote it: the turn was being shown in message 13 when the program stopped.
INSERT INTO outbox (interface_type, conversation_id, turn_id, kind, payload, items, attachments, state, created_at, updated_at)
VALUES ('telegram', '1', '01890a5d-ac96-774b-bcce-b302099a8057', 'text', '{"text":"Cropp …"}', 1, '[]', 'sent', '2026-01-02T03:04:58+00:00', '2026-01-02T03:04:58+00:00');
INSERT INTO drafts (turn_id, outbox_id, interface_type, conversation_id, interface_message_id)
SELECT turn_id, outbox_id, interface_type, conversation_id, '13' FROM outbox WHERE turn_id IS NOT NULL;
