-- Bounded side input: each bid beside a row of a table that is looked up. NEXMark's is a file of
-- numbers; here it is the people.
SELECT B.auction, B.bidder, B.price, B.dateTime, S.city AS side
FROM bid AS B JOIN person FOR SYSTEM_TIME AS OF B.p AS S ON B.bidder = S.id;
