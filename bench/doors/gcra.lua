-- The reference: GCRA in a script, one string key, the server's clock. ARGV: emission, tolerance, us
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local tat = tonumber(redis.call('GET', KEYS[1]) or now)
if tat < now then tat = now end
local next_tat = tat + ARGV[1]
local left = ARGV[2] - (next_tat - now)
if left < 0 then return left end
redis.call('SET', KEYS[1], string.format('%d', next_tat), 'PX', math.ceil((next_tat - now) / 1000))
return left
