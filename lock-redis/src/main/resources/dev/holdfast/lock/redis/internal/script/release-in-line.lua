-- Ends the grant of a share or of permits, a place in the queue, or both, and calls the waiters for which there is room.
--
-- Keys: as for release
-- Arguments: as for release
-- Answers: as for release

-- include: layout
-- include: clock
-- include: left
-- include: record
-- include: queue
-- include: line
local r, owner, memory, what = read(KEYS[1]), string.match(ARGV[1], '^0 (%S+)'), ARGV[3], ARGV[4]
if not r then return {0} end
local mine, ended = find(r, owner), 0
if what == 'place' or mine and what == 'grant' and mine.generation > tonumber(ARGV[5]) then mine = nil end
if mine then
  ended = 1
  r.count, r.sum, r.free = r.count - 1, r.sum - mine.permits, math.min(r.free, mine.slot)
  r.lines = string.sub(r.lines, 1, mine.from - 1) .. string.sub(r.lines, mine.to + 1)
  r.last = math.max(r.last, ARGV[2])
  if what == 'release' then r.released = ARGV[5] .. string.sub(r.released, 1, 48) end
  if r.count == 0 then r.kind, r.who = '-', '-' end
  redis.call('PEXPIRE', KEYS[1], r.count == 0 and memory or r.latest - r.now + memory)
elseif what == 'release' and string.find(r.released, ARGV[5], 1, true) then
  ended = 1
end
if KEYS[2] and (r.waiting ~= '0' or what == 'place' or what == 'both') then
  if what ~= 'grant' and (mine or what ~= 'release') then leave(owner) end
  if r.waiting ~= '0' then
    along(r.kind, r.sum, nil, 'x', 0, 0, r.kind == 'p' and r.limit or nil)
    if redis.call('ZCARD', KEYS[2]) == 0 then r.waiting = '0' end
  end
end
if mine and r.count == 0 then
  redis.call('SET', KEYS[1], string.format(FREED, r.waiting, r.last, r.released), 'PX', memory)
elseif mine then
  write(KEYS[1], r, memory, false)
end
return {ended}
