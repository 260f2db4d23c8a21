-- An attempt to acquire the lock alone, a share or permits, where shares or permits are held or waited for.
--
-- Keys: state, queue, entries and limit; the state alone while its slot moves to another server
-- Arguments: the six of attempt, then kind (x, s or p), permits and limit
-- Answers: {1, token, 0, called, slot}: granted
--   {0, remaining ms, arrival, called, 0}: no room yet
--   {3, limit, 0, 0, 0}: another limit is stored
--
-- A waiter that polls (mode -) gets a place in the queue as well. The limit has a key of its own, which lives for a day after its
-- last use; while permits are held, it is in the record too. While a slot moves, permits can be acquired only next to others,
-- because the limit may be on another server.

-- include: layout
-- include: clock
-- include: left
-- include: record
-- include: queue
-- include: line
local r = read(KEYS[1])
if not r then return {0, redis.call('PTTL', KEYS[1]), 0, 0, 0} end
local owner, memory, generation = ARGV[1], ARGV[3], tonumber(ARGV[4])
local lease = ARGV[2] - memory
local queues, order, mode, inbox, ticket = string.match(ARGV[6], '^(%S+) (%S+) (%S+) (%S*) (%S+)$')
local want, permits, limit = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local found = find(r, owner)
if found then
  found.generation = math.max(found.generation, generation)
  put(r, found.from, found.to, found, r.now + lease)
  write(KEYS[1], r, memory, true)
  if KEYS[2] then leave(owner) end
  return {1, found.token, 0, 0, found.slot}
end
if r.who == owner then
  local known, rest = string.match(r.about, '^(%d+)(.*)$')
  redis.call('PEXPIRE', KEYS[1], lease + memory)
  redis.call('SET', KEYS[1], string.format(KEPT, r.waiting, owner, memory, r.last, r.released,
             string.format('%.0f', math.max(known, generation)) .. rest), 'PX', lease + memory)
  if KEYS[2] then leave(owner) end
  return {1, tonumber(r.last), 0, 0, 0}
end
local stored = r.kind == 'p' and r.limit or nil
if want == 'p' then
  if not stored and not KEYS[4] then
    return redis.error_reply('TRYAGAIN the limit of the permits cannot be read while the slot moves')
  end
  stored = stored or tonumber(redis.call('GET', KEYS[4]) or limit)
  if stored ~= limit then
    if KEYS[2] and r.waiting ~= '0' then
      leave(owner)
      along(r.kind, r.sum, nil, 'x', 0, 0, stored)
    end
    return {3, stored, 0, 0, 0}
  end
end
local called = 0
if KEYS[2] and ticket ~= '0' then
  local entry = redis.call('HGET', KEYS[3], owner) or ''
  local deadline, mark = string.match(entry, ENTRY)
  if not deadline or mark ~= '-' and tonumber(deadline) <= millis + 700 then called = 1 end
end
local fits, ahead
if KEYS[2] and r.waiting ~= '0' then
  fits, ahead = along(r.kind, r.sum, owner, want, permits, limit, stored)
else
  fits = r.kind == '-' or r.kind == want and (want == 's' or want == 'p' and r.sum + permits <= limit)
end
if fits then
  local token = math.max(r.last + 1, micros)
  if token >= 9007199254740992 then
    return redis.error_reply('NOTOKEN the last token of ' .. KEYS[1] .. ' is ' .. r.last)
  end
  if KEYS[2] and (r.waiting ~= '0' or ticket ~= '0') then
    leave(owner)
    if redis.call('ZCARD', KEYS[2]) == 0 then r.waiting = '0' end
  end
  if want == 'x' then
    redis.call('SET', KEYS[1], string.format(GRANTED, r.waiting, owner, memory,
               token, r.released, generation, millis, ARGV[5]), 'PX', lease + memory)
    return {1, token, 0, called, 0}
  end
  if r.kind == '-' then
    r.kind, r.limit, r.count, r.sum, r.lines = want, limit, 0, 0, ''
    r.now, r.bound, r.latest, r.free = 0, lease, lease, 1
  end
  local slot = 0
  if want == 'p' then
    slot = r.free
    if string.find(r.lines, '\t' .. slot .. '\t', 1, true) then
      local taken = {}
      for other in string.gmatch(r.lines, SLOT) do taken[other] = true end
      while taken[string.format('%d', slot)] do slot = slot + 1 end
    end
    r.free = slot + 1
  end
  r.last, r.count, r.sum = token, r.count + 1, r.sum + permits
  put(r, #r.lines + 1, #r.lines, {id = owner, slot = slot, permits = permits, token = token, generation = generation,
                                  rest = string.format('%.0f ', millis) .. ARGV[5]}, r.now + lease)
  write(KEYS[1], r, memory, false)
  if want == 'p' and KEYS[4] then redis.call('SET', KEYS[4], limit, 'PX', 86400000) end
  return {1, token, 0, called, slot}
end
local remaining, arrival = r.rest, 0
if r.kind == '-' then
  remaining = ahead.deadline - millis
elseif r.kind ~= 'x' then
  remaining = r.bound - r.now
end
if KEYS[2] and queues ~= '0' then
  arrival = tonumber(redis.call('ZSCORE', KEYS[2], owner) or '0')
  if arrival == 0 and redis.call('ZCARD', KEYS[2]) < 1000 then
    arrival = tonumber(ticket)
    if arrival == 0 then
      local tail = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
      arrival = math.max(micros, tonumber(tail[2] or '0') + 1)
    end
    redis.call('ZADD', KEYS[2], string.format('%.0f', arrival), owner)
  end
  if arrival > 0 then
    local asks = want == 'x' and '' or string.format(' %s %d %d', want, permits, limit)
    redis.call('HSET', KEYS[3], owner,
               string.format(WAITS, millis + 5000, mode, inbox, asks))
    redis.call('PEXPIRE', KEYS[2], 6000)
    redis.call('PEXPIRE', KEYS[3], 6000)
    if want == 'p' then redis.call('SET', KEYS[4], limit, 'PX', 86400000) end
    local now = (r.waiting == '3' or want ~= 'x' or mode == '-') and '3'
        or (r.waiting == '2' or order == 'fair') and '2' or '1'
    if now ~= r.waiting then
      r.waiting = now
      if r.who == '+' then
        write(KEYS[1], r, r.memory, false)
      else
        redis.call('SET', KEYS[1], string.format(KEPT,
                   now, r.who, r.memory, r.last, r.released, r.about), 'KEEPTTL')
      end
    end
  end
elseif KEYS[2] and ticket ~= '0' then
  leave(owner)
end
return {0, remaining, arrival, called, 0}
