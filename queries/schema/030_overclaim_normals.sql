-- Normals: how each tool usually answers, counted in runs. Learned by the detection pass from the newest calls, a few
-- times an hour at most. Each count is kept, since a run is always seen by what was known when its first span arrived:
-- so the same spans, delivered again, get the same verdict.
CREATE TABLE IF NOT EXISTS overclaim_normals
(
    ServiceName LowCardinality(String) COMMENT 'resource service.name of the runs',
    Tool LowCardinality(String) COMMENT 'name of the tool',
    Changed UInt32 COMMENT 'runs in which it changed something and answered' CODEC (T64, ZSTD(1)),
    Void UInt32 COMMENT 'of them, those in which most of its answers held nothing' CODEC (T64, ZSTD(1)),
    Looked UInt32 COMMENT 'runs in which it searched' CODEC (T64, ZSTD(1)),
    Missed UInt32 COMMENT 'of them, those in which it did not find something' CODEC (T64, ZSTD(1)),
    Learned DateTime64(3, 'UTC') COMMENT 'when this was counted, by the clock of the store' CODEC (Delta(8), ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (Learned, ServiceName, Tool)
TTL toDate(Learned) + INTERVAL 90 DAY;
