-- How long spans are kept: whether they go at all, and how many days after they came (0 where it is counted otherwise,
-- as in a table that the stock Collector made).
SELECT
    position(engine_full, ' TTL ') > 0 AS Ends,
    toUInt32OrZero(extract(engine_full, 'TTL Received \\+ toIntervalDay\\((?:_CAST\\()?(\\d+)')) AS Days
FROM system.tables
WHERE database = currentDatabase() AND name IN ('otel_traces', 'otel_traces_local') AND endsWith(engine, 'MergeTree')
