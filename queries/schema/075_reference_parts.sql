-- A reference has parts where a signal is measured or has categories: one for each quantile or category, and evidence
-- is the mean over them. A and B then hold the priors of the first part, of the second, and so on; each has one for
-- every block. What an earlier version measured has no parts, and is measured again by the next pass.
ALTER TABLE overclaim_references ADD COLUMN IF NOT EXISTS
    Kind LowCardinality(String) COMMENT 'rate, measured or named: what kind of signal it is',
ADD COLUMN IF NOT EXISTS
    Parts Array(String) COMMENT 'quantile or category of each part; empty for all other categories',
ADD COLUMN IF NOT EXISTS
    PartBad Array(UInt64) COMMENT 'runs of the reference beyond the edge, or with the category' CODEC (ZSTD(1)),
ADD COLUMN IF NOT EXISTS
    Edges Array(Int16) COMMENT 'for what is measured: the bin from which on a run counts' CODEC (ZSTD(1)),
ADD COLUMN IF NOT EXISTS
    Sides Array(Int8) COMMENT 'direction that a part is about: 1, -1, or 0 for both' CODEC (ZSTD(1));
