-- What our otel_traces has beyond the exporter's: where the stock Collector made the table first, 001 changed nothing.
-- The exporter names its columns when it inserts, so it goes on as before.
ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS TraceFlags UInt32 DEFAULT 0 CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS DroppedAttributes UInt32 DEFAULT 0 CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS DroppedEvents UInt32 DEFAULT 0 CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS DroppedLinks UInt32 DEFAULT 0 CODEC (ZSTD(1));

ALTER TABLE otel_traces ADD COLUMN IF NOT EXISTS Received DateTime DEFAULT now() CODEC (Delta(4), ZSTD(1));

-- So that an insert that is tried again is recognised there too.
ALTER TABLE otel_traces MODIFY SETTING non_replicated_deduplication_window = 1000;
