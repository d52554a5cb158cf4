-- What is normal for each tool: in how many runs it changed something, with nothing to say; searched, in vain.
-- Parameters: since (UTC time: learned after it), rows (how many at most).
-- ReturnsData is how probable it is that the tool returns data whenever it works (as in overclaim.outcome.normals).
-- From 0.9 on, and with eight other runs at least, a call of it that returns nothing is unusual.
WITH
((a, b) -> lgamma(a) + lgamma(b) - lgamma(a + b)) AS log_beta,
((k, n, a, b) -> exp(log_beta(k + a, n - k + b) - log_beta(a, b) - log_beta(k + 1, n - k + 1))) AS likelihood

SELECT
    ServiceName AS Service,
    Tool,
    Changed,
    Void,
    Looked,
    Missed,
    if(
        Changed = 0, 0, round(
            0.45 * likelihood(Void, Changed, 1, 4) / (
                0.45 * likelihood(Void, Changed, 1, 4)
                + 0.45 * likelihood(Void, Changed, 4, 1)
                + 0.1 * likelihood(Void, Changed, 1, 1)
            ), 3
        )
    ) AS ReturnsData,
    Learned
FROM overclaim_normals FINAL
WHERE
    Learned = (
        SELECT max(newest.Learned) FROM overclaim_normals AS newest
        WHERE newest.Learned >= {since:DateTime64(3, 'UTC')}
    )
ORDER BY Changed + Looked DESC, Service ASC, Tool ASC
LIMIT {rows:UInt32}
