-- How a quantile of what is measured was in the reference and is since the change, as bins (eighths of a power of two);
-- and which of the categories that the reference does not name is the most frequent since then, empty if there is none.
-- q: the quantile (0 to 1); now_from, now_until, ref_from, ref_until: as in drift/attribution. stream: whose reference.
WITH
listed AS (SELECT any(Parts) AS Named FROM overclaim_references FINAL WHERE Stream = {stream:String}),

sides AS (
    SELECT
        Tick >= toDateTime({now_from:UInt32}, 'UTC') AS Recent,
        sumMap(Values) AS Bins,
        sumMap(Categories) AS Names,
        arrayCumSum(mapValues(Bins)) AS UpTo,
        mapKeys(Bins)[arrayFirstIndex(upto -> upto > {q:Float64} * UpTo[-1], UpTo)] AS Bin,
        arraySort(
            arrayFilter(
                pair -> NOT has((SELECT Named FROM listed), pair.2),
                arrayMap((name, n) -> (-toInt64(n), toString(name)), mapKeys(Names), mapValues(Names))
            )
        ) AS Others
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
    GROUP BY Recent
)

SELECT
    anyIf(Bin, NOT Recent) AS Was,
    anyIf(Bin, Recent) AS Now,
    anyIf(tupleElement(Others[1], 2), Recent) AS Other
FROM sides
