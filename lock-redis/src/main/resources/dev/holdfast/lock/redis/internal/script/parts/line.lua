-- The line of all demands on a lock, which is its queue.
--
-- No entry passes another: a request is granted if there is room for it next to what is held and to what the waiters ahead ask for.
--
-- along(kind, sum, mine, want, permits, limit, stored) goes along the line up to the owner `mine`, or to the first waiter without
-- room, and calls all waiters that have room. It returns whether the demand of `mine` fits, and the first live waiter ahead. Kind and sum
-- are what is held; want, permits and limit are what `mine` asks for; stored is the limit of the permits, if it is known. A waiter
-- that polls is not called: after its turn has come, it is awaited for as many ms as its inbox says.
--
-- Needs: millis, leave, call, ENTRY, WAITS, ASKS
-- Gives: waiter, tell, along

local function waiter(id)
  local entry = redis.call('HGET', KEYS[3], id) or ''
  local deadline, mode, inbox, asks = string.match(entry, ENTRY)
  deadline = tonumber(deadline)
  if not deadline or deadline <= millis or not string.find(id, '^%x+$') then return nil end
  local want, permits, limit = 'x', 0, 0
  if asks ~= '' and string.sub(asks, 1, 3) ~= ' x ' then
    want, permits, limit = string.match(asks, ASKS)
  end
  if not want then return nil end
  return {id = id, deadline = deadline, mode = mode, inbox = inbox, asks = asks,
          want = want, permits = tonumber(permits), limit = tonumber(limit)}
end
local function tell(w)
  if w.mode ~= '-' then return call(w, false) end
  local patience = math.min(tonumber(w.inbox) or 0, 5000)
  if w.deadline > millis + patience then
    w.deadline = millis + patience
    redis.call('HSET', KEYS[3], w.id, string.format(WAITS, w.deadline, w.mode, w.inbox, w.asks))
  end
  return true
end
local function along(kind, sum, mine, want, permits, limit, stored)
  local function fits(want, permits, limit)
    return kind == '-' or kind == want and (want == 's' or want == 'p' and sum + permits <= limit)
  end
  local at, ahead = 0, nil
  while true do
    local page = redis.call('ZRANGE', KEYS[2], at, at + 19)
    for i, id in ipairs(page) do
      if id == mine then return fits(want, permits, limit), ahead end
      local w, stays = waiter(id), true
      if not w then
        leave(id)
        stays = false
      elseif w.want == 'p' and stored and w.limit ~= stored then
        stays = tell(w)
      elseif not fits(w.want, w.permits, w.limit) then
        return false, ahead or w
      else
        stays = tell(w)
        if stays then
          kind = (kind == '-' or kind == w.want) and w.want or 'x'
          sum, ahead = sum + w.permits, ahead or w
        end
      end
      if stays then at = at + 1 end
    end
    if #page < 20 then return fits(want, permits, limit), ahead end
  end
end
