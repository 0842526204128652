-- Bids of a bidder in ten seconds. NEXMark takes the time of processing, by which no two runs are
-- alike; here it is that of the event.
SELECT bidder, COUNT(*) AS bid_count, window_start AS starttime, window_end AS endtime
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end;
