-- Decides the calls of one request against all of its counters, and charges them: all that enforce
-- or none, then the shadow ones that admit it themselves. A denied call changes nothing, unless a
-- clock had stepped back, or the numbers were changed and it is the counter's first call since, or
-- a log holds many calls that count no more.
--
-- Mode: "" charges; "look" decides and charges nothing.
-- Flags: 1 shadow, 2 no wait will help (the cost is above the quota), 4 a peek, 8 charged only where
-- the one before is, and that only with this.
--
-- Returns the time, then 1 if admitted else 0, then five integers for each key: whether it admits,
-- and its state before the call:
--   bucket    missing us, and 1/unit us
--   counter   start, calls, calls of the window before
--   window    start, end, calls
--   log       calls, when the first to leave was made, when those that must leave for this call
--             were, when the newest was
-- From these the caller works out what is left and when.
-- Or, where nothing was done: "again", the time, and (number of the key, value) for each value that
-- was written under other numbers, or is none of ours; an empty value asks for other bounds.

local function has(flags, bit)
  return math.floor(flags / bit) % 2 == 1
end

local function decide_bucket(i, v)
  local unit = arg(i, 10) + 0
  v.next_debt, v.next_rem = v.debt + arg(i, 6), v.rem + arg(i, 7)
  if unit > 0 and v.next_rem >= unit then
    v.next_debt, v.next_rem = v.next_debt + 1, v.next_rem - unit
  end
  return v.next_debt < v.cap or (v.next_debt == v.cap and v.next_rem <= v.cap_rem)
end

local function decide_counter(i, v)
  local room = v.limit - v.calls - v.cost
  return room >= 0 and product_fits(v.before, v.length - (now - v.start), room, v.length)
end

local function decides(i, v)
  if v.kind == 'bucket' then return decide_bucket(i, v) end
  v.cost = arg(i, 5) + 0
  if v.cost == 0 then return true end
  if v.kind == 'counter' then return decide_counter(i, v) end
  return (v.kind == 'window' and v.calls or v.used) + v.cost <= v.limit
end

local function answer(i, v)
  if v.kind == 'bucket' then return v.debt, v.rem, 0, 0 end
  if v.kind == 'counter' then return v.start, v.calls, v.before, 0 end
  if v.kind == 'window' then return v.start, v.finish, v.calls, 0 end
  local first, must = 0, 0
  if v.used > 0 then
    -- At a limit of 0 nothing is ever left, however many leave.
    first = made_at(i, v, math.min(math.max(v.used - v.limit, 0) + 1, v.used))
    local leave = v.used + v.cost - v.limit
    if leave > 0 and leave <= v.used then must = made_at(i, v, leave) end
  end
  return v.used, first, must, v.newest
end

local function charge(i, v)
  if v.kind == 'bucket' then
    v.debt, v.rem = v.next_debt, v.next_rem
  elseif v.kind == 'log' then
    v.add = v.cost
  else
    v.calls = v.calls + v.cost
  end
  put[v.kind](i, v)
end

local views, again, admitted = {}, { 'again', string.format('%.0f', now) }, true
for i = 1, #KEYS do
  local v = view[arg(i, 1)](i)
  views[i] = v
  if v.raw then
    again[#again + 1] = i
    again[#again + 1] = v.raw
  else
    local flags = arg(i, 2) + 0
    v.peek = has(flags, 4)
    v.admits = not has(flags, 2) and (decides(i, v) or v.peek)
    v.cost = v.cost or 0
    v.together = flags >= 8 and views[i - 1].together or v
    if not v.admits then
      v.together.refuses = true
      if not has(flags, 1) then admitted = false end
    end
  end
end
if #again > 2 then return again end

local reply = { now, admitted and 1 or 0 }
for i = 1, #KEYS do
  local v = views[i]
  local n = #reply
  reply[n + 1] = v.admits and 1 or 0
  reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = answer(i, v)
  if admitted and not v.together.refuses and not v.peek and ARGV[2] == '' then
    charge(i, v)
  elseif v.write and not v.peek then
    put[v.kind](i, v)
  elseif v.key and redis.call('PTTL', KEYS[i]) == -1 then
    redis.call('PEXPIRE', KEYS[i], lifetime(v.lasts))
  end
end
return reply
