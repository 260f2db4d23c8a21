-- The queue of waiters for the lock alone.
--
-- leave(id) removes a waiter. first() is the first live waiter; it removes the others before it. channel(waiter) is the channel of the
-- waiter's inbox, and whether it is sharded. call(waiter, again) calls a waiter and is false if the waiter left the queue because
-- nobody subscribes to its inbox; with `again`, a waiter that was called already is called once more.
--
-- Needs: millis, ENTRY, WAITS
-- Gives: leave, first, channel, tellInbox, call

local function leave(id)
  if redis.call('ZREM', KEYS[2], id) == 1 then redis.call('HDEL', KEYS[3], id) end
end
local function first()
  while true do
    local head = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
    if not head[1] then return nil end
    local entry = redis.call('HGET', KEYS[3], head[1]) or ''
    local deadline, mode, inbox, asks = string.match(entry, ENTRY)
    deadline = tonumber(deadline)
    if deadline and mode ~= '-' and deadline > millis and string.find(head[1], '^%x+$') then
      return {id = head[1], since = tonumber(head[2]), deadline = deadline, mode = mode, inbox = inbox,
              asks = asks}
    end
    leave(head[1])
  end
end
local function channel(waiter)
  if string.lower(waiter.mode) == 's' then return KEYS[1] .. ':c:' .. waiter.inbox, true end
  return string.match(KEYS[1], '^[^{]*') .. 'c:' .. waiter.inbox, false
end
local function tellInbox(waiter, text)
  local inbox, sharded = channel(waiter)
  return redis.pcall(sharded and 'SPUBLISH' or 'PUBLISH', inbox, text)
end
local function call(waiter, again)
  local called = waiter.deadline <= millis + 700
  if called and not again then return true end
  local heard = tellInbox(waiter, waiter.id)
  if heard == 0 and string.find(waiter.mode, '%u') then
    leave(waiter.id)
    return false
  end
  if not called then
    waiter.deadline = millis + 700
    redis.call('HSET', KEYS[3], waiter.id,
               string.format(WAITS, waiter.deadline, waiter.mode, waiter.inbox, waiter.asks))
  end
  return true
end
