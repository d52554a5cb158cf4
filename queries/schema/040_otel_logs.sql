-- Log records, in the schema of the OpenTelemetry Collector's ClickHouse exporter, so that the stock Collector can
-- write here and stock dashboards can read. The columns after EventName have defaults: that exporter lacks them.
-- ObservedTimestamp: when it was observed, the time of the record where nobody said. DroppedAttributes: how many its
-- SDK threw away. BodyType and the AttributeTypes: the type of the body and of each attribute that is not a string, in
-- the words of the Collector's pdata: Bool, Int, Double, Bytes, Slice, Map, Empty.
-- Tells: what a record of a span says about it: 'trouble' (an exception, or severity ERROR and above), 'message' (what
-- model, tools and user told each other), else 'nothing'. Only those that tell something are read by the detectors.
-- Partitions are months, and records go 90 days after they came, as spans do (001_otel_traces).
-- Log records have no ids. A repeated insert is recognised by its token, and a request sent again a moment later by its
-- bytes; what was sent again otherwise is there twice. Whoever counts takes one row of each: LIMIT 1 BY Timestamp,
-- ServiceName, TraceId, SpanId, SeverityNumber, ScopeName, EventName, Body, LogAttributes.
CREATE TABLE IF NOT EXISTS otel_logs
(
    Timestamp DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    TimestampTime DateTime DEFAULT toDateTime(Timestamp),
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    TraceFlags UInt8,
    SeverityText LowCardinality(String) CODEC(ZSTD(1)),
    SeverityNumber UInt8,
    ServiceName LowCardinality(String) CODEC(ZSTD(1)),
    Body String CODEC(ZSTD(1)),
    ResourceSchemaUrl LowCardinality(String) CODEC(ZSTD(1)),
    ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    ScopeSchemaUrl LowCardinality(String) CODEC(ZSTD(1)),
    ScopeName String CODEC(ZSTD(1)),
    ScopeVersion LowCardinality(String) CODEC(ZSTD(1)),
    ScopeAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    LogAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    EventName String CODEC(ZSTD(1)),
    ObservedTimestamp DateTime64(9) DEFAULT Timestamp CODEC(Delta(8), ZSTD(1)),
    DroppedAttributes UInt32 DEFAULT 0 CODEC(ZSTD(1)),
    BodyType LowCardinality(String) DEFAULT '' CODEC(ZSTD(1)),
    LogAttributeTypes Map(LowCardinality(String), LowCardinality(String)) DEFAULT map() CODEC(ZSTD(1)),
    ResourceAttributeTypes Map(LowCardinality(String), LowCardinality(String)) DEFAULT map() CODEC(ZSTD(1)),
    ResourceDroppedAttributes UInt32 DEFAULT 0 CODEC(ZSTD(1)),
    ScopeDroppedAttributes UInt32 DEFAULT 0 CODEC(ZSTD(1)),
    Received DateTime DEFAULT now() CODEC(Delta(4), ZSTD(1)),
    Tells LowCardinality(String) DEFAULT multiIf(
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
    ) CODEC(ZSTD(1)),
    INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX idx_timestamp Timestamp TYPE minmax GRANULARITY 1,
    INDEX idx_res_attr_key mapKeys(ResourceAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX idx_log_attr_key mapKeys(LogAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX idx_log_attr_value mapValues(LogAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX idx_body Body TYPE tokenbf_v1(32768, 3, 0) GRANULARITY 8
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(Timestamp)
PRIMARY KEY (ServiceName, TimestampTime)
ORDER BY (ServiceName, TimestampTime, Timestamp)
TTL Received + toIntervalDay(90)
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 1000;
