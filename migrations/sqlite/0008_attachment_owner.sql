-- Whose file it is, for the limit per person: the sender, the person who asked for the edit, or who began the conversation.
ALTER TABLE attachment_metadata ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
UPDATE attachment_metadata SET user_id = COALESCE(
    (SELECT MIN(m.user_id) FROM message_attachments a JOIN message_history m ON m.internal_id = a.internal_id
     WHERE a.attachment_id = attachment_metadata.attachment_id AND m.user_id IS NOT NULL),
    (SELECT MIN(t.user_id) FROM message_attachments a JOIN message_history m ON m.internal_id = a.internal_id
     JOIN turns t ON t.turn_id = m.turn_id WHERE a.attachment_id = attachment_metadata.attachment_id),
    (SELECT MIN(s.user_id) FROM session_metadata s WHERE s.interface_type = attachment_metadata.interface_type
     AND s.conversation_id = attachment_metadata.conversation_id),
    '');
CREATE INDEX attachment_of_person ON attachment_metadata (user_id, size);
CREATE INDEX attachment_by_age ON attachment_metadata (created_at);
