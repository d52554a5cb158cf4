-- What became of failed calls: one row per service, agent and tool, with most failures first.
-- Parameters:
--   since DateTime64(3, 'UTC') = now() - INTERVAL 7 DAY: deeds that were first tried then or later
--   rows UInt32 = 1000: how many rows at most
-- How to read it: all calls of a run that try the same thing are one deed; Deeds had FailedCalls failed calls at least
-- one each. They came right when the same was tried Again (after Tries calls in all: the median, and the most), or in
-- Another way (a later call that reached the same target; By names its tool). Else they were given up, after GivenUp
-- tries: the agent Told its user, or its claim was Accused, or Nobody noticed. Unsure: nothing tells how it ended.
-- Share is Recovered (Again and Another) of Deeds in percent, Low to High its 95 % Wilson interval.
WITH
-- The interval for Recovered of Deeds; half of 1.96 squared is 1.92.
arrayMap(
    way -> abs(
        round(
            100 * (Recovered + 1.9207 + way * sqrt(3.8415 * Recovered * (1 - Recovered / Deeds) + 3.6892))
            / (Deeds + 3.8415),
            1
        )
    ),
    [-1, 1]
) AS Ends,

deeds AS (
    SELECT
        *,
        multiIf(
            Observed = 'success', 'again',
            has(Mended, LastSpanId), 'another',
            Grade = 'suspect' OR Trouble = 5, 'unsure',
            Observed != 'failure' AND NOT (Observed = 'empty' AND Effect = 'write'), 'unsure',
            Admitted OR Covered, 'told',
            (TraceId, LastSpanId) IN (
                SELECT
                    TraceId,
                    SpanId
                FROM overclaim_failures FINAL
                WHERE Accused AND Started >= {since:DateTime64(3, 'UTC')}
            ), 'accused',
            'nobody'
        ) AS Fate
    FROM overclaim_operations FINAL
    WHERE FailedAttempts > 0 AND Started >= {since:DateTime64(3, 'UTC')}
),

-- The calls of the runs in which something came right in another way, to see in which.
calls AS (
    SELECT
        TraceId,
        RunSpanId,
        SpanId,
        Position,
        Tool,
        Targets,
        Observed
    FROM overclaim_calls FINAL
    WHERE
        Started >= {since:DateTime64(3, 'UTC')}
        AND (TraceId, RunSpanId) IN (
            SELECT
                TraceId,
                RunSpanId
            FROM deeds
            WHERE Fate = 'another'
        )
),

menders AS (
    SELECT
        failed.TraceId AS TraceId,
        failed.SpanId AS SpanId,
        argMin(calls.Tool, calls.Position) AS By
    FROM calls AS failed
    INNER JOIN calls ON failed.TraceId = calls.TraceId AND failed.RunSpanId = calls.RunSpanId
    WHERE
        failed.Observed != 'success'
        AND calls.Observed = 'success'
        AND calls.Position > failed.Position
        AND hasAny(calls.Targets, failed.Targets)
    GROUP BY failed.TraceId, failed.SpanId
)

SELECT
    deeds.ServiceName AS Service,
    deeds.Agent AS Agent,
    deeds.Tool AS Tool,
    count() AS Deeds,
    Again + Another AS Recovered,
    sum(deeds.FailedAttempts) AS FailedCalls,
    countIf(deeds.Fate = 'again') AS Again,
    countIf(deeds.Fate = 'another') AS Another,
    countIf(deeds.Fate = 'told') AS Told,
    countIf(deeds.Fate = 'accused') AS Accused,
    countIf(deeds.Fate = 'nobody') AS Nobody,
    countIf(deeds.Fate = 'unsure') AS Unsure,
    round(100 * Recovered / Deeds, 1) AS Share,
    Ends[1] AS Low,
    Ends[2] AS High,
    if(Again = 0, NULL, medianExactIf(deeds.FailedAttempts + 1, deeds.Fate = 'again')) AS Tries,
    if(Again = 0, NULL, maxIf(deeds.FailedAttempts + 1, deeds.Fate = 'again')) AS MostTries,
    if(
        Told + Accused + Nobody = 0, NULL,
        medianExactIf(deeds.FailedAttempts, deeds.Fate IN ('told', 'accused', 'nobody'))
    ) AS GivenUp,
    arrayStringConcat(
        arraySort(groupUniqArrayIf(menders.By, deeds.Fate = 'another' AND menders.By != '')), ', '
    ) AS By
FROM deeds
LEFT JOIN menders ON deeds.TraceId = menders.TraceId AND deeds.LastSpanId = menders.SpanId
GROUP BY deeds.ServiceName, deeds.Agent, deeds.Tool
ORDER BY Deeds DESC, Service ASC, Agent ASC, Tool ASC
LIMIT {rows:UInt32}
