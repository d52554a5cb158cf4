-- Watermark: up to which arrival each job has worked.
CREATE TABLE IF NOT EXISTS overclaim_watermark
(
    Job LowCardinality(String) COMMENT 'label',
    Arrived DateTime64(3, 'UTC') COMMENT 'spans that arrived up to here were worked on',
    Version UInt64 COMMENT 'the last pass; passes are numbered upwards'
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY Job;
