-- What is held of a lock.
--
-- Needs: nothing
-- Gives: r, held

-- include: layout
-- include: left
-- include: record
local r, held = read(KEYS[1]), {'-', '0', ''}
if not r or r.kind == 'x' then
  held = {'x', '0', redis.call('GET', KEYS[1])}
elseif r.kind ~= '-' then
  held = {r.kind, r.limit, r.lines}
end
