-- Log to a file system. NEXMark partitions the files by day and minute; here these are columns.
SELECT auction, bidder, price, dateTime, extra, DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS dt,
       DATE_FORMAT(dateTime, 'HH:mm') AS hm
FROM bid;
