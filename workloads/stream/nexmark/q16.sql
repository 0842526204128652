-- Channel statistics of each day.
SELECT channel, DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS `day`,
       MAX(DATE_FORMAT(dateTime, 'HH:mm')) AS `minute`, COUNT(*) AS total_bids,
       COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
       COUNT(DISTINCT bidder) AS total_bidders,
       COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS rank3_auctions
FROM bid
GROUP BY channel, DATE_FORMAT(dateTime, 'yyyy-MM-dd');
