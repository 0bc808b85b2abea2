-- An update that was handled.
INSERT INTO inbox (update_key, raw, arrived_at, state) VALUES ('9', '', '2026-01-02T03:09:00+00:00', 'done');
