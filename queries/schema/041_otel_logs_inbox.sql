-- What our otel_logs has beyond the exporter's: where the stock Collector made the table first, 040 changed nothing.
-- Then the inbox: traces that received log records which tell something are judged again. Spans is 0 in these rows, and
-- their times say nothing about where the spans of the trace lie.
ALTER TABLE otel_logs ADD COLUMN IF NOT EXISTS EventName String CODEC (ZSTD(1));

ALTER TABLE otel_logs ADD COLUMN IF NOT EXISTS ObservedTimestamp DateTime64(9) DEFAULT Timestamp CODEC (ZSTD(1));

ALTER TABLE otel_logs ADD COLUMN IF NOT EXISTS DroppedAttributes UInt32 DEFAULT 0 CODEC (ZSTD(1));

ALTER TABLE otel_logs ADD COLUMN IF NOT EXISTS BodyType LowCardinality(String) DEFAULT '' CODEC (ZSTD(1));

ALTER TABLE otel_logs ADD COLUMN IF NOT EXISTS LogAttributeTypes
Map(LowCardinality(String), LowCardinality(String)) DEFAULT map() CODEC (ZSTD(1));

ALTER TABLE otel_logs ADD COLUMN IF NOT EXISTS ResourceAttributeTypes
Map(LowCardinality(String), LowCardinality(String)) DEFAULT map() CODEC (ZSTD(1));

ALTER TABLE otel_logs ADD COLUMN IF NOT EXISTS ResourceDroppedAttributes UInt32 DEFAULT 0 CODEC (ZSTD(1));

ALTER TABLE otel_logs ADD COLUMN IF NOT EXISTS ScopeDroppedAttributes UInt32 DEFAULT 0 CODEC (ZSTD(1));

ALTER TABLE otel_logs ADD COLUMN IF NOT EXISTS Received DateTime DEFAULT now() CODEC (Delta(4), ZSTD(1));

ALTER TABLE otel_logs ADD COLUMN IF NOT EXISTS Tells LowCardinality(String) DEFAULT multiIf(
    TraceId = '' OR SpanId = '' OR EventName = 'gen_ai.evaluation.result', 'nothing',
    EventName IN (
        'gen_ai.client.inference.operation.details',
        'gen_ai.choice',
        'gen_ai.assistant.message',
        'gen_ai.user.message',
        'gen_ai.tool.message'
    ), 'message',
    SeverityNumber >= 17 OR EventName = 'exception' OR endsWith(EventName, '.exception'), 'trouble',
    'nothing'
) CODEC (ZSTD(1));

-- So that an insert that is tried again is recognised there too.
ALTER TABLE otel_logs MODIFY SETTING non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS overclaim_logs_inbox_mv TO overclaim_inbox AS
SELECT
    now64(3) AS Arrived,
    TraceId,
    toUInt32(0) AS Spans,
    min(Timestamp) AS Earliest,
    max(Timestamp) AS Latest
FROM otel_logs
WHERE Tells != 'nothing'
GROUP BY TraceId;
