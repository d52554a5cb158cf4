-- Evidence that streams left their references, now: the e-detector, one row per stream and direction.
-- Each hour since the watch began is a candidate for the change. Its e-value is how much better the runs since then are
-- told by a rate that moved (by one of Steps, in logits) than by what the reference lets expect (beta-binomial, one per
-- block). LogSum is the logarithm of their sum: on average it takes exp(LogSum) hours without any change to get there
-- by chance, so an alarm at log A is one in A hours. The change began where a rate that moved tells what came since
-- better than the reference's own rate by most (Gain). That the reference's rate is unsure is left out there, since it
-- would explain a long time better than a short one.
-- An hour without runs has the e-value of the next one with runs; so that one weighs as many hours as it ends.
-- Where a reference has parts, the evidence is the mean over those that are about the direction, so the parts together
-- may be wrong as often as a stream with one; the part with the largest e-value is named, and the counts are its own.
-- streams: which; named: the signals with categories; since, until: the time looked at, Unix seconds; recent: from
-- when on LateRuns are counted.
WITH
[0.5, 1., 2., 4.] AS Steps,

watched AS (
    SELECT *
    FROM overclaim_references FINAL
    WHERE Stream IN {streams:Array(String)} AND notEmpty(A) AND notEmpty(Parts)
    ORDER BY Stream ASC
    LIMIT 1 BY Stream
),

moments AS (
    SELECT
        ServiceName,
        Environment,
        if(Level = 'service', '', toString(Agent)) AS Whose,
        Tool,
        Signal,
        Level,
        if(Signal IN {named:Array(String)}, Tick, toStartOfHour(Tick)) AS Moment,
        toFloat64(sum(Runs)) AS N,
        toFloat64(sum(Bad)) AS K,
        sumMap(Values) AS Bins,
        sumMap(Categories) AS Names,
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
    GROUP BY ServiceName, Environment, Whose, Tool, Signal, Level, Moment
    HAVING N > 0
),

parted AS (
    SELECT
        watched.Stream AS Stream,
        Part,
        toStartOfHour(moments.Moment) AS Hour,
        toInt64(greatest(toUnixTimestamp(watched.Since), {since:UInt32})) AS Begun,
        watched.A AS A,
        watched.B AS B,
        watched.Deff AS Deff,
        watched.Parts AS Parts,
        watched.Sides AS Sides,
        watched.PartBad[Part] AS RefBad,
        watched.Edges[Part] AS Edge,
        sum(moments.N) AS N,
        sum(toFloat64(multiIf(
            watched.Kind = 'rate', moments.K,
            watched.Kind = 'measured',
            arraySum((b, n) -> n * (b >= Edge), mapKeys(moments.Bins), mapValues(moments.Bins)),
            Parts[Part] != '', moments.Names[Parts[Part]],
            least(
                moments.N,
                toFloat64(
                    arraySum((name, n) -> n * (NOT has(Parts, name)), mapKeys(moments.Names), mapValues(moments.Names))
                )
            )
        ))) AS K,
        sum(moments.Quarters) AS Quarters
    FROM moments
    INNER JOIN watched
        ON
            moments.ServiceName = watched.ServiceName
            AND moments.Environment = watched.Environment
            AND moments.Whose = watched.Agent
            AND moments.Tool = watched.Tool
            AND moments.Signal = watched.Signal
            AND moments.Level = watched.Level
    ARRAY JOIN arrayEnumerate(watched.Parts) AS Part
    WHERE moments.Moment >= watched.Since
    GROUP BY Stream, Part, Hour, Begun, A, B, Deff, Parts, Sides, RefBad, Edge
),

placed AS (
    SELECT
        * EXCEPT (Hour, A, B),
        toInt64(toUnixTimestamp(Hour)) AS Hour,
        toUInt32(length(parted.A) / length(Parts)) AS Blocks,
        arraySlice(parted.A, (Part - 1) * Blocks + 1, Blocks) AS A,
        arraySlice(parted.B, (Part - 1) * Blocks + 1, Blocks) AS B,
        if(
            Blocks = 1, 1,
            1 + intDiv(toHour(parted.Hour), 3) + 8 * (Blocks = 16 AND toDayOfWeek(parted.Hour) > 5)
        ) AS Place,
        arrayMap(i -> (i = Place) * N / Deff, range(1, Blocks + 1)) AS Ns,
        arrayMap(i -> (i = Place) * K / Deff, range(1, Blocks + 1)) AS Ks
    FROM parted
),

since AS (
    SELECT
        Stream,
        Part,
        Parts,
        Sides,
        RefBad,
        Edge,
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
        before AS (PARTITION BY Stream, Part ORDER BY Hour ASC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        after AS (PARTITION BY Stream, Part ORDER BY Hour ASC ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
),

evidence AS (
    SELECT
        Stream,
        Part,
        Parts,
        RefBad,
        Edge,
        Hour,
        arrayJoin(arrayFilter(way -> Sides[Part] IN (0, way), [1, -1])) AS Direction,
        toUInt32(arrayCount(side -> side IN (0, Direction), Sides)) AS Together,
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
    FROM since
),

tops AS (
    SELECT
        *,
        greatest(max(LogE) OVER (PARTITION BY Stream, Direction), 0.) AS Largest
    FROM evidence
),

each AS (
    SELECT
        Stream,
        Direction,
        Part,
        any(Largest) AS Peak,
        sum(Weight * exp(LogE - Largest)) AS Whole,
        max(Hour) AS Last,
        (max(LogE), -argMax(Hour, (Gain, -Hour)), -toInt64(Part)) AS Best,
        toUInt64(argMax(K, (Gain, -Hour))) AS Bad,
        toUInt64(argMax(N, (Gain, -Hour))) AS Runs,
        toUInt64(argMaxIf(K, N, Hour >= {recent:UInt32})) AS LateBad,
        toUInt64(maxIf(N, Hour >= {recent:UInt32})) AS LateRuns,
        max(Quarters) AS Ticks,
        any(Parts[Part]) AS Name,
        any(RefBad) AS RefBad,
        any(Edge) AS Edge,
        any(Together) AS Together
    FROM tops
    GROUP BY Stream, Direction, Part
)

SELECT
    Stream,
    Direction,
    any(Peak) + log(
        sum(Whole)
        + intDiv(toStartOfHour(toDateTime({until:UInt32} - 1, 'UTC')) - toDateTime(max(Last), 'UTC'), 3600)
        * exp(-any(Peak))
    ) AS LogSum,
    -tupleElement(max(Best), 2) AS ChangeAt,
    argMax(Bad, Best) AS Bad,
    argMax(Runs, Best) AS Runs,
    argMax(LateBad, Best) AS LateBad,
    argMax(LateRuns, Best) AS LateRuns,
    max(Ticks) AS Ticks,
    argMax(Name, Best) AS Part,
    argMax(RefBad, Best) AS RefBad,
    argMax(Edge, Best) AS Edge,
    any(Together) AS Parts
FROM each
GROUP BY Stream, Direction
ORDER BY Stream ASC, Direction ASC
