-- Actions: what people did to drifts and references, and why. Rows are only added.
CREATE TABLE IF NOT EXISTS overclaim_actions
(
    At DateTime64(3, 'UTC') COMMENT 'when' CODEC (Delta(8), ZSTD(1)),
    Who String COMMENT 'who, as they said' CODEC (ZSTD(1)),
    What LowCardinality(String) COMMENT 'accept, close or rebase',
    DriftId String COMMENT 'which drift: overclaim_drifts.DriftId; empty where a stream is meant' CODEC (ZSTD(1)),
    Stream String COMMENT 'which stream: overclaim_references.Stream' CODEC (ZSTD(1)),
    Why String COMMENT 'the reason they gave' CODEC (ZSTD(1)),
    Before String COMMENT 'state or reference before, as JSON' CODEC (ZSTD(1)),
    After String COMMENT 'state or reference afterwards, as JSON' CODEC (ZSTD(1))
)
ENGINE = MergeTree
ORDER BY (At, DriftId, Stream);
