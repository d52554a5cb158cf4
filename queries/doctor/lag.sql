-- How far detection is: seconds since its last pass that had work (-1 before the first), seconds that the oldest span
-- waits for it (0 where none does), and how many inbox rows wait.
WITH
job AS (
    SELECT
        max(Arrived) AS WorkedUpTo,
        toInt64(max(Version)) AS LastPass
    FROM overclaim_watermark FINAL
    WHERE Job = 'label'
),

waiting AS (
    SELECT
        count() AS Arrivals,
        toUnixTimestamp64Milli(min(Arrived)) AS Oldest
    FROM overclaim_inbox
    WHERE Arrived > (SELECT WorkedUpTo FROM job)
)

SELECT
    if(job.LastPass = 0, -1, (toUnixTimestamp64Milli(now64(3)) - job.LastPass) / 1000) AS SinceLastPass,
    if(waiting.Arrivals = 0, 0, (toUnixTimestamp64Milli(now64(3)) - waiting.Oldest) / 1000) AS Waiting,
    waiting.Arrivals AS Arrivals
FROM job
CROSS JOIN waiting
