-- Gives back what calls cost, clamped at fresh. Counters that are not there stay so.
--
-- The second of each key's values is the time at which the call was charged, or "": a window gives
-- back what it took itself, the one before at most; what is charged in a log is found by it.
--
-- Returns 1, or "again" as charge.lua does: then nothing was done.

local function refund_bucket(i, v)
  local take, take_rem = arg(i, 6) + 0, arg(i, 7) + 0
  v.debt, v.rem = v.debt - take, v.rem - take_rem
  if v.rem < 0 then
    v.debt, v.rem = v.debt - 1, v.rem + arg(i, 10)
  end
  if v.debt < 0 then v.debt, v.rem = 0, 0 end
end

local function refund_counter(i, v, at)
  local cost = arg(i, 5) + 0
  if (at or now) >= v.start then
    local back = math.min(cost, v.calls)
    v.calls, cost = v.calls - back, cost - back
  end
  if not at or (at < v.start and at >= v.start - v.length) then
    v.before = v.before - math.min(cost, v.before)
  end
end

local function refund_window(i, v, at)
  at = at or now
  if at >= v.start and at < v.finish then v.calls = v.calls - math.min(arg(i, 5) + 0, v.calls) end
end

-- Takes up to `cost` calls out of the mark `member`; returns how many.
local function take_out(i, v, member, cost)
  local at, calls = string.match(member, '^(%d+):(%d+)$')
  local taken = math.min(cost, calls + 0)
  put_mark(i, at + 0, calls - taken)
  v.all = v.all - taken
  return taken
end

local function refund_log(i, v, at)
  local cost = arg(i, 5) + 0
  if at then
    local marks = redis.call('ZRANGE', KEYS[i], score(at), score(at), 'BYSCORE')
    if marks[1] then take_out(i, v, marks[1], cost) end
  else
    local rank = arg(i, 8) == 'oldest' and 1 + v.expired_marks or -1
    while cost > 0 do
      local member = redis.call('ZRANGE', KEYS[i], rank, rank)[1]
      if not member or member == '#' then break end
      cost = cost - take_out(i, v, member, cost)
    end
  end
  put_sum(i, v)
end

local again, views = { 'again', string.format('%.0f', now) }, {}
for i = 1, #KEYS do
  views[i] = view[arg(i, 1)](i)
  if views[i].raw then
    again[#again + 1] = i
    again[#again + 1] = views[i].raw
  end
end
if #again > 2 then return again end

local refund = { bucket = refund_bucket, counter = refund_counter, window = refund_window }
for i = 1, #KEYS do
  local v = views[i]
  local at = tonumber(arg(i, 2))
  if v.key and v.kind == 'log' then
    refund_log(i, v, at)
  elseif v.key then
    refund[v.kind](i, v, at)
    put[v.kind](i, v)
  end
end
return 1
