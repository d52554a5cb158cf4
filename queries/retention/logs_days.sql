-- Keeps log records so many days after they came. The engine drops whole parts, so the last of them go somewhat later.
ALTER TABLE otel_logs MODIFY TTL Received + toIntervalDay({days:UInt32})
