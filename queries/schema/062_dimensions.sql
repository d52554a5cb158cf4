-- What else is known of runs and calls, by which drift is split and explained. Rows that an earlier version wrote have
-- them empty until their traces are labelled again; what the spans do not say is never guessed.
ALTER TABLE overclaim_runs ADD COLUMN IF NOT EXISTS
    ServiceVersion LowCardinality(String) COMMENT 'resource service.version',
ADD COLUMN IF NOT EXISTS
    Prompt LowCardinality(String) COMMENT 'version of the prompt where the spans name one, else a keyed hash of the instructions; empty where unknown';

ALTER TABLE overclaim_calls ADD COLUMN IF NOT EXISTS
    ToolVersion LowCardinality(String) COMMENT 'version of the tool, as its span says; empty where unknown';

-- What a pass wrote is found by its number without a read of the whole table.
ALTER TABLE overclaim_runs ADD INDEX IF NOT EXISTS by_version Version TYPE minmax GRANULARITY 1;

ALTER TABLE overclaim_calls ADD INDEX IF NOT EXISTS by_version Version TYPE minmax GRANULARITY 1;

ALTER TABLE overclaim_verdicts ADD INDEX IF NOT EXISTS by_version Version TYPE minmax GRANULARITY 1;

ALTER TABLE overclaim_failures ADD INDEX IF NOT EXISTS by_version Version TYPE minmax GRANULARITY 1;
