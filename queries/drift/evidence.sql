-- Evidence that streams left their references, now: the e-detector, one row per stream and direction.
-- Each hour since the watch began is a candidate for the change. Its e-value is how much better the runs since then are
-- told by a rate that moved (by one of Steps, in logits) than by what the reference lets expect (beta-binomial, one per
-- block). LogSum is the logarithm of their sum: on average it takes exp(LogSum) hours without any change to get there
-- by chance, so an alarm at log A is one in A hours. The change began where the e-value is largest.
-- An hour without runs has the e-value of the next one with runs; so that one weighs as many hours as it ends.
-- streams: which; since, until: the time looked at, Unix seconds; recent: from when on LateRuns are counted.
WITH
[0.5, 1., 2., 4.] AS Steps,

watched AS (
    SELECT *
    FROM overclaim_references FINAL
    WHERE Stream IN {streams:Array(String)} AND notEmpty(A)
    ORDER BY Stream ASC
    LIMIT 1 BY Stream
),

hours AS (
    SELECT
        ServiceName,
        Environment,
        if(Level = 'service', '', toString(Agent)) AS Whose,
        Tool,
        Signal,
        Level,
        toStartOfHour(Tick) AS Hour,
        toFloat64(sum(Runs)) AS N,
        toFloat64(sum(Bad)) AS K,
        uniqExact(Tick) AS Quarters
    FROM overclaim_behaviour FINAL
    ARRAY JOIN if(Tool = '', ['agent', 'service'], ['tool']) AS Level
    WHERE
        (ServiceName, Environment, Tool, Signal) IN (
            SELECT
                ServiceName,
                Environment,
                Tool,
                Signal
            FROM watched
        )
        AND Tick >= greatest(toDateTime({since:UInt32}, 'UTC'), (SELECT min(Since) FROM watched))
        AND Tick < toDateTime({until:UInt32}, 'UTC')
    GROUP BY ServiceName, Environment, Whose, Tool, Signal, Level, Hour
    HAVING N > 0
),

placed AS (
    SELECT
        watched.Stream AS Stream,
        toInt64(toUnixTimestamp(hours.Hour)) AS Hour,
        toInt64(greatest(toUnixTimestamp(watched.Since), {since:UInt32})) AS Begun,
        watched.A AS A,
        watched.B AS B,
        watched.Deff AS Deff,
        hours.N AS N,
        hours.K AS K,
        hours.Quarters AS Quarters,
        if(
            length(A) = 1, 1, 1 + intDiv(toHour(hours.Hour), 3) + 8 * (length(A) = 16 AND toDayOfWeek(hours.Hour) > 5)
        ) AS Place,
        arrayMap(i -> (i = Place) * N / Deff, arrayEnumerate(A)) AS Ns,
        arrayMap(i -> (i = Place) * K / Deff, arrayEnumerate(A)) AS Ks
    FROM hours
    INNER JOIN watched
        ON
            hours.ServiceName = watched.ServiceName
            AND hours.Environment = watched.Environment
            AND hours.Whose = watched.Agent
            AND hours.Tool = watched.Tool
            AND hours.Signal = watched.Signal
            AND hours.Level = watched.Level
    WHERE hours.Hour >= watched.Since
),

since AS (
    SELECT
        Stream,
        Hour,
        A,
        B,
        lagInFrame(Hour, 1, Begun - 3600) OVER before AS Previous,
        sum(N) OVER after AS N,
        sum(K) OVER after AS K,
        sum(Quarters) OVER after AS Quarters,
        sumForEach(Ns) OVER after AS Ns,
        sumForEach(Ks) OVER after AS Ks
    FROM placed
    WINDOW
        before AS (PARTITION BY Stream ORDER BY Hour ASC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        after AS (PARTITION BY Stream ORDER BY Hour ASC ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
),

evidence AS (
    SELECT
        Stream,
        Hour,
        arrayJoin([1, -1]) AS Direction,
        (Hour - Previous) / 3600 AS Weight,
        N,
        K,
        Quarters,
        arraySum(
            (a, b, n, k) -> (
                lgamma(a + k) + lgamma(b + n - k) - lgamma(a + b + n) - lgamma(a) - lgamma(b) + lgamma(a + b)
            ),
            A, B, Ns, Ks
        ) AS Unmoved,
        arrayMap((a, b) -> log(a / b), A, B) AS Logits,
        arrayMap(
            step -> arraySum(
                (l, n, k) -> (
                    -k * log1p(exp(-(l + Direction * step))) - (n - k) * log1p(exp(l + Direction * step))
                ),
                Logits, Ns, Ks
            ) - Unmoved - log(length(Steps)),
            Steps
        ) AS Each,
        arrayMax(Each) AS Top,
        Top + log(arraySum(v -> exp(v - Top), Each)) AS LogE
    FROM since
),

tops AS (
    SELECT
        *,
        greatest(max(LogE) OVER (PARTITION BY Stream, Direction), 0.) AS Largest
    FROM evidence
)

SELECT
    Stream,
    Direction,
    any(Largest) + log(
        sum(Weight * exp(LogE - Largest))
        + intDiv(toStartOfHour(toDateTime({until:UInt32} - 1, 'UTC')) - toDateTime(max(Hour), 'UTC'), 3600)
        * exp(-any(Largest))
    ) AS LogSum,
    argMax(Hour, (LogE, -Hour)) AS ChangeAt,
    toUInt64(argMax(K, (LogE, -Hour))) AS Bad,
    toUInt64(argMax(N, (LogE, -Hour))) AS Runs,
    toUInt64(argMaxIf(K, N, Hour >= {recent:UInt32})) AS LateBad,
    toUInt64(maxIf(N, Hour >= {recent:UInt32})) AS LateRuns,
    max(Quarters) AS Ticks
FROM tops
GROUP BY Stream, Direction
ORDER BY Stream ASC, Direction ASC
