-- Writes down what each signal could be watched for in each service: ran where all that had runs in the last 28 days
-- before {until} (Unix seconds) has a reference, partial where some has, and could not where none has.
INSERT INTO overclaim_detector_states (
    Detector, ServiceName, State, Why, Runs, Seen, SmallestChange, At, Version
)
WITH
counts AS (
    SELECT
        ServiceName,
        Signal,
        sumIf(Runs, Tool = '') AS Told,
        uniqExact(Environment, Agent, Tool) AS Streams,
        uniqExactIf((Environment, Agent, Tool), (ServiceName, Environment, Agent, Tool, Signal) IN (
            SELECT
                ServiceName,
                Environment,
                Agent,
                Tool,
                Signal
            FROM overclaim_references FINAL
        )) AS Watched
    FROM overclaim_behaviour FINAL
    WHERE Tick >= toDateTime({until:UInt32}, 'UTC') - INTERVAL 28 DAY
    GROUP BY ServiceName, Signal
),

visible AS (
    SELECT
        ServiceName,
        Signal,
        min(SmallestChange) AS Smallest
    FROM overclaim_drift_streams FINAL
    WHERE isFinite(SmallestChange)
    GROUP BY ServiceName, Signal
)

SELECT
    counts.Signal AS Detector,
    counts.ServiceName AS ServiceName,
    multiIf(counts.Watched = counts.Streams, 'ran', counts.Watched > 0, 'partial', 'could not') AS State,
    if(
        State = 'ran', '',
        concat(
            toString(counts.Streams - counts.Watched), ' of ', toString(counts.Streams),
            ' agents and tools have too few runs or days for a reference'
        )
    ) AS Why,
    counts.Told AS Runs,
    totals.Told AS Seen,
    visible.Smallest AS SmallestChange,
    fromUnixTimestamp64Milli({version:Int64}) AS At,
    {version:UInt64} AS Version
FROM counts
LEFT JOIN counts AS totals ON counts.ServiceName = totals.ServiceName AND totals.Signal = 'runs'
LEFT JOIN visible ON counts.ServiceName = visible.ServiceName AND counts.Signal = visible.Signal
WHERE counts.Signal != 'runs'
