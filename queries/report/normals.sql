-- What is normal for each tool: in how many runs it changed something, with nothing to say; searched, in vain.
-- Parameters:
--   since DateTime64(3, 'UTC') = now() - INTERVAL 7 DAY: learned then or later
--   rows UInt32 = 1000: how many rows at most
-- ReturnsData is how probable it is that the tool returns data whenever it works (as in overclaim.outcome.normals).
-- From 0.9 on, and with eight other runs at least, a call of it that returns nothing is unusual.
WITH
-- Three kinds of tool, with the weight of each before anything is learned: those that return data, those that return
-- nothing, those that do either.
arrayMap(
    (weight, a, b) -> (
        weight * exp(
            lgamma(Void + a) + lgamma(Changed - Void + b) - lgamma(Changed + a + b)
            - lgamma(a) - lgamma(b) + lgamma(a + b)
            - lgamma(Void + 1) - lgamma(Changed - Void + 1) + lgamma(Changed + 2)
        )
    ),
    [0.45, 0.45, 0.1], [1, 4, 1], [4, 1, 1]
) AS Kinds

SELECT
    ServiceName AS Service,
    Tool,
    Changed,
    Void,
    Looked,
    Missed,
    if(Changed = 0, 0, round(Kinds[1] / arraySum(Kinds), 3)) AS ReturnsData,
    Learned
FROM overclaim_normals FINAL
WHERE
    Learned = (
        SELECT max(newest.Learned) FROM overclaim_normals AS newest
        WHERE newest.Learned >= {since:DateTime64(3, 'UTC')}
    )
ORDER BY Changed + Looked DESC, Service ASC, Tool ASC
LIMIT {rows:UInt32}
