-- The bans of a fleet: keys that limits have refused too often (`ban` of a limit), each further ban
-- twice as long as the one before.
--
-- KEYS[1] is a hash of what is known of each key: "until times forget", times in us; until 0: lifted.
-- KEYS[2] and KEYS[3] are sorted sets of the same keys, by the version at which that changed last,
-- and by when it is forgotten. KEYS[4] is the list of the times of one key's refusals.
--
-- ARGV[1] is what to do, and with ARGV[2], one key, or a version:
--   "refused": the key was, once more. ARGV[3] to ARGV[6]: after how many, within how long (us), for
--              how long, up to how long it is banned. Returns {left, times, forgotten in, 1: begins
--              now}; left 0: it is not banned.
--   "lift":    the key is as if it had never been refused.
--   "changes": returns {the last version told, key, left, times, forgotten in, ...}, the changes
--              after the version, 500 at most.
-- At most 65536 keys are known; the one that is forgotten first goes where there is no room.

local MOST = 65536
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function text(number)
  return string.format('%.0f', number)
end

local function known(key)
  local value = redis.call('HGET', KEYS[1], key)
  if not value then return 0, 0, 0 end
  local till, times, forget = string.match(value, '^(%d+) (%d+) (%d+)$')
  return till + 0, times + 0, forget + 0
end

local function drop(keys)
  for _, key in ipairs(keys) do
    redis.call('HDEL', KEYS[1], key)
    redis.call('ZREM', KEYS[2], key)
    redis.call('ZREM', KEYS[3], key)
  end
end

local function write(key, till, times, forget)
  drop(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', text(now), 'LIMIT', 0, 16))
  if redis.call('ZCARD', KEYS[3]) >= MOST then drop(redis.call('ZRANGE', KEYS[3], 0, 0)) end
  -- Versions grow, also where the clock has been set back.
  local last = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')
  local version = math.max(now, (last[2] or 0) + 1)
  redis.call('HSET', KEYS[1], key, text(till) .. ' ' .. text(times) .. ' ' .. text(forget))
  redis.call('ZADD', KEYS[2], text(version), key)
  redis.call('ZADD', KEYS[3], text(forget), key)
  local longest = redis.call('ZREVRANGE', KEYS[3], 0, 0, 'WITHSCORES')
  for i = 1, 3 do redis.call('PEXPIREAT', KEYS[i], text(math.ceil(longest[2] / 1000))) end
end

local function refused(key, after, within, length, most)
  local till, times, forget = known(key)
  if till > now then return { till - now, times, forget - now, 0 } end
  redis.call('RPUSH', KEYS[4], text(now))
  while redis.call('LINDEX', KEYS[4], 0) + 0 <= now - within do redis.call('LPOP', KEYS[4]) end
  if redis.call('LLEN', KEYS[4]) < after then
    redis.call('PEXPIRE', KEYS[4], text(math.ceil(within / 1000)))
    return { 0, 0, 0, 0 }
  end
  redis.call('DEL', KEYS[4])
  if forget <= now then times = 0 end
  times = times + 1
  for _ = 2, times do
    if length < most then length = length * 2 end
  end
  length = math.min(length, most)
  write(key, now + length, times, now + length + most)
  return { length, times, length + most, 1 }
end

local function lift(key)
  redis.call('DEL', KEYS[4])
  local till, _, forget = known(key)
  if till > 0 and forget > now then write(key, 0, 0, forget) end
  return 1
end

local function changes(version)
  local found = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. version, '+inf', 'WITHSCORES', 'LIMIT', 0, 500)
  local out = { version }
  for i = 1, #found, 2 do
    local till, times, forget = known(found[i])
    out[1] = found[i + 1]
    out[#out + 1] = found[i]
    out[#out + 1] = math.max(till - now, 0)
    out[#out + 1] = times
    out[#out + 1] = math.max(forget - now, 0)
  end
  return out
end

if ARGV[1] == 'refused' then
  return refused(ARGV[2], ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0, ARGV[6] + 0)
end
if ARGV[1] == 'lift' then return lift(ARGV[2]) end
return changes(ARGV[2])
