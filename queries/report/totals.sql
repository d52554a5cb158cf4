-- How much there is in the store, for a report that has nothing to show: whether spans came in, and runs judged.
SELECT
    (SELECT count() > 0 FROM otel_traces) AS HasSpans,
    (SELECT count() FROM overclaim_runs FINAL) AS Runs
