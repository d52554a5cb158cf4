-- How much there is in the store: whether spans came in, runs judged, open accusations and other open findings.
-- Lag: inbox rows that the labelling job has not come to yet.
SELECT
    (SELECT count() > 0 FROM otel_traces) AS HasSpans,
    (SELECT count() FROM overclaim_runs FINAL) AS Runs,
    (SELECT count() FROM overclaim_findings FINAL WHERE Open AND Claim >= 0) AS Accusations,
    (SELECT count() FROM overclaim_findings FINAL WHERE Open AND Claim = -1) AS OtherFindings,
    (
        SELECT count() FROM overclaim_inbox
        WHERE Arrived > (SELECT max(Arrived) FROM overclaim_watermark FINAL WHERE Job = 'label')
    ) AS Lag
