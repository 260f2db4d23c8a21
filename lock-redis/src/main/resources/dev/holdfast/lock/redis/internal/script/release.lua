-- Ends a grant of the lock alone, a place in the queue, or both, and hands the lock over or calls the next waiter.
--
-- Keys: state, queue and entries; the state alone while its slot moves to another server
-- Arguments: how the state of such a grant begins (RedisScript.end), token or 0 if it is not known, memory in ms, what to end, which
-- Answers: {1} if the owner held the lock, otherwise {0}
--
-- What to end and which: `release` and an id of 16 characters, whose repetition gets the same answer; `grant` and the last generation
-- that it ends; `place`; or `both`.
--
-- A waiter gets its whole lease, as from an attempt: a shorter one would be lost if the server stood still just then. So a waiter that
-- subscribes but does not react costs as much as a holder that does not. So the waiter must have tried in the last 3 s, which it does
-- each second; otherwise it is only called, which costs 700 ms if it does not react.
--
-- Before the lock is handed over, the script counts the subscribers of the waiter's inbox and skips a waiter without any. The count
-- that PUBLISH returns would come too late: a replica publishes to its subscribers too but does not count them, so the waiter could
-- receive a grant that the next one has. The message names the lock, so that a process in which that owner waits no longer can give
-- it back: its entry may be left from before an attempt that could not remove it.

local text = redis.call('GET', KEYS[1])
if ARGV[4] == 'release' and text and string.find(text, ARGV[1], 1, true) == 1
   and redis.call('PTTL', KEYS[1]) > ARGV[3] + 0 then
  local from = #ARGV[1] + 1
  local freed = '0 - 0 ' .. ARGV[2] .. ' ' .. ARGV[5]
                .. string.sub(text, from, math.min(string.find(text, ' ', from, true), from + 48) - 1) .. ' '
  if redis.pcall('SET', KEYS[1], freed, 'PX', ARGV[3]).err then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    redis.call('SET', KEYS[1], freed, 'PX', ARGV[3])
  end
  return {1}
end
-- include: state
local owner, what = string.match(ARGV[1], '^0 (%S+)'), ARGV[4]
if not who then return {0} end
local held, mine, ended = who ~= '-' and left(KEYS[1], memory) > 0, false, 0
if what ~= 'place' and held and who == owner
   and (what ~= 'grant' or tonumber(string.match(about, '^%d+')) <= tonumber(ARGV[5])) then
  held, mine, ended = false, true, 1
elseif what == 'release' and string.find(released, ARGV[5], 1, true) then
  ended = 1
end
if mine then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  if what == 'release' then released = ARGV[5] .. string.sub(released, 1, 48) end
end
if KEYS[2] and (waiting ~= '0' or what == 'place' or what == 'both') then
  -- include: clock
  -- include: queue
  local function handOver(heir)
    local generation, lease, identity = string.match(heir.asks, TAKES)
    local token = math.max(math.max(last, ARGV[2]) + 1, micros)
    if not generation or heir.deadline <= millis + 2000 or not string.find(heir.mode, '%u')
       or token >= 9007199254740992 then return false end
    local inbox, sharded = channel(heir)
    local counted = redis.pcall('PUBSUB', sharded and 'SHARDNUMSUB' or 'NUMSUB', inbox)
    if counted.err then return false end
    if tonumber(counted[2]) == 0 then return 'gone' end
    local span, stays = tonumber(lease), redis.call('ZCARD', KEYS[2]) > 1 and waiting or '0'
    redis.call('SET', KEYS[1], string.format(GRANTED,
               stays, heir.id, ARGV[3], token, released, generation, millis, identity), 'PX', span + ARGV[3])
    local told = tellInbox(heir, string.format('%s %s %.0f %.0f %s', heir.id, generation, token, span, KEYS[1]))
    if type(told) ~= 'number' then return false end
    leave(heir.id)
    return 'given'
  end
  if what ~= 'grant' and (mine or what ~= 'release') then leave(owner) end
  if waiting == '3' then
    -- include: record
    -- include: line
    local r = read(KEYS[1])
    if mine then r.kind = '-' end
    along(r.kind, r.sum, nil, 'x', 0, 0, r.kind == 'p' and r.limit or nil)
    if redis.call('ZCARD', KEYS[2]) == 0 then waiting = '0' end
  elseif not held and waiting ~= '0' then
    local head = first()
    while head do
      local given = mine and handOver(head)
      if given == 'given' then return {ended} end
      if given == 'gone' then
        leave(head.id)
      elseif call(head, true) then
        break
      end
      head = first()
    end
    if not head then waiting = '0' end
  end
end
if mine then
  redis.call('SET', KEYS[1], string.format(FREED,
             waiting, math.max(last, ARGV[2]), released), 'PX', ARGV[3])
end
return {ended}
