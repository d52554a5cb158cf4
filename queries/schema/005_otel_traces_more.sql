-- What else the stock Collector's exporter loses of OTLP. Outside of the Nested columns, since that exporter's inserts
-- name those and all parts of a Nested column must be equally long; the lists here are as long as Events and Links.
-- The words for types are those of the Collector's pdata: Bool, Int, Double, Bytes, Slice, Map, Empty. Without them the
-- number 5 and the text "5" would be the same.
-- The oldest tables of the exporter have no columns for the scope, and the views that write here name them.
ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS ScopeName String CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS ScopeVersion String CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS
    ResourceSchemaUrl LowCardinality(String) DEFAULT '' COMMENT 'schema of the resource attributes' CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS
    ResourceAttributeTypes Map(LowCardinality(String), LowCardinality(String)) DEFAULT map() COMMENT 'types of those that are no strings, by key' CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS
    ResourceDroppedAttributes UInt32 DEFAULT 0 COMMENT 'how many the sender left out' CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS
    ScopeSchemaUrl LowCardinality(String) DEFAULT '' COMMENT 'schema of the spans' CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS
    ScopeAttributes Map(LowCardinality(String), String) DEFAULT map() COMMENT 'attributes of the scope' CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS
    ScopeDroppedAttributes UInt32 DEFAULT 0 COMMENT 'how many the sender left out' CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS
    SpanAttributeTypes Map(LowCardinality(String), LowCardinality(String)) DEFAULT map() COMMENT 'types of those that are no strings, by key' CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS
    EventDroppedAttributes Array(UInt32) DEFAULT [] COMMENT 'of each event, how many the sender left out' CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS
    LinkDroppedAttributes Array(UInt32) DEFAULT [] COMMENT 'of each link, how many the sender left out' CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS
    LinkFlags Array(UInt32) DEFAULT [] COMMENT 'flags of each link' CODEC (ZSTD(1));
