-- Why the rate of a stream moved: the Kitagawa split by each dimension, one row per value. now_from, now_until: the
-- time of the change; ref_from, ref_until: that of the reference (Unix seconds). kind, part, edge, stream: of the
-- reference, which may have parts; the rate is that of the part.
-- The rates of a value in both, weighed by its share, give its part of the rate effect (it behaves otherwise) and of
-- the mix effect (there is more or less of it); over the values of a dimension both sum up to the change. A value that
-- is new behaves otherwise by what its rate differs from that of all before it; one that went is a matter of the mix.
-- Score: how far the value stands out from the other runs of the same time, in standard deviations; where it is all
-- there is, and new, from the reference.
WITH
listed AS (SELECT any(Parts) AS Named FROM overclaim_references FINAL WHERE Stream = {stream:String}),

runs AS (
    SELECT
        Tick >= toDateTime({now_from:UInt32}, 'UTC') AS Recent,
        Runs,
        toUInt64(multiIf(
            {kind:String} = 'rate', Bad,
            {kind:String} = 'measured',
            arraySum((bin, n) -> n * (bin >= {edge:Int16}), mapKeys(Values), mapValues(Values)),
            {part:String} != '', Categories[{part:String}],
            least(
                toUInt64(Runs),
                arraySum(
                    (name, n) -> n * (NOT has((SELECT Named FROM listed), name)),
                    mapKeys(Categories), mapValues(Categories)
                )
            )
        )) AS Beyond,
        [
            ('agent', if({agent:String} = '', toString(Agent), '')),
            ('agent version', toString(AgentVersion)),
            ('service version', toString(ServiceVersion)),
            ('model', toString(Model)),
            ('prompt', toString(Prompt)),
            ('tool version', toString(ToolVersion))
        ] AS Pairs
    FROM overclaim_behaviour FINAL
    WHERE
        ServiceName = {service:String}
        AND Environment = {environment:String}
        AND ({agent:String} = '' OR Agent = {agent:String})
        AND Tool = {tool:String}
        AND Signal = {signal:String}
        AND (
            (Tick >= toDateTime({now_from:UInt32}, 'UTC') AND Tick < toDateTime({now_until:UInt32}, 'UTC'))
            OR (Tick >= toDateTime({ref_from:UInt32}, 'UTC') AND Tick < toDateTime({ref_until:UInt32}, 'UTC'))
        )
),

counts AS (
    SELECT
        Pair.1 AS Dimension,
        Pair.2 AS Value,
        toFloat64(sumIf(Runs, NOT Recent)) AS N0,
        toFloat64(sumIf(Beyond, NOT Recent)) AS K0,
        toFloat64(sumIf(Runs, Recent)) AS N1,
        toFloat64(sumIf(Beyond, Recent)) AS K1
    FROM runs
    ARRAY JOIN Pairs AS Pair
    GROUP BY Dimension, Value
),

shares AS (
    SELECT
        *,
        sum(N0) OVER dimension AS AllN0,
        sum(K0) OVER dimension AS AllK0,
        sum(N1) OVER dimension AS AllN1,
        sum(K1) OVER dimension AS AllK1,
        max(Value != '') OVER dimension AS Known
    FROM counts
    WINDOW dimension AS (PARTITION BY Dimension)
),

effects AS (
    SELECT
        *,
        N0 / AllN0 AS Share0,
        N1 / AllN1 AS Share1,
        if(N0 = 0, AllK0 / AllN0, K0 / N0) AS Was,
        if(N1 = 0, Was, K1 / N1) AS Now,
        if(N0 = 0, Share1, (Share1 + Share0) / 2) * (Now - Was) AS RateEffect,
        if(N0 = 0, Was, (Now + Was) / 2) * (Share1 - Share0) AS MixEffect,
        multiIf(
            N1 < 5, (0., 0., 0., 0.),
            N1 < AllN1, (K1, N1, AllK1 - K1, AllN1 - N1),
            N0 = 0, (K1, N1, AllK0, AllN0),
            (0., 0., 0., 0.)
        ) AS Sides,
        (Sides.1 + 0.5) / (Sides.2 + 1) - (Sides.3 + 0.5) / (Sides.4 + 1) AS Apart,
        (Sides.1 + Sides.3 + 0.5) / (Sides.2 + Sides.4 + 1) AS Pooled
    FROM shares
    WHERE Known AND AllN0 > 0 AND AllN1 > 0
)

SELECT
    toString(Dimension) AS Dimension,
    Value,
    N0,
    K0,
    N1,
    K1,
    Was,
    Now,
    RateEffect,
    MixEffect,
    sum(RateEffect) OVER (PARTITION BY Dimension) AS AllRate,
    sum(MixEffect) OVER (PARTITION BY Dimension) AS AllMix,
    if(Sides.4 = 0, 0., Apart / sqrt(Pooled * (1 - Pooled) * (1 / Sides.2 + 1 / Sides.4))) AS Score
FROM effects
ORDER BY Score * {direction:Int8} DESC, N1 DESC, Dimension ASC, Value ASC
LIMIT 50
