-- The ten highest bids of each auction.
SELECT auction, bidder, price, dateTime, rank_number
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number
      FROM bid) x
WHERE rank_number <= 10;
