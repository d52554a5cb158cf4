-- How many accusations are open.
SELECT count() AS Accusations
FROM overclaim_findings FINAL
WHERE Open AND Claim >= 0
