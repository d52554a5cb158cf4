-- Keeps log records for ever. Refused by the engine where they are kept for ever already.
ALTER TABLE otel_logs REMOVE TTL
