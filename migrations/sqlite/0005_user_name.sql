-- The display name of the person when they wrote the message. The model is told it.
ALTER TABLE message_history ADD COLUMN user_name TEXT;
