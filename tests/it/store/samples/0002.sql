-- A day of version 2: two requests of the same person, one of them to a model without a price.
INSERT INTO usage (day, interface_type, conversation_id, user_id, agent_id, provider, model, requests, input_tokens, output_tokens, cost_micros, unpriced)
VALUES ('2026-01-02', 'telegram', '1', '100', 'photothread', 'openai', 'gpt-5-mini', 2, 200, 40, 65, 1);
