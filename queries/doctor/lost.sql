-- Spans lost on the way, by what shows it: runs of the last seven days, and those of them that came with gaps.
SELECT
    count() AS Runs,
    countIf(hasAny(Gaps, ['spans_missing', 'parent_missing', 'agent_span_missing', 'linked_span_missing'])) AS Lost,
    countIf(has(Gaps, 'data_dropped')) AS Dropped
FROM overclaim_runs FINAL
WHERE Started >= now() - INTERVAL 7 DAY
