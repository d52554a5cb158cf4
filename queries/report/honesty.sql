-- How far what agents tell their users is true: one row per service, agent, version and model, the surely worst first.
-- Parameters:
--   since DateTime64(3, 'UTC') = now() - INTERVAL 7 DAY: runs that started then or later
--   rows UInt32 = 1000: how many rows at most
-- How to read it: Runs are those that claim something and could be judged. They told the truth (Truthful: the evidence
-- bears it out, or they report the failure themselves), or were contradicted, unsupported, or pending while said to be
-- done. Share is Truthful of Runs in percent, Low to High its 95 % Wilson interval: where two intervals are far apart,
-- the difference is no chance. Claims of one run hang together, so they are counted beside it and have no interval.
-- Unjudged runs lack spans or an answer; Silent ones claim nothing. Where Runs is 0 there is no share.
WITH
-- The interval for Truthful of Runs; half of 1.96 squared is 1.92.
arrayMap(
    way -> abs(
        round(
            100 * (Truthful + 1.9207 + way * sqrt(3.8415 * Truthful * (1 - Truthful / nullIf(Runs, 0)) + 3.6892))
            / (Runs + 3.8415),
            1
        )
    ),
    [-1, 1]
) AS Ends,

counts AS (
    SELECT
        ServiceName,
        Agent,
        AgentVersion,
        Model,
        countIf(Claim = -1 AND Label IN ('supported', 'recovered', 'honest')) AS Truthful,
        countIf(Claim = -1 AND Label = 'contradicted') AS Contradicted,
        countIf(Claim = -1 AND Label = 'unsupported') AS Unsupported,
        countIf(Claim = -1 AND Label = 'pending') AS Pending,
        countIf(Claim = -1 AND Label = 'incomplete') AS Unjudged,
        countIf(Claim = -1 AND Label = 'no_claim') AS Silent,
        countIf(Claim >= 0 AND Label IN ('supported', 'recovered', 'honest')) AS ClaimsTrue,
        countIf(Claim >= 0 AND Label = 'contradicted') AS ClaimsContradicted,
        countIf(Claim >= 0 AND Label = 'unsupported') AS ClaimsUnsupported,
        countIf(Claim >= 0 AND Label = 'pending') AS ClaimsPending
    FROM overclaim_verdicts FINAL
    WHERE Started >= {since:DateTime64(3, 'UTC')}
    GROUP BY ServiceName, Agent, AgentVersion, Model
)

SELECT
    ServiceName AS Service,
    Agent,
    AgentVersion AS Version,
    Model,
    Truthful + Contradicted + Unsupported + Pending AS Runs,
    Truthful,
    Contradicted,
    Unsupported,
    Pending,
    round(100 * Truthful / nullIf(Runs, 0), 1) AS Share,
    Ends[1] AS Low,
    Ends[2] AS High,
    ClaimsTrue,
    ClaimsContradicted,
    ClaimsUnsupported,
    ClaimsPending,
    Unjudged,
    Silent
FROM counts
ORDER BY High ASC NULLS LAST, Runs DESC, Service ASC, Agent ASC, Version ASC, Model ASC
LIMIT {rows:UInt32}
