-- The claims of one run in their order, each with its verdict and the calls that it rests on.
-- Parameters:
--   trace String: TraceId as report/show_runs gives it
--   run String: RunSpanId as report/show_runs gives it
-- Words are there where the span carried content; otherwise all there is are action, outcome and targets (keyed
-- hashes).
SELECT
    claims.Position AS Claim,
    verdicts.Label AS Verdict,
    verdicts.Rule AS Rule,
    claims.Outcome AS Claimed,
    claims.Action AS Action,
    claims.Targets AS Targets,
    claims.Text AS Words,
    if(empty(verdicts.Calls), claims.About, verdicts.Calls) AS CallSpanIds,
    claims.MismatchRule AS MismatchRule,
    claims.MismatchValue AS MismatchValue,
    claims.Source AS Source
FROM overclaim_claims AS claims FINAL
LEFT JOIN overclaim_claim_verdicts AS verdicts
    ON
        claims.TraceId = verdicts.TraceId
        AND claims.RunSpanId = verdicts.RunSpanId
        AND claims.Position = verdicts.Claim
WHERE claims.TraceId = {trace:String} AND claims.RunSpanId = {run:String}
ORDER BY Claim
