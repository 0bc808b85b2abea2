-- A request that never ended.
INSERT INTO budget_reservations (reservation_id, day, interface_type, conversation_id, user_id, agent_id, provider, model, cost_micros, expires_at)
VALUES ('0b0e7a52-5a52-4f3e-9d53-5f0f0c7b1a0b', '2026-01-02', 'telegram', '1', '100', 'photothread', 'openai', 'gpt-5-mini', 7, '2026-01-02T04:00:00+00:00');
