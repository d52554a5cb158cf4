-- What signals with several outcomes count: in how many runs each of them happened, such as which tools were called. A
-- run may have more than one. Counts of an earlier version have none until their hours are counted again.
ALTER TABLE overclaim_behaviour ADD COLUMN IF NOT EXISTS
    Categories Map(LowCardinality(String), UInt32) COMMENT 'for what has categories: runs by category' CODEC (ZSTD(1));
