-- Who made the model of a run, which session the run is part of, and what it cost in tokens, of any instrumentor. Rows
-- that an earlier version wrote have them empty until their traces are labelled again; nothing is ever guessed.
ALTER TABLE overclaim_runs ADD COLUMN IF NOT EXISTS
    Provider LowCardinality(String) COMMENT 'provider of the model, by its name in the GenAI conventions; empty where unknown',
ADD COLUMN IF NOT EXISTS
    Session String COMMENT 'keyed hash of the session or conversation; empty where unknown' CODEC (ZSTD(1)),
ADD COLUMN IF NOT EXISTS
    InputTokens UInt64 COMMENT 'tokens the models read in this run, repeated ones each time; 0 where unknown',
ADD COLUMN IF NOT EXISTS
    OutputTokens UInt64 COMMENT 'tokens the models wrote in this run; 0 where unknown';
