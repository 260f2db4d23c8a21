-- Changes the limit of a lock's permits.
--
-- Keys: state, queue, entries and limit; the state alone while its slot moves to another server, which is refused
-- Arguments: the limit that is expected, the new limit
-- Answers: {the limit that is stored now}

-- include: layout
-- include: clock
-- include: left
-- include: record
-- include: queue
-- include: line
if not KEYS[4] then return redis.error_reply('TRYAGAIN the limit cannot be changed while the slot moves') end
local r, from, to = read(KEYS[1]), tonumber(ARGV[1]), tonumber(ARGV[2])
local stored = r and r.kind == 'p' and r.limit or tonumber(redis.call('GET', KEYS[4]) or from)
if stored ~= from and stored ~= to then return {stored} end
redis.call('SET', KEYS[4], to, 'PX', 86400000)
if r and r.kind == 'p' then
  r.limit = to
  write(KEYS[1], r, r.memory, false)
end
if r and r.waiting ~= '0' then along(r.kind, r.sum, nil, 'x', 0, 0, to) end
return {to}
