-- Extents and arrivals of traces are entered by the detection pass, not by views that work in every insert of spans:
-- two views are left there, one that reads OTLP and one that fills the inbox. A pass writes the number of spans as it
-- read them, each once, so nothing is counted twice however often it is entered: the highest number counts.
-- First the type, while the old view may still write. Numbers of a trace in several parts were to be added up; the
-- highest of them stands until the next pass reads the trace.
ALTER TABLE overclaim_traces MODIFY COLUMN IF EXISTS
    Spans SimpleAggregateFunction(max, UInt64) COMMENT 'the most spans of it that a pass counted, each once' CODEC (ZSTD(1));

DROP VIEW IF EXISTS overclaim_traces_mv;

DROP VIEW IF EXISTS overclaim_arrivals_mv;

-- What came in of one trace is found there before any pass has looked at it.
ALTER TABLE overclaim_inbox ADD INDEX IF NOT EXISTS inbox_trace TraceId TYPE bloom_filter(0.001) GRANULARITY 1;
