-- The person's name on their messages.
UPDATE message_history SET user_name = 'Ann' WHERE role = 'user';
