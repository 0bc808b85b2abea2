-- A message that shows a reaction.
INSERT INTO reactions (inbox_id, interface_type, conversation_id, interface_message_id) VALUES (1, 'telegram', '1', '11');
