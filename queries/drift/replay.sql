-- The evidence of drift/evidence as it was at every quarter of an hour with runs since the watch began: when would
-- an alarm have come? For few streams at a time, since each quarter is set against all candidates before it.
-- every: 1 for each quarter, 4 for the last of each hour; the other values are those of drift/evidence.
WITH
[0.5, 1., 2., 4.] AS Steps,

watched AS (
    SELECT *
    FROM overclaim_references FINAL
    WHERE Stream IN {streams:Array(String)} AND notEmpty(A) AND notEmpty(Parts)
    ORDER BY Stream ASC
    LIMIT 1 BY Stream
),

ticks AS (
    SELECT
        ServiceName,
        Environment,
        if(Level = 'service', '', toString(Agent)) AS Whose,
        Tool,
        Signal,
        Level,
        Tick,
        toFloat64(sum(Runs)) AS N,
        toFloat64(sum(Bad)) AS K,
        sumMap(Values) AS Bins,
        sumMap(Categories) AS Names
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
    GROUP BY ServiceName, Environment, Whose, Tool, Signal, Level, Tick
    HAVING N > 0
),

parted AS (
    SELECT
        watched.Stream AS Stream,
        Part,
        ticks.Tick AS Tick,
        toInt64(greatest(toUnixTimestamp(watched.Since), {since:UInt32})) AS Begun,
        watched.A AS A,
        watched.B AS B,
        watched.Deff AS Deff,
        watched.Parts AS Parts,
        watched.Sides AS Sides,
        watched.Edges[Part] AS Edge,
        ticks.N AS N,
        toFloat64(multiIf(
            watched.Kind = 'rate', ticks.K,
            watched.Kind = 'measured',
            arraySum((b, n) -> n * (b >= Edge), mapKeys(ticks.Bins), mapValues(ticks.Bins)),
            Parts[Part] != '', ticks.Names[Parts[Part]],
            least(
                ticks.N,
                toFloat64(
                    arraySum((name, n) -> n * (NOT has(Parts, name)), mapKeys(ticks.Names), mapValues(ticks.Names))
                )
            )
        )) AS K
    FROM ticks
    INNER JOIN watched
        ON
            ticks.ServiceName = watched.ServiceName
            AND ticks.Environment = watched.Environment
            AND ticks.Whose = watched.Agent
            AND ticks.Tool = watched.Tool
            AND ticks.Signal = watched.Signal
            AND ticks.Level = watched.Level
    ARRAY JOIN arrayEnumerate(watched.Parts) AS Part
    WHERE ticks.Tick >= watched.Since
),

placed AS (
    SELECT
        Stream,
        Part,
        Sides,
        Begun,
        toInt64(toUnixTimestamp(Tick)) AS At,
        toInt64(toUnixTimestamp(toStartOfHour(Tick))) AS Hour,
        toUInt32(length(parted.A) / length(Parts)) AS Blocks,
        arraySlice(parted.A, (Part - 1) * Blocks + 1, Blocks) AS A,
        arraySlice(parted.B, (Part - 1) * Blocks + 1, Blocks) AS B,
        if(
            Blocks = 1, 1,
            1 + intDiv(toHour(Tick), 3) + 8 * (Blocks = 16 AND toDayOfWeek(Tick) > 5)
        ) AS Place,
        arrayMap(i -> (i = Place) * N / Deff, range(1, Blocks + 1)) AS Ns,
        arrayMap(i -> (i = Place) * K / Deff, range(1, Blocks + 1)) AS Ks
    FROM parted
),

sums AS (
    SELECT
        Stream,
        Part,
        Sides,
        At,
        Hour,
        Begun,
        A,
        B,
        Ns,
        Ks,
        sumForEach(Ns) OVER upto AS SumN,
        sumForEach(Ks) OVER upto AS SumK
    FROM placed
    WINDOW upto AS (PARTITION BY Stream, Part ORDER BY At ASC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),

-- What had been counted before each candidate.
candidates AS (
    SELECT
        Stream,
        Part,
        Hour,
        (Hour - lagInFrame(Hour, 1, Begun - 3600) OVER (PARTITION BY Stream, Part ORDER BY Hour ASC)) / 3600 AS Weight,
        BeforeN,
        BeforeK
    FROM (
        SELECT
            Stream,
            Part,
            Hour,
            any(Begun) AS Begun,
            argMin(arrayMap((s, n) -> s - n, SumN, Ns), At) AS BeforeN,
            argMin(arrayMap((s, k) -> s - k, SumK, Ks), At) AS BeforeK
        FROM sums
        GROUP BY Stream, Part, Hour
    )
),

peeks AS (
    SELECT *
    FROM sums
    QUALIFY
        {every:UInt8} = 1
        OR row_number() OVER (PARTITION BY Stream, Part, Hour ORDER BY At DESC) = 1
),

pairs AS (
    SELECT
        peeks.Stream AS Stream,
        peeks.Part AS Part,
        peeks.Sides AS Sides,
        peeks.At AS At,
        candidates.Hour AS Hour,
        candidates.Weight AS Weight,
        peeks.A AS A,
        peeks.B AS B,
        arrayMap((s, b) -> s - b, peeks.SumN, candidates.BeforeN) AS Ns,
        arrayMap((s, b) -> s - b, peeks.SumK, candidates.BeforeK) AS Ks
    FROM peeks INNER JOIN candidates ON peeks.Stream = candidates.Stream AND peeks.Part = candidates.Part
    WHERE candidates.Hour <= peeks.At
),

evidence AS (
    SELECT
        Stream,
        Part,
        At,
        Hour,
        Weight,
        arrayJoin(arrayFilter(way -> Sides[Part] IN (0, way), [1, -1])) AS Direction,
        toUInt32(arrayCount(side -> side IN (0, Direction), Sides)) AS Together,
        arraySum(
            (a, b, n, k) -> (
                lgamma(a + k) + lgamma(b + n - k) - lgamma(a + b + n) - lgamma(a) - lgamma(b) + lgamma(a + b)
            ),
            A, B, Ns, Ks
        ) AS Unmoved,
        arrayMap((a, b) -> log(a / b), A, B) AS Logits,
        arraySum(
            (l, n, k) -> (-k * log1p(exp(-l)) - (n - k) * log1p(exp(l))),
            Logits, Ns, Ks
        ) AS Still,
        arrayMap(
            step -> arraySum(
                (l, n, k) -> (
                    -k * log1p(exp(-(l + Direction * step))) - (n - k) * log1p(exp(l + Direction * step))
                ),
                Logits, Ns, Ks
            ) - Unmoved - log(length(Steps) * Together),
            Steps
        ) AS Each,
        arrayMax(Each) AS Top,
        Top + log(arraySum(v -> exp(v - Top), Each)) AS LogE,
        LogE + Unmoved - Still AS Gain
    FROM pairs
)

SELECT
    Stream,
    Direction,
    At,
    any(Peak) + log(sum(Whole)) AS LogSum,
    argMax(Change, (Strongest, -Change, -toInt64(Part))) AS ChangeAt
FROM (
    SELECT
        Stream,
        Direction,
        At,
        Part,
        any(Highest) AS Peak,
        sum(Weight * exp(LogE - Highest)) AS Whole,
        max(LogE) AS Strongest,
        argMax(Hour, (Gain, -Hour)) AS Change
    FROM (
        SELECT
            *,
            max(LogE) OVER (PARTITION BY Stream, Direction, At) AS Highest
        FROM evidence
    )
    GROUP BY Stream, Direction, At, Part
)
GROUP BY Stream, Direction, At
ORDER BY Stream ASC, Direction ASC, At ASC
