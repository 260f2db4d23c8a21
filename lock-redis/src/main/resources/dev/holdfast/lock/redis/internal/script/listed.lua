-- Returns who holds a lock, and the first hundred live waiters.
--
-- Keys: state, queue and entries; the state alone while its slot moves to another server
-- Arguments: none
-- Answers: the three of holders, then for each waiter its arrival in us and its demand, which is empty for the lock alone

-- include: clock
-- include: held
local queue = KEYS[2] and redis.call('ZRANGE', KEYS[2], 0, 99, 'WITHSCORES') or {}
for i = 1, #queue, 2 do
  local deadline, _, _, asks = string.match(redis.call('HGET', KEYS[3], queue[i]) or '', ENTRY)
  if deadline and tonumber(deadline) > millis then
    held[#held + 1] = queue[i + 1]
    held[#held + 1] = string.sub(asks, 2)
  end
end
return held
