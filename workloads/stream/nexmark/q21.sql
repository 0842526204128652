-- A number for each channel. NEXMark takes the number out of the address by a regular expression;
-- here it is what stands behind the name of the parameter.
SELECT auction, bidder, price, channel,
       CASE WHEN LOWER(channel) = 'apple' THEN '0' WHEN LOWER(channel) = 'google' THEN '1'
            WHEN LOWER(channel) = 'facebook' THEN '2' WHEN LOWER(channel) = 'baidu' THEN '3'
            ELSE SPLIT_INDEX(url, 'channel_id=', 1) END AS channel_id
FROM bid
WHERE SPLIT_INDEX(url, 'channel_id=', 1) IS NOT NULL
   OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu');
