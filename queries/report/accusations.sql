-- How many accusations are open, and how many procedures are broken.
SELECT
    countIf(Claim >= 0) AS Accusations,
    countIf(startsWith(Rule, 'OC4')) AS Violations
FROM overclaim_findings FINAL
WHERE Open
