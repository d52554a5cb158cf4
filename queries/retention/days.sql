-- Keeps spans so many days after they came. The engine drops whole parts, so the last of them go somewhat later.
ALTER TABLE otel_traces MODIFY TTL Received + toIntervalDay({days:UInt32})
