-- Then and now: how often tools fail and agents overclaim in the last {window_hours} hours up to {now}, against the
-- {reference_hours} hours before that. One row per service, agent and signal; "tool ..." rows count calls, "overclaim"
-- rows count runs.
-- Parameters:
--   now DateTime64(3, 'UTC') = now(): where now ends
--   window_hours UInt32 = 24: how long now is
--   reference_hours UInt32 = 168: how long then is, which ends where now begins
--   all UInt8 = 0: 1 for rows with nothing to compare, too: what is new, and what is no longer seen
--   rows UInt32 = 1000: how many rows at most
-- How to read it: Was and Now are rates in percent with 95 % Wilson intervals; Change is Now - Was in points with
-- its 95 % Newcombe interval; P is the two-sided p-value of the pooled two-proportion z test. The row with the largest
-- surely changed part comes first. This is a report, not an alarm: of twenty rows in which nothing changed, one
-- "differs" by chance, and whoever looks every hour will see one soon. Calls of one run are counted one by one, which
-- makes the intervals of tools that are called many times in a run too narrow.
-- Unknown outcomes and incomplete runs are left out of the counts: what was not seen neither failed nor went well.
WITH
1.959963984540054 AS Z,

events AS (
    SELECT
        ServiceName,
        Agent,
        concat('tool ', Tool) AS Signal,
        Started > {now:DateTime64(3, 'UTC')} - toIntervalHour({window_hours:UInt32}) AS Recent,
        Observed = 'failure' AND Grade != 'suspect' AS Bad
    FROM overclaim_calls FINAL
    WHERE
        Observed != 'unknown'
        AND Started > {now:DateTime64(3, 'UTC')} - toIntervalHour({window_hours:UInt32} + {reference_hours:UInt32})
        AND Started <= {now:DateTime64(3, 'UTC')}
    UNION ALL
    SELECT
        ServiceName,
        Agent,
        'overclaim' AS Signal,
        Started > {now:DateTime64(3, 'UTC')} - toIntervalHour({window_hours:UInt32}) AS Recent,
        Label IN ('contradicted', 'unsupported', 'pending') AS Bad
    FROM overclaim_verdicts FINAL
    WHERE
        Claim = -1
        AND Label != 'incomplete'
        AND Started > {now:DateTime64(3, 'UTC')} - toIntervalHour({window_hours:UInt32} + {reference_hours:UInt32})
        AND Started <= {now:DateTime64(3, 'UTC')}
),

counts AS (
    SELECT
        ServiceName,
        Agent,
        Signal,
        countIf(Recent) AS N1,
        countIf(Recent AND Bad) AS K1,
        countIf(NOT Recent) AS N0,
        countIf(NOT Recent AND Bad) AS K0
    FROM events
    GROUP BY ServiceName, Agent, Signal
),

rates AS (
    SELECT
        *,
        K1 / nullIf(N1, 0) AS P1,
        K0 / nullIf(N0, 0) AS P0,
        (P1 + Z * Z / (2 * N1)) / (1 + Z * Z / N1) AS C1,
        (P0 + Z * Z / (2 * N0)) / (1 + Z * Z / N0) AS C0,
        Z * sqrt(P1 * (1 - P1) / N1 + Z * Z / (4 * N1 * N1)) / (1 + Z * Z / N1) AS H1,
        Z * sqrt(P0 * (1 - P0) / N0 + Z * Z / (4 * N0 * N0)) / (1 + Z * Z / N0) AS H0,
        (K1 + K0) / (N1 + N0) AS Pooled,
        (P1 - P0) / sqrt(Pooled * (1 - Pooled) * (1 / N1 + 1 / N0)) AS Score,
        P1 - P0 AS Difference,
        Difference - sqrt(pow(P1 - (C1 - H1), 2) + pow((C0 + H0) - P0, 2)) AS Low,
        Difference + sqrt(pow((C1 + H1) - P1, 2) + pow(P0 - (C0 - H0), 2)) AS High
    FROM counts
)

SELECT
    ServiceName AS Service,
    Agent,
    Signal,
    K0 AS BadThen,
    N0 AS AllThen,
    round(100 * P0, 2) AS Was,
    round(100 * (C0 - H0), 2) AS WasLow,
    round(100 * (C0 + H0), 2) AS WasHigh,
    K1 AS BadNow,
    N1 AS AllNow,
    round(100 * P1, 2) AS Now,
    round(100 * (C1 - H1), 2) AS NowLow,
    round(100 * (C1 + H1), 2) AS NowHigh,
    round(100 * Difference, 2) AS Change,
    round(100 * Low, 2) AS ChangeLow,
    round(100 * High, 2) AS ChangeHigh,
    multiIf(N0 = 0 OR N1 = 0, NULL, Pooled IN (0, 1), 1, erfc(abs(Score) / sqrt(2))) AS P,
    multiIf(
        N0 = 0, 'new',
        N1 = 0, 'no longer seen',
        least(N0, N1) < 20, 'too few to say',
        Low > 0, 'differs: more often',
        High < 0, 'differs: less often',
        'no difference seen'
    ) AS Reading
FROM rates
WHERE {all:UInt8} OR (N0 > 0 AND N1 > 0)
ORDER BY
    if(N0 = 0 OR N1 = 0, 0, greatest(Low, -High, 0)) DESC,
    N1 + N0 DESC,
    Service ASC,
    Agent ASC,
    Signal ASC
LIMIT {rows:UInt32}
