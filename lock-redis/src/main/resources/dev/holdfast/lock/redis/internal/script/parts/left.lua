-- What is left of a lease.
--
-- left(key, memory) is in ms, and at most 0 after the end. A key without an end of life is foreign content, whose lease never ends.
--
-- Needs: nothing
-- Gives: left

local function left(key, memory)
  local life = redis.call('PTTL', key)
  return life == -1 and 1000 or life - memory
end
