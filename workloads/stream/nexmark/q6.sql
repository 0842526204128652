-- Average selling price by seller. NEXMark's own form, the last ten auctions of a seller by the
-- time at which they closed, is OVER of rows that change, which Flink does not run either. The
-- nearest form: the average of the highest bids of all auctions of a seller.
SELECT Q.seller, AVG(Q.final)
FROM (SELECT MAX(B.price) AS final, A.seller
      FROM auction A, bid B
      WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
      GROUP BY A.id, A.seller) Q
GROUP BY Q.seller;
