-- One instance says that it is there, and how many are.
--
-- KEYS[1] is a sorted set of instances by the time (us) at which they last said so. ARGV[1]: ours.
-- Returns how many did within ten seconds.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - 10000000))
redis.call('PEXPIRE', KEYS[1], 10000)
return redis.call('ZCARD', KEYS[1])
