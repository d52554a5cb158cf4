-- How far detection is: seconds since its last pass that had work (-1 before the first), seconds that the oldest span
-- waits for it (0 where none does), and how many inbox rows wait.
WITH
(SELECT max(Arrived) FROM overclaim_watermark FINAL WHERE Job = 'label') AS WorkedUpTo,
(SELECT max(Version) FROM overclaim_watermark FINAL WHERE Job = 'label') AS LastPass

SELECT
    if(LastPass = 0, -1, (toUnixTimestamp64Milli(now64(3)) - toInt64(LastPass)) / 1000) AS SinceLastPass,
    if(count() = 0, 0, (toUnixTimestamp64Milli(now64(3)) - toUnixTimestamp64Milli(min(Arrived))) / 1000) AS Waiting,
    count() AS Rows
FROM overclaim_inbox
WHERE Arrived > WorkedUpTo
