-- Bids of a bidder in ten seconds of the time of processing, by which no two runs are alike.
WITH B AS (SELECT *, PROCTIME() AS p_time FROM bid)
SELECT bidder, COUNT(*) AS bid_count, window_start AS starttime, window_end AS endtime
FROM TABLE(TUMBLE(TABLE B, DESCRIPTOR(p_time), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end;
