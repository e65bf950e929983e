-- What charge.lua and correct.lua share: the counters of each algorithm, read and written. This text
-- goes before theirs.
--
-- Time is whole microseconds since the epoch, of the server, or as handed in by a test. All numbers
-- are whole and below 2^53, where doubles are exact; longer products are split.
--
-- ARGV: 1 the time or "", 2 a mode, then ten for each key, of which the first four are
--   1 kind    bucket | counter | window | log
--   2 flags, or for a correction the time at which the call was charged, or ""
--   3 old     a value that was written under other numbers ...
--   4 new     ... and what it is under these ("" nothing), worked out by the caller. Where old is "",
--             a bucket is converted here, if doubles are exact for it
-- and the rest are the kind's:
--   bucket    5 tag  6 take  7 take_rem  8 capacity  9 capacity_rem  10 unit (0: never refills)
--   counter   5 cost  6 limit  7 length  8 "first" or ""
--   window    5 cost  6 limit  7 length  8 "first", "" or the bounds of the calendar, ascending
--   log       5 cost  6 limit  7 length  8 "oldest" or "newest": which call an unclear refund takes;
--             "oldest" and "renew" (correct.lua) tell calls in flight from others
--
-- States: bucket  "<burst>/<step>/<unit>|<full at>[+<rem>][-<owed>]"   (bucket.lua; owed: by how many
--                 us more than everything may be missing, since a correction took what was not there)
--         counter "<start> <calls> <calls of the window before>"
--         window  "<start> <end> <calls>"
--         log     a sorted set of "<at>:<calls>" by at, and "#" with score -1 - <calls in all>

local STRIDE = 10
local CENTURY = 3155760000000000
local EXACT = 9007199254740992

local now, spare = tonumber(ARGV[1]), 0
if now then
  spare = 3600000 -- a time that was handed in may stand still while that of the server runs
else
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

local function arg(i, n)
  return ARGV[2 + (i - 1) * STRIDE + n]
end

-- Milliseconds after which a state that lasts `us` more is gone: never too early.
local function lifetime(us)
  return string.format('%d', math.floor(us / 1000) + 2 + spare)
end

-- The value of key i. An empty one, which nobody of us wrote, is told as another that says nothing:
-- the caller takes '' for bounds of a window that are over.
local function get(i)
  local raw = redis.call('GET', KEYS[i])
  return raw == '' and ' ' or raw
end

-- The same, and whether it is one that the caller converted.
local function load(i)
  local raw = get(i)
  if raw and raw == arg(i, 3) then
    local new = arg(i, 4)
    if new == '' then return nil, true end
    return new, true
  end
  return raw or nil, false
end

-- a * b <= c * d, for whole numbers below 2^53. Where a product may not be exact, a/d and c/b are
-- compared as continued fractions, which needs none.
local function product_fits(a, b, c, d)
  local left, right = a * b, c * d
  if left < EXACT and right < EXACT then return left <= right end
  if left == 0 then return true end
  if right == 0 then return false end
  while true do
    local p, q = math.floor(a / d), math.floor(c / b)
    if p ~= q then return p < q end
    a, c = a - p * d, c - q * b
    if a == 0 then return true end
    if c == 0 then return false end
    a, d, c, b = b, c, d, a
  end
end

local function put_string(i, value, us)
  redis.call('SET', KEYS[i], value, 'PX', lifetime(us))
end

-- Each kind has a view (what is there; a view without `kind` is one that the caller must look at:
-- `raw`), and a put (writes it; where nothing is used, the key goes).

-- The numbers of a bucket's tag, and how many ticks of 1/unit us are missing where it is empty.
-- Nothing where it never refills, or doubles would not hold all of its ticks.
local function numbers_of(tag)
  local burst, step, unit = string.match(tag, '^(%d+)/(%d+)/(%d+)|')
  if not burst then return nil end
  burst, step, unit = burst + 0, step + 0, unit + 0
  if step == 0 or unit == 0 or burst * step >= EXACT then return nil end
  return burst, step, unit, burst * step
end

-- Fills in the view of a bucket that was written under other numbers: what was left stays left
-- (limit::Rule::adopt()). Nothing where the caller must work that out.
--
-- WHY not always by the caller: while two sets of numbers share a hot key, each finds what it has
-- converted converted back before it can put it there.
local function adopt_bucket(i, v, raw)
  local old_burst, old_step, old_unit, most = numbers_of(raw)
  local burst, step, unit = numbers_of(arg(i, 5))
  local full_at, rem = string.match(raw, '|(%d+)%+?(%d*)%-?%d*$')
  if arg(i, 3) ~= '' or not old_burst or not burst or not full_at then return nil end
  full_at, rem = full_at + 0, tonumber(rem) or 0
  local missing = full_at < now and 0 or math.min((full_at - now) * old_unit + rem, most)
  local part = (most - missing) % old_step -- of a token
  local left = (most - missing - part) / old_step
  if part * step >= EXACT then return nil end
  v.write = true
  if missing == 0 or left >= burst then
    v.key = nil
    return v
  end
  missing = (burst - left) * step - (part * step - part * step % old_step) / old_step
  v.rem = missing % unit
  v.debt = (missing - v.rem) / unit
  return v
end

local function view_bucket(i)
  local tag, unit = arg(i, 5), arg(i, 10) + 0
  local raw, adopted = load(i)
  local v = { kind = 'bucket', key = raw, write = adopted, debt = 0, rem = 0 }
  v.cap, v.cap_rem = arg(i, 8) + 0, arg(i, 9) + 0
  v.lasts = unit > 0 and v.cap or CENTURY
  if not raw then return v end
  if string.sub(raw, 1, #tag) ~= tag then return adopt_bucket(i, v, raw) or { raw = raw } end
  local whole, part, owed = string.match(raw, '^(%d+)%+?(%d*)%-?(%d*)$', #tag + 1)
  if not whole then return { raw = raw } end
  v.debt, v.rem = whole + 0, tonumber(part) or 0
  if unit > 0 then v.debt = v.debt - now end
  if v.debt < 0 then v.debt, v.rem = 0, 0 end
  local most = v.cap + (tonumber(owed) or 0)
  if v.debt > most or (v.debt == most and v.rem > v.cap_rem) then
    v.debt, v.rem, v.write = most, v.cap_rem, true -- left by a clock that ran ahead
  end
  return v
end

local function put_bucket(i, v)
  if v.debt == 0 and v.rem == 0 then return redis.call('DEL', KEYS[i]) end
  local frozen = arg(i, 10) == '0'
  local value = string.format('%s%.0f', arg(i, 5), frozen and v.debt or now + v.debt)
  if v.rem > 0 then value = string.format('%s+%.0f', value, v.rem) end
  if v.debt > v.cap then
    value = string.format('%s-%.0f', value, v.debt - v.cap + 1)
  elseif v.debt == v.cap and v.rem > v.cap_rem then
    value = value .. '-1'
  end
  put_string(i, value, frozen and CENTURY or v.debt)
end

local function view_counter(i)
  local length = arg(i, 7) + 0
  local raw = get(i)
  local v = { kind = 'counter', key = raw, length = length, limit = arg(i, 6) + 0 }
  local fresh = arg(i, 8) == 'first' and now or now - now % length
  v.start, v.calls, v.before, v.lasts = fresh, 0, 0, 2 * length
  if not raw then return v end
  local start, calls, before = string.match(raw, '^(%d+) (%d+) (%d+)$')
  if not start then return { raw = raw } end
  start, calls, before = start + 0, calls + 0, before + 0
  local lasts = calls > 0 and 2 * length or (before > 0 and length or 0)
  if start + lasts <= now then return v end
  v.start, v.calls, v.before = start, calls, before
  if now < start then
    v.start, v.write = fresh, true -- left by a clock that ran ahead
  elseif now - start >= length then
    v.start, v.calls, v.before = start + length, 0, calls
  end
  return v
end

local function put_counter(i, v)
  local lasts = v.calls > 0 and 2 * v.length or (v.before > 0 and v.length or 0)
  if v.start + lasts <= now then return redis.call('DEL', KEYS[i]) end
  put_string(i, string.format('%.0f %.0f %.0f', v.start, v.calls, v.before), v.start + lasts - now)
end

-- The window that holds now, or nothing where the caller's bounds do not reach it.
local function window_at_now(length, bounds)
  if bounds == 'first' then return now, now + length end
  if bounds == '' then
    local start = now - now % length
    return start, start + length
  end
  local from
  for text in string.gmatch(bounds, '%d+') do
    local bound = text + 0
    if from and now < bound then return from, bound end
    if now >= bound then from = bound end
  end
end

local function view_window(i)
  local raw = get(i)
  local v = { kind = 'window', key = raw, calls = 0, limit = arg(i, 6) + 0 }
  if raw then
    local start, finish, calls = string.match(raw, '^(%d+) (%d+) (%d+)$')
    if not start then return { raw = raw } end
    start, finish, calls = start + 0, finish + 0, calls + 0
    if now < finish then v.calls = calls end
    if now >= start and now < finish then
      v.start, v.finish, v.lasts = start, finish, finish - now
      return v
    end
    v.write = now < start -- left by a clock that ran ahead: now's window keeps its calls
  end
  v.start, v.finish = window_at_now(arg(i, 7) + 0, arg(i, 8))
  if not v.start then return { raw = '' } end
  v.lasts = v.finish - now
  return v
end

local function put_window(i, v)
  if v.calls == 0 then return redis.call('DEL', KEYS[i]) end
  put_string(i, string.format('%.0f %.0f %.0f', v.start, v.finish, v.calls), v.finish - now)
end

-- Calls f(at, calls) for the marks from score `from` to `to`, oldest first, a hundred at a time,
-- until it says true. WHY on from the last score: the server walks over what an offset leaves out.
local function each_mark(i, from, to, f)
  while true do
    local marks = redis.call('ZRANGE', KEYS[i], from, to, 'BYSCORE', 'LIMIT', '0', '100')
    for _, mark in ipairs(marks) do
      local at, calls = string.match(mark, '^(%d+):(%d+)$')
      if f(at + 0, calls + 0) then return end
    end
    if #marks < 100 then return end
    from = '(' .. redis.call('ZSCORE', KEYS[i], marks[100])
  end
end

local function score(at)
  return string.format('%.0f', at)
end

local function put_sum(i, v)
  if v.all <= 0 then return redis.call('DEL', KEYS[i]) end
  redis.call('ZADD', KEYS[i], string.format('%.0f', -1 - v.all), '#')
end

-- The sum is left to put_sum.
local function drop_expired(i, v)
  redis.call('ZREMRANGEBYSCORE', KEYS[i], 0, score(v.cutoff))
  v.all = v.all - v.expired
  v.expired, v.expired_marks = 0, 0
end

local function view_log(i)
  local v = { kind = 'log', limit = arg(i, 6) + 0, length = arg(i, 7) + 0, all = 0 }
  local sum = redis.call('ZSCORE', KEYS[i], '#')
  if not sum then
    v.used, v.newest = 0, -1
    if redis.call('EXISTS', KEYS[i]) == 1 then return { raw = 'a sorted set' } end
    return v
  end
  v.key, v.all, v.lasts = true, -1 - sum, v.length
  v.cutoff = now - v.length -- a mark that old no longer counts
  local marks = redis.call('ZCARD', KEYS[i]) - 1
  v.single = marks == v.all -- every mark is one call, so that ranks are sums
  v.expired, v.expired_marks = 0, 0
  if v.cutoff >= 0 then
    v.expired_marks = redis.call('ZCOUNT', KEYS[i], 0, score(v.cutoff))
    if v.single then
      v.expired = v.expired_marks
    elseif v.expired_marks == marks then
      v.expired = v.all
    else
      each_mark(i, 0, score(v.cutoff), function(_, calls) v.expired = v.expired + calls end)
    end
  end
  -- Else every call that is denied, and every peek, would walk over them anew.
  if v.expired_marks > 100 then
    drop_expired(i, v)
    put_sum(i, v)
    v.key = v.all > 0
  end
  v.used = v.all - v.expired
  v.newest = -1
  if v.used > 0 then
    v.newest = redis.call('ZRANGE', KEYS[i], -1, -1, 'WITHSCORES')[2] + 0
    v.write = v.newest > now -- left by a clock that ran ahead: made now
  end
  return v
end

-- When the mark was made with which `calls` of those that count have been made.
local function made_at(i, v, calls)
  if v.single then
    local rank = score(v.expired_marks + calls)
    return redis.call('ZRANGE', KEYS[i], rank, rank, 'WITHSCORES')[2] + 0
  end
  local sum, found = 0, v.newest
  each_mark(i, score(math.max(v.cutoff + 1, 0)), '+inf', function(at, count)
    sum, found = sum + count, at
    return sum >= calls
  end)
  return found
end

-- Replaces the mark at one moment, of which there may be none, by one of `calls` (0: none).
local function put_mark(i, at, calls)
  redis.call('ZREMRANGEBYSCORE', KEYS[i], score(at), score(at))
  if calls == 0 then return end
  redis.call('ZADD', KEYS[i], score(at), string.format('%.0f:%.0f', at, calls))
end

-- Moves marks in the future to now, drops those that no longer count, and adds `v.add` calls.
local function put_log(i, v)
  local at_now = v.add or 0
  if v.newest >= now then
    each_mark(i, score(now), '+inf', function(_, calls) at_now = at_now + calls end)
    redis.call('ZREMRANGEBYSCORE', KEYS[i], score(now), '+inf')
  end
  if v.expired_marks and v.expired_marks > 0 then drop_expired(i, v) end
  v.all = v.all + (v.add or 0)
  put_mark(i, now, at_now)
  put_sum(i, v)
  redis.call('PEXPIRE', KEYS[i], lifetime(v.length))
end

local view = { bucket = view_bucket, counter = view_counter, window = view_window, log = view_log }
local put = { bucket = put_bucket, counter = put_counter, window = put_window, log = put_log }
