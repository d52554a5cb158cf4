-- How long log records are kept: see current.sql.
SELECT
    position(engine_full, ' TTL ') > 0 AS Ends,
    toUInt32OrZero(extract(engine_full, 'TTL Received \\+ toIntervalDay\\((?:_CAST\\()?(\\d+)')) AS Days
FROM system.tables
WHERE database = currentDatabase() AND name IN ('otel_logs', 'otel_logs_local') AND endsWith(engine, 'MergeTree')
