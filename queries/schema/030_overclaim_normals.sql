-- Normals: how each tool usually answers, counted in runs. Learned by the detection pass from the newest calls, a few
-- times an hour at most; the newest counts are used for the runs that are labelled from then on, older verdicts stand.
CREATE TABLE IF NOT EXISTS overclaim_normals
(
    ServiceName LowCardinality(String) COMMENT 'resource service.name of the runs',
    Tool LowCardinality(String) COMMENT 'name of the tool',
    Changed UInt32 COMMENT 'runs in which it changed something and answered',
    Void UInt32 COMMENT 'of them, those in which most of its answers held nothing',
    Looked UInt32 COMMENT 'runs in which it searched',
    Missed UInt32 COMMENT 'of them, those in which it did not find something',
    Learned DateTime64(3, 'UTC') COMMENT 'when this was counted',
    Version UInt64 COMMENT 'the highest one counts'
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY (ServiceName, Tool)
TTL toDate(Learned) + INTERVAL 90 DAY;
