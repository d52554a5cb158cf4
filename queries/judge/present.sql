-- What there is about some traces that were just labelled, so that judging leaves out questions that have no answer.
-- One row for each that there is:
--   trouble       a call that did not end well
--   looks         a look that found nothing
--   parts         a call that returned only a part of what there is
--   unproven      a claim of success that nothing is known about, or whose words do not fit
--   claims DEED   a claim of success that names this deed
--   several       a trace of several runs
--   left_off      a run without a final message of which nothing else is missing
--   and the tables with rows, or open findings, of an earlier pass than this one ({version}).
-- Rows that are replaced or were taken back count, too: it may say too much, never too little.
-- earliest, latest: Unix nanoseconds between which all spans of the traces start.
SELECT DISTINCT
    arrayJoin(
        arrayFilter(
            what -> what != '',
            [
                if(Observed IN ('failure', 'empty', 'pending'), 'trouble', ''),
                if(Observed = 'empty' AND Effect = 'read', 'looks', ''),
                if(has(EvidenceRule, 'result.truncated'), 'parts', '')
            ]
        )
    ) AS What
FROM overclaim_calls
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND (Observed IN ('failure', 'empty', 'pending') OR has(EvidenceRule, 'result.truncated'))
UNION ALL
SELECT DISTINCT
    arrayJoin(
        if(empty(About) OR MismatchRule != '', ['unproven', concat('claims ', Action)], [concat('claims ', Action)])
    ) AS What
FROM overclaim_claims
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Outcome = 'success'
UNION ALL
SELECT 'several' AS What
FROM overclaim_runs
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
HAVING uniqExact(TraceId, SpanId) > uniqExact(TraceId)
UNION ALL
SELECT DISTINCT 'left_off' AS What
FROM overclaim_runs
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Gaps = ['no_final_message']
UNION ALL
SELECT DISTINCT 'operations' AS What
FROM overclaim_operations
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Version < {version:UInt64}
UNION ALL
SELECT DISTINCT 'verdicts' AS What
FROM overclaim_verdicts
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Version < {version:UInt64}
UNION ALL
SELECT DISTINCT 'failures' AS What
FROM overclaim_failures
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Version < {version:UInt64}
UNION ALL
SELECT DISTINCT 'breaches' AS What
FROM overclaim_breaches
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Version < {version:UInt64}
UNION ALL
SELECT DISTINCT 'findings' AS What
FROM overclaim_findings
WHERE
    TraceId IN {traces:Array(String)}
    AND At >= fromUnixTimestamp64Nano({earliest:Int64})
    AND At <= fromUnixTimestamp64Nano({latest:Int64})
    AND Open
    AND Version < {version:UInt64}
