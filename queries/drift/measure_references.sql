-- Fills in the priors of the references of some streams: beta distributions of their rates, widened as the reference
-- itself asks for. Three tests look at it:
-- - quarters of an hour differ by more than chance (Pearson's chi2 over them, p < .05): runs come in clusters, and all
--   counts are divided by what chi2 is per degree of freedom (Deff);
-- - days differ by more than that (p < .05, 3 days or more, and 10 bad and 10 good runs, since with fewer chi2 says so
--   too often, and chance is more than any wandering): the rate wanders, by Tau (a standard deviation);
-- - times of the day differ (p < .01, 40 bad runs): a prior for each 3 hours, drawn towards the rate as a whole with
--   the weight of max(10, 2 / rate) runs; after 28 days weekends apart where they differ (p < .01, 80 bad runs).
-- The survival function of chi2 is in closed form for whole degrees of freedom.
INSERT INTO overclaim_references (
    Stream, ServiceName, Environment, Agent, Tool, Signal, Level, Direction, FromTick, UntilTick, Runs, Bad, A, B, Deff,
    Tau, Blocks, Checks, Since, Reason, Marker, Version
)
WITH
(
    (x, df) -> multiIf(
        df <= 0 OR x <= 0, 1.,
        df % 2 = 0, arraySum(
            i -> exp(-x / 2 + i * log(x / 2) - lgamma(i + 1)), range(toUInt64(intDiv(df, 2)))
        ),
        erfc(sqrt(x / 2)) + arraySum(
            i -> exp(-x / 2 + (i + 0.5) * log(x / 2) - lgamma(i + 1.5)), range(toUInt64(intDiv(df - 1, 2)))
        )
    )
) AS survival,

((ns, ks, p) -> arraySum((n, k) -> if(n > 0, pow(k - n * p, 2) / (n * p * (1 - p)), 0.), ns, ks)) AS chi2,

(
    (m, s, tau) -> if(tau > 0, 1 / (1 / s + 1 / greatest(m * (1 - m) / pow(tau, 2) - 1, 1.)), s)
) AS narrowed,

held AS (
    SELECT * EXCEPT (Runs, Bad, A, B, Deff, Tau, Blocks, Checks, Deleted)
    FROM overclaim_references FINAL
    WHERE Stream IN {streams:Array(String)}
),

windows AS (
    SELECT *
    FROM held
    ORDER BY Stream ASC
    LIMIT 1 BY Stream
),

ticks AS (
    SELECT
        windows.Stream AS Stream,
        intDiv(dateDiff('second', windows.FromTick, counts.Tick), 86400) AS Day,
        toUInt64(ceil(dateDiff('second', windows.FromTick, windows.UntilTick) / 86400)) AS Days,
        intDiv(toHour(counts.Tick), 3) AS Block,
        toDayOfWeek(counts.Tick) > 5 AS Weekend,
        toFloat64(sum(counts.N)) AS Ns,
        toFloat64(sum(counts.K)) AS Ks
    FROM (
        SELECT
            ServiceName,
            Environment,
            if(Level = 'service', '', toString(Agent)) AS Whose,
            Tool,
            Signal,
            Level,
            Tick,
            sum(Runs) AS N,
            sum(Bad) AS K
        FROM overclaim_behaviour FINAL
        ARRAY JOIN if(Tool = '', ['agent', 'service'], ['tool']) AS Level
        WHERE
            (ServiceName, Environment, Tool, Signal) IN (
                SELECT
                    ServiceName,
                    Environment,
                    Tool,
                    Signal
                FROM windows
            )
            AND Tick >= (SELECT min(FromTick) FROM windows)
            AND Tick < (SELECT max(UntilTick) FROM windows)
        GROUP BY ServiceName, Environment, Whose, Tool, Signal, Level, Tick
    ) AS counts
    INNER JOIN windows
        ON
            counts.ServiceName = windows.ServiceName
            AND counts.Environment = windows.Environment
            AND counts.Whose = windows.Agent
            AND counts.Tool = windows.Tool
            AND counts.Signal = windows.Signal
            AND counts.Level = windows.Level
    WHERE counts.Tick >= windows.FromTick AND counts.Tick < windows.UntilTick AND counts.N > 0
    GROUP BY Stream, counts.Tick, windows.FromTick, windows.UntilTick
),

sums AS (
    SELECT
        Stream,
        Days AS DayCount,
        sum(Ns) AS N,
        sum(Ks) AS K,
        groupArray(Ns) AS TickN,
        groupArray(Ks) AS TickK,
        sumForEach(arrayMap(i -> if(i = Day, Ns, 0.), range(Days))) AS DayN,
        sumForEach(arrayMap(i -> if(i = Day, Ks, 0.), range(Days))) AS DayK,
        sumForEach(arrayMap(i -> if(i = Block + 8 * Weekend, Ns, 0.), range(16))) AS HalfN,
        sumForEach(arrayMap(i -> if(i = Block + 8 * Weekend, Ks, 0.), range(16))) AS HalfK,
        arrayMap(i -> HalfN[i] + HalfN[i + 8], range(1, 9)) AS BlockN,
        arrayMap(i -> HalfK[i] + HalfK[i + 8], range(1, 9)) AS BlockK
    FROM ticks
    GROUP BY Stream, Days
),

tests AS (
    SELECT
        *,
        (K + 0.5) / (N + 1) AS P,
        chi2(TickN, TickK, P) AS TickChi,
        toInt64(length(TickN)) - 1 AS TickDf,
        survival(TickChi, TickDf) AS TickP,
        if(TickP < 0.05, greatest(1., TickChi / TickDf), 1.) AS Clusters,
        chi2(DayN, DayK, P) AS DayChi,
        toInt64(countEqual(arrayMap(n -> n > 0, DayN), 1)) - 1 AS DayDf,
        survival(DayChi / Clusters, DayDf) AS DayP,
        if(
            DayDf >= 3 AND DayP < 0.05 AND least(K, N - K) >= 10,
            sqrt(greatest(DayChi / DayDf - Clusters, 0.) * P * (1 - P) / (N / DayCount)),
            0.
        ) AS Wander,
        survival(
            chi2(BlockN, BlockK, P) / Clusters, toInt64(countEqual(arrayMap(n -> n > 0, BlockN), 1)) - 1
        ) AS BlockP,
        survival(
            chi2(
                [arraySum(arraySlice(HalfN, 1, 8)), arraySum(arraySlice(HalfN, 9, 8))],
                [arraySum(arraySlice(HalfK, 1, 8)), arraySum(arraySlice(HalfK, 9, 8))],
                P
            ) / Clusters,
            1
        ) AS WeekendP,
        multiIf(
            DayCount >= 28 AND WeekendP < 0.01 AND K >= 80, 16,
            BlockP < 0.01 AND K >= 40, 8,
            1
        ) AS Parts,
        (K / Clusters + 0.5) / (N / Clusters + 1) AS Pooled,
        if(Parts = 1, 0.5 / Pooled, greatest(10., 2 / Pooled)) AS Pull,
        multiIf(Parts = 1, [K], Parts = 8, BlockK, HalfK) AS PartK,
        multiIf(Parts = 1, [N], Parts = 8, BlockN, HalfN) AS PartN,
        if(Parts = 1, [K / Clusters + 0.5], arrayMap(k -> k / Clusters + Pull * Pooled, PartK)) AS BadWeight,
        if(
            Parts = 1,
            [(N - K) / Clusters + 0.5],
            arrayMap((n, k) -> (n - k) / Clusters + Pull * (1 - Pooled), PartN, PartK)
        ) AS GoodWeight,
        arrayMap(
            (a, b) -> a / (a + b) * narrowed(a / (a + b), a + b, Wander), BadWeight, GoodWeight
        ) AS Alphas,
        arrayMap(
            (a, b) -> b / (a + b) * narrowed(a / (a + b), a + b, Wander), BadWeight, GoodWeight
        ) AS Betas
    FROM sums
)

SELECT
    held.Stream AS Stream,
    held.ServiceName AS ServiceName,
    held.Environment AS Environment,
    held.Agent AS Agent,
    held.Tool AS Tool,
    held.Signal AS Signal,
    held.Level AS Level,
    held.Direction AS Direction,
    held.FromTick AS FromTick,
    held.UntilTick AS UntilTick,
    toUInt64(tests.N) AS Runs,
    toUInt64(tests.K) AS Bad,
    tests.Alphas AS A,
    tests.Betas AS B,
    tests.Clusters AS Deff,
    tests.Wander AS Tau,
    tests.Parts AS Blocks,
    concat(
        'clusters p ', toString(round(tests.TickP, 4)), ', days p ', toString(round(tests.DayP, 4)),
        ', times of the day p ', toString(round(tests.BlockP, 4)),
        if(tests.DayCount < 28, '; less than 28 days tell little of how days differ', '')
    ) AS Checks,
    held.Since AS Since,
    held.Reason AS Reason,
    held.Marker AS Marker,
    greatest({version:UInt64}, held.Version + 1) AS Version
FROM held INNER JOIN tests ON held.Stream = tests.Stream
