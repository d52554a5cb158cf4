-- Counts anew how each tool answers, over its newest calls: the same votes as overclaim.outcome.normals.votes, one of
-- each run. Reads at most so many calls, however long the history is.
-- calls: how many are read at most, the newest first.
-- not_found: pattern of the exceptions that say "there is no such thing".
INSERT INTO overclaim_normals (ServiceName, Tool, Changed, Void, Looked, Missed, Learned)
WITH
newest AS (
    SELECT
        TraceId,
        RunSpanId,
        SpanId,
        ServiceName,
        Tool,
        Action,
        Effect,
        Observed,
        EvidenceKind,
        EvidenceRule,
        EvidenceValue,
        EvidenceOutcome,
        EvidenceGrade,
        Version,
        Deleted
    FROM overclaim_calls
    ORDER BY toStartOfHour(Started) DESC
    LIMIT {calls:UInt64}
),

calls AS (
    SELECT
        *,
        Observed IN ('success', 'pending', 'empty') AS Answered,
        Answered AND Effect = 'write' AND Action NOT IN ('', 'run', 'delegate') AS Change,
        Change AND has(EvidenceRule, 'empty.void') AS Hollow,
        arrayFilter(
            (fact, outcome, grade) -> outcome = 'failure' AND grade != 'suspect',
            arrayZip(EvidenceKind, EvidenceValue), EvidenceOutcome, EvidenceGrade
        ) AS Failures,
        Effect = 'read' AND Action = 'search' AS Search,
        Observed = 'failure' AND notEmpty(Failures) AND arrayAll(
            fact -> (fact.1 = 'http_status' AND fact.2 IN ('404', '410'))
            OR (fact.1 = 'exception' AND match(fact.2, {not_found:String})),
            Failures
        ) AS NotFound
    FROM (
        SELECT * FROM newest
        ORDER BY Version DESC
        LIMIT 1 BY TraceId, SpanId
    )
    WHERE NOT Deleted
),

votes AS (
    SELECT
        ServiceName,
        Tool,
        countIf(Change) > 0 AS Changed,
        2 * countIf(Hollow) > countIf(Change) AS Void,
        countIf(Search AND (Answered OR NotFound)) > 0 AS Looked,
        countIf(Search AND (Observed = 'empty' OR NotFound)) > 0 AS Missed
    FROM calls
    GROUP BY ServiceName, Tool, TraceId, RunSpanId
)

SELECT
    ServiceName,
    Tool,
    sum(votes.Changed) AS Changes,
    sum(votes.Void) AS Voids,
    sum(votes.Looked) AS Looks,
    sum(votes.Missed) AS Misses,
    now64(3) AS Now
FROM votes
GROUP BY ServiceName, Tool
HAVING Changes + Looks > 0
