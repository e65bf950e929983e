-- One instance says that it is there, and how many are.
--
-- KEYS[1] is a sorted set of instances by the time (us) at which they last said so. ARGV[1]: ours.
-- KEYS[2] holds the secret by which instances seal ids that they give out; ARGV[2] is it where there
-- is none yet, or none any more.
-- Returns how many said so within ten seconds, the secret, and the time.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - 10000000))
redis.call('PEXPIRE', KEYS[1], 10000)
local secret = redis.call('GET', KEYS[2])
if not secret then
  secret = ARGV[2]
  redis.call('SET', KEYS[2], secret)
end
return { redis.call('ZCARD', KEYS[1]), secret, now }
