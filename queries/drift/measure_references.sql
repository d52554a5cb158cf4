-- Fills in the priors of the references of some streams: beta distributions of their rates, widened as the reference
-- itself asks for. A signal that is measured or has categories has several parts, each with the rate of its own:
-- - measured: how many runs are beyond the quantiles 0.5, 0.9 and 0.98 of the reference (for a rise) and 0.25 (for a
--   fall), at the next edge of a bin. Of n runs all that come later exceed the r-th smallest with a rate of
--   Beta(n - r + 1, r), whatever the distribution is; the edge is where they do so more seldom (or, for a fall, more
--   often);
-- - with categories: how many runs have each of the 12 most frequent ones, and any other.
-- Tests of the reference widen its priors:
-- - quarters of an hour differ by more than chance (Pearson's chi2 over them, p < .05): runs come in clusters, and all
--   counts are divided by what chi2 is per degree of freedom (Deff);
-- - days differ: the rate wanders, by Tau (a standard deviation): by what the days show where they differ by more than
--   chance (p < .05). Less than 28 days tell little, so with them it is at least the upper end of what they allow
--   (one-sided, 75 %; the quantile of chi2 by Wilson and Hilferty) or 0.3 logits, whichever is less. Only with 4 days
--   and 10 bad and 10 good runs or more, since with fewer chance is more than any wandering;
-- - times of the day differ (p < .01, 40 bad runs): a prior for each 3 hours, drawn towards the rate as a whole with
--   the weight of max(10, 2 / rate) runs; after 28 days weekends apart where they differ (p < .01, 80 bad runs).
-- Clusters and times of the day are those of the part that shows them most.
-- The survival function of chi2 is in closed form for whole degrees of freedom.
-- measured, named: the signals that are measured, and those that have categories; rising: those of them of which a run
-- has one, so that where one becomes rarer another one rises, and only that is watched.
INSERT INTO overclaim_references (
    Stream, ServiceName, Environment, Agent, Tool, Signal, Level, Direction, FromTick, UntilTick, Kind, Parts, PartBad,
    Edges, Sides, Runs, Bad, A, B, Deff, Tau, Blocks, Checks, Since, Reason, Marker, Version
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
    SELECT * EXCEPT (Kind, Parts, PartBad, Edges, Sides, Runs, Bad, A, B, Deff, Tau, Blocks, Checks, Deleted)
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
        multiIf(
            windows.Signal IN {measured:Array(String)}, 'measured',
            windows.Signal IN {named:Array(String)}, 'named',
            'rate'
        ) AS Kind,
        toInt8(windows.Signal IN {rising:Array(String)}) AS Rising,
        counts.N AS N,
        counts.K AS K,
        counts.Bins AS Bins,
        counts.Names AS Names
    FROM (
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
),

wholes AS (
    SELECT
        Stream,
        Kind,
        Rising,
        sum(N) AS Total,
        sumMap(Bins) AS AllBins,
        sumMap(Names) AS AllNames,
        mapKeys(AllBins) AS Bin,
        arrayCumSum(mapValues(AllBins)) AS UpTo,
        arrayMap(q -> toUInt64(floor(q * Total)) + 1, [0.25, 0.5, 0.9, 0.98]) AS Ranks
    FROM ticks
    GROUP BY Stream, Kind, Rising
),

-- Name, edge, side, and the runs of the reference that are beyond the rank.
parts AS (
    SELECT
        Stream,
        multiIf(
            Kind = 'measured',
            arrayMap(
                (q, side, r) -> (
                    toString(q),
                    toInt16(Bin[arrayFirstIndex(upto -> upto >= r, UpTo)] + (side = 1)),
                    toInt8(side),
                    Total - r + 1
                ),
                [0.25, 0.5, 0.9, 0.98], [-1, 1, 1, 1], Ranks
            ),
            Kind = 'named',
            arrayMap(
                name -> (toString(name), toInt16(0), Rising, 0.),
                arrayPushBack(
                    arrayMap(
                        pair -> pair.2,
                        arraySlice(
                            arraySort(
                                arrayMap((name, n) -> (-toInt64(n), name), mapKeys(AllNames), mapValues(AllNames))
                            ),
                            1, 12
                        )
                    ),
                    ''
                )
            ),
            [('', toInt16(0), toInt8(0), 0.)]
        ) AS Found,
        arrayMap(part -> part.1, Found) AS Listed
    FROM wholes
),

counts AS (
    SELECT
        ticks.Stream AS Stream,
        ticks.Kind AS Kind,
        ticks.Day AS Day,
        ticks.Days AS Days,
        ticks.Block AS Block,
        ticks.Weekend AS Weekend,
        Part,
        parts.Found[Part] AS What,
        ticks.N AS Ns,
        toFloat64(multiIf(
            ticks.Kind = 'rate', ticks.K,
            ticks.Kind = 'measured',
            arraySum((b, n) -> n * (b >= What.2), mapKeys(ticks.Bins), mapValues(ticks.Bins)),
            What.1 != '',
            ticks.Names[What.1],
            least(
                ticks.N,
                toFloat64(
                    arraySum(
                        (name, n) -> n * (NOT has(parts.Listed, name)), mapKeys(ticks.Names), mapValues(ticks.Names)
                    )
                )
            )
        )) AS Ks
    FROM ticks INNER JOIN parts ON ticks.Stream = parts.Stream
    ARRAY JOIN arrayEnumerate(parts.Found) AS Part
),

sums AS (
    SELECT
        Stream,
        Kind,
        Part,
        any(What) AS Of,
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
    FROM counts
    GROUP BY Stream, Kind, Part, Days
),

clusters AS (
    SELECT
        *,
        (K + 0.5) / (N + 1) AS P,
        chi2(TickN, TickK, P) AS TickChi,
        toInt64(length(TickN)) - 1 AS TickDf,
        survival(TickChi, TickDf) AS TickP,
        max(if(TickP < 0.05, greatest(1., TickChi / TickDf), 1.)) OVER stream AS Clusters
    FROM sums
    WINDOW stream AS (PARTITION BY Stream)
),

tests AS (
    SELECT
        *,
        chi2(DayN, DayK, P) AS DayChi,
        toInt64(countEqual(arrayMap(n -> n > 0, DayN), 1)) - 1 AS DayDf,
        survival(DayChi / Clusters, DayDf) AS DayP,
        DayDf * pow(1 - 2 / (9 * DayDf) - 0.6744897501960817 * sqrt(2 / (9 * DayDf)), 3) AS DayLeast,
        P * (1 - P) / (N / DayCount) AS DayVariance,
        if(
            DayDf >= 3 AND least(K, N - K) >= 10,
            greatest(
                if(DayP < 0.05, sqrt(greatest(DayChi / DayDf - Clusters, 0.) * DayVariance), 0.),
                if(
                    DayCount < 28,
                    least(sqrt(greatest(DayChi / DayLeast - Clusters, 0.) * DayVariance), 0.3 * P * (1 - P)),
                    0.
                )
            ),
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
        max(multiIf(
            DayCount >= 28 AND WeekendP < 0.01 AND K >= 80, 16,
            BlockP < 0.01 AND K >= 40, 8,
            1
        )) OVER stream AS Blocks
    FROM clusters
    WINDOW stream AS (PARTITION BY Stream)
),

priors AS (
    SELECT
        *,
        if(Kind = 'measured', Of.4 / Clusters, K / Clusters + 0.5) AS WholeA,
        if(Kind = 'measured', (N + 1 - Of.4) / Clusters, (N - K) / Clusters + 0.5) AS WholeB,
        WholeA / (WholeA + WholeB) AS Pooled,
        greatest(10., 2 / Pooled) AS Pull,
        if(Blocks = 8, BlockN, HalfN) AS PartN,
        arrayMap(
            (k, n) -> multiIf(Kind != 'measured', k, Of.4 <= K, k * Of.4 / K, k + (Of.4 - K) * (n - k) / (N - K)),
            if(Blocks = 8, BlockK, HalfK), PartN
        ) AS PartK,
        if(Blocks = 1, [WholeA], arrayMap(k -> k / Clusters + Pull * Pooled, PartK)) AS BadWeight,
        if(
            Blocks = 1,
            [WholeB],
            arrayMap((n, k) -> (n - k) / Clusters + Pull * (1 - Pooled), PartN, PartK)
        ) AS GoodWeight,
        arrayMap(
            (a, b) -> a / (a + b) * narrowed(a / (a + b), a + b, Wander), BadWeight, GoodWeight
        ) AS Alphas,
        arrayMap(
            (a, b) -> b / (a + b) * narrowed(a / (a + b), a + b, Wander), BadWeight, GoodWeight
        ) AS Betas
    FROM tests
),

measured AS (
    SELECT
        Stream,
        any(Kind) AS Kind,
        arraySort(groupArray((Part, Of, Alphas, Betas, toUInt64(K)))) AS All,
        any(N) AS N,
        any(DayCount) AS DayCount,
        any(Clusters) AS Clusters,
        max(Wander) AS Wander,
        any(Blocks) AS Blocks,
        min(TickP) AS TickP,
        min(DayP) AS DayP,
        min(BlockP) AS BlockP
    FROM priors
    GROUP BY Stream
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
    measured.Kind AS Kind,
    arrayMap(part -> part.2.1, measured.All) AS Parts,
    arrayMap(part -> part.5, measured.All) AS PartBad,
    arrayMap(part -> part.2.2, measured.All) AS Edges,
    arrayMap(part -> part.2.3, measured.All) AS Sides,
    toUInt64(measured.N) AS Runs,
    if(measured.Kind = 'rate', PartBad[1], 0) AS Bad,
    arrayFlatten(arrayMap(part -> part.3, measured.All)) AS A,
    arrayFlatten(arrayMap(part -> part.4, measured.All)) AS B,
    measured.Clusters AS Deff,
    measured.Wander AS Tau,
    measured.Blocks AS Blocks,
    concat(
        'clusters p ', toString(round(measured.TickP, 4)), ', days p ', toString(round(measured.DayP, 4)),
        ', times of the day p ', toString(round(measured.BlockP, 4)),
        if(measured.DayCount < 28, '; less than 28 days tell little of how days differ', '')
    ) AS Checks,
    held.Since AS Since,
    held.Reason AS Reason,
    held.Marker AS Marker,
    greatest({version:UInt64}, held.Version + 1) AS Version
FROM held INNER JOIN measured ON held.Stream = measured.Stream
