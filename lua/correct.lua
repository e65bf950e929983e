-- Corrects what calls cost, after the fact: gives back, clamped at fresh; takes though it may not be
-- there; renews calls in flight. Counters that are not there stay so, unless something is taken.
--
-- The second of each key's values is the time at which the call was charged, or "": a window is
-- given back, or charged, what it took itself, the one before at most; what is charged in a log is
-- found by it. A cost below 0 (with it a bucket's take_rem) is taken. The eighth value of a log may
-- be "renew": calls made then count as made now.
--
-- Mode: "", or until when (us) the correction may be made, once: the last key then marks that it was.
--
-- Returns two integers: 1 + the number of keys in which calls in flight were found; or 0: it was made
-- before; or -1: too late; and the time. Or "again" as charge.lua does: then nothing was done.

local MOST = 9007199254740991

local function correct_bucket(i, v)
  local unit = arg(i, 10) + 0
  v.debt, v.rem = v.debt - arg(i, 6), v.rem - arg(i, 7)
  if v.rem < 0 then
    v.debt, v.rem = v.debt - 1, v.rem + unit
  elseif unit > 0 and v.rem >= unit then
    v.debt, v.rem = v.debt + 1, v.rem - unit
  end
  if v.debt < 0 then v.debt, v.rem = 0, 0 end
  local most = unit == 0 and v.cap or CENTURY
  if v.debt > most then v.debt, v.rem = math.max(v.cap, most), 0 end
end

-- What is left of `calls` when `cost` is given back (or, below 0, taken); how much was.
local function less(calls, cost)
  local back = math.min(cost, calls)
  return math.min(calls - back, MOST), back
end

local function correct_counter(i, v, at)
  local cost, back = arg(i, 5) + 0, 0
  if (at or now) >= v.start then
    v.calls, back = less(v.calls, cost)
  end
  cost = cost - back
  if not at or (at < v.start and at >= v.start - v.length) then
    v.before = less(v.before, cost)
  end
end

local function correct_window(i, v, at)
  at = at or now
  if at >= v.start and at < v.finish then v.calls = less(v.calls, arg(i, 5) + 0) end
end

-- Takes up to `cost` calls out of the mark `member`; returns how many.
local function take_out(i, v, member, cost)
  local at, calls = string.match(member, '^(%d+):(%d+)$')
  local taken = math.min(cost, calls + 0)
  put_mark(i, at + 0, calls - taken)
  v.all = v.all - taken
  return taken
end

local function mark_at(i, at)
  return redis.call('ZRANGE', KEYS[i], score(at), score(at), 'BYSCORE')[1]
end

local function add_to_log(i, v, at, cost)
  at = math.min(at or now, now)
  if at <= now - v.length then return end
  local mark = mark_at(i, at)
  local calls = mark and string.match(mark, ':(%d+)$') + 0 or 0
  cost = math.min(cost, MOST - 1 - v.all)
  put_mark(i, at, calls + cost)
  v.all = v.all + cost
  put_sum(i, v)
  redis.call('PEXPIRE', KEYS[i], lifetime(v.length))
end

-- Returns how many calls were taken out of the log.
local function take_from_log(i, v, at, cost)
  local taken = 0
  if at then
    local mark = at > v.cutoff and mark_at(i, at)
    if mark then taken = take_out(i, v, mark, cost) end
    return taken
  end
  local rank = arg(i, 8) == 'oldest' and 1 + v.expired_marks or -1
  while taken < cost do
    local member = redis.call('ZRANGE', KEYS[i], rank, rank)[1]
    if not member or member == '#' then break end
    taken = taken + take_out(i, v, member, cost - taken)
  end
  return taken
end

-- Returns whether calls were found.
local function correct_log(i, v, at)
  local cost = arg(i, 5) + 0
  if cost < 0 then
    add_to_log(i, v, at, -cost)
    return false
  end
  if not v.key then return false end
  local taken = take_from_log(i, v, at, cost)
  if arg(i, 8) == 'renew' and taken > 0 then
    v.add = taken
    put_log(i, v)
  else
    put_sum(i, v)
  end
  return taken > 0
end

local count = ARGV[2] == '' and #KEYS or #KEYS - 1
local again, views = { 'again', string.format('%.0f', now) }, {}
for i = 1, count do
  views[i] = view[arg(i, 1)](i)
  if views[i].raw then
    again[#again + 1] = i
    again[#again + 1] = views[i].raw
  end
end
if #again > 2 then return again end

if count < #KEYS then
  local left = ARGV[2] - now
  if left <= 0 then return { -1, now } end
  if not redis.call('SET', KEYS[#KEYS], '1', 'NX', 'PX', lifetime(left)) then return { 0, now } end
end

local correct = { bucket = correct_bucket, counter = correct_counter, window = correct_window }
local found = 0
for i = 1, count do
  local v = views[i]
  local at = tonumber(arg(i, 2))
  if v.kind == 'log' then
    if correct_log(i, v, at) and arg(i, 8) ~= 'newest' then found = found + 1 end
  elseif v.key or v.write or arg(i, v.kind == 'bucket' and 6 or 5) + 0 < 0 or
    (v.kind == 'bucket' and arg(i, 7) + 0 < 0) then
    correct[v.kind](i, v, at)
    put[v.kind](i, v)
  end
end
return { 1 + found, now }
