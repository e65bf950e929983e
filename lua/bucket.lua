-- One call against one token bucket (or leaky bucket): the common case, as lean as it can be.
--
-- KEYS[1] is a string: "<burst>/<step>/<unit>|<full at>", the instant (whole microseconds since
-- the epoch) at which the bucket will be full again; "...+<rem>" where rem/unit microseconds are
-- to be added. No key is a full bucket. What a token takes is step/unit microseconds; nothing is
-- rounded, and every number here is below 2^53, where doubles are exact.
--
-- ARGV: tag "<burst>/<step>/<unit>|", what the call takes (us, rem), capacity (us, rem), unit, and
-- the time in us, or "" for the server's own.
--
-- Returns an integer: what is missing to full after the call, in 1/unit us; for a denied call,
-- minus what is missing, minus 1. A value written under other numbers is returned as it is, and
-- nothing happens: charge.lua can read it. So is a value that is none of ours, and one that owes
-- tokens ("...-<owed>").

local key, tag = KEYS[1], ARGV[1]
local take, take_rem = ARGV[2] + 0, ARGV[3] + 0
local cap, cap_rem = ARGV[4] + 0, ARGV[5] + 0
local unit = ARGV[6] + 0

local now, spare = tonumber(ARGV[7]), 0
if now then
  spare = 3600000 -- a time that was handed in may stand still while that of the server runs
else
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

local debt, rem, write = 0, 0, false
local raw = redis.call('GET', key)
if raw then
  local length = #tag
  if string.sub(raw, 1, length) ~= tag then return raw end
  local at = tonumber(string.sub(raw, length + 1))
  if not at then
    local whole, part = string.match(raw, '^(%d+)%+(%d+)$', length + 1)
    if not whole then return raw end
    at, rem = whole + 0, part + 0
  end
  debt = at - now
  if debt < 0 then
    debt, rem = 0, 0
  elseif debt > cap or (debt == cap and rem > cap_rem) then
    debt, rem, write = cap, cap_rem, true -- left by a clock that ran ahead
  end
end

local after, after_rem = debt + take, rem + take_rem
if after_rem >= unit then
  after, after_rem = after + 1, after_rem - unit
end
local admitted = after < cap or (after == cap and after_rem <= cap_rem)
local peek = take == 0 and take_rem == 0

if peek or (not admitted and not write) then
  -- A key that was planted without expiry would stay for ever.
  if raw and redis.call('PTTL', key) == -1 then
    redis.call('PEXPIRE', key, string.format('%d', math.floor(debt / 1000) + 2 + spare))
  end
else
  if not admitted then after, after_rem = debt, rem end
  local value = string.format('%s%d', tag, now + after)
  if after_rem > 0 then value = string.format('%s+%d', value, after_rem) end
  redis.call('SET', key, value, 'PX', string.format('%d', math.floor(after / 1000) + 2 + spare))
end

if admitted then return after * unit + after_rem end
return -(debt * unit + rem) - 1
