-- What each detector could look at, and what it could not and why: one row per detector and service, rules before
-- drift, the blindest first. "No finding" of a detector that could not look is not "clean". Rules that look at a fleet
-- over time (report/fleet) are not in here.
-- Parameters:
--   since DateTime64(3, 'UTC') = now() - INTERVAL 7 DAY: runs that started then or later
--   rows UInt32 = 1000: how many rows at most
-- How to read it: a detector is a rule of ours, or "drift" with the signal that is watched. Seen are the Runs of which
-- it had all that it needs; Lacks counts what the others lack: an answer to the user (none was given, or spans carry no
-- content), an answer that can be read, spans, a record of all calls (captured), results that say how a call went, a
-- declared procedure. State is "ran" where it lacks nothing, "could not" where no run has it all. For drift, Why tells
-- what has no reference yet; SmallestChange: the smallest change of a rate, in points, that would show within a week.
WITH
needs AS (
    SELECT
        Need.1 AS Detector,
        Need.2 AS Needs
    FROM (
        SELECT arrayJoin([
            ('OC101', ['answer', 'readable answer', 'spans', 'results']),
            ('OC102', ['answer', 'readable answer', 'spans', 'results', 'captured calls']),
            ('OC103', ['answer', 'readable answer', 'spans', 'results']),
            ('OC104', ['results']),
            ('OC105', ['results']),
            ('OC201', ['results']),
            ('OC202', ['results', 'answer', 'readable answer']),
            ('OC203', ['results']),
            ('OC204', ['results', 'answer', 'readable answer']),
            ('OC205', ['results', 'answer', 'readable answer', 'spans']),
            ('OC206', ['results', 'answer', 'readable answer', 'spans']),
            ('OC207', ['results']),
            ('OC208', ['results']),
            ('OC301', ['results']),
            ('OC302', ['spans']),
            ('OC303', ['answer', 'readable answer', 'spans']),
            ('OC308', ['results', 'answer', 'readable answer', 'spans', 'captured calls']),
            ('OC401', ['spans', 'captured calls', 'procedure']),
            ('OC402', ['spans', 'captured calls', 'procedure']),
            ('OC403', ['spans', 'captured calls', 'procedure']),
            ('OC404', ['spans', 'captured calls', 'procedure'])
        ]) AS Need
    )
),

lacks AS (
    SELECT
        ServiceName,
        arrayMap(lack -> lack.2, arrayFilter(lack -> lack.1, [
            (has(Gaps, 'no_final_message'), 'answer'),
            (Claimed = 'unreadable', 'readable answer'),
            (NOT Complete AND Gaps != ['no_final_message'], 'spans'),
            (NOT Captured, 'captured calls'),
            ((TraceId, SpanId) IN (
                SELECT
                    TraceId,
                    RunSpanId
                FROM overclaim_calls FINAL
                WHERE Observed = 'unknown' AND Started >= {since:DateTime64(3, 'UTC')}
            ), 'results'),
            ((SELECT count() FROM overclaim_procedures FINAL) = 0, 'procedure')
        ])) AS Lacks,
        count() AS N
    FROM overclaim_runs FINAL
    WHERE Started >= {since:DateTime64(3, 'UTC')}
    GROUP BY ServiceName, Lacks
)

SELECT *
FROM (
    SELECT
        Detector,
        ServiceName AS Service,
        multiIf(Seen = Runs, 'ran', Seen > 0, 'partial', 'could not') AS State,
        sumIf(N, empty(Missed)) AS Seen,
        sum(N) AS Runs,
        arrayStringConcat(
            arrayMap(
                (what, times) -> concat(what, ' ', toString(times)),
                tupleElement(sumMap(Missed, arrayMap(lack -> N, Missed)), 1),
                tupleElement(sumMap(Missed, arrayMap(lack -> N, Missed)), 2)
            ), ', '
        ) AS Lacks,
        '' AS Why,
        CAST(NULL AS Nullable(Float64)) AS SmallestChange
    FROM (
        SELECT
            needs.Detector AS Detector,
            lacks.ServiceName AS ServiceName,
            lacks.N AS N,
            arrayIntersect(lacks.Lacks, needs.Needs) AS Missed
        FROM lacks
        CROSS JOIN needs
    ) AS missed
    GROUP BY Detector, ServiceName
    UNION ALL
    SELECT
        concat('drift: ', states.Detector) AS Detector,
        states.ServiceName AS Service,
        states.State AS State,
        if(states.State = 'could not', 0, states.Runs) AS Seen,
        states.Seen AS Runs,
        if(states.State = 'ran', '', 'references') AS Lacks,
        states.Why AS Why,
        if(states.SmallestChange > 0, round(100 * states.SmallestChange, 1), NULL) AS SmallestChange
    FROM overclaim_detector_states AS states FINAL
    WHERE states.At >= {since:DateTime64(3, 'UTC')}
) AS coverage
ORDER BY
    startsWith(Detector, 'drift: ') ASC,
    indexOf(['could not', 'partial', 'ran'], State) ASC,
    Detector ASC,
    Service ASC
LIMIT {rows:UInt32}
