-- An attempt to acquire the lock alone.
--
-- Keys: state, queue and entries; the state alone while its slot moves to another server
-- Arguments: owner, lease and memory together in ms, memory in ms, generation, identity, how to wait
-- Answers: {1, token, 0, called}: granted
--   {0, remaining ms, arrival, called}: held or reserved; arrival is 0 without a place in the queue
--   {2, ...}: shares or permits are held or waited for, so attempt-in-line must decide
--
-- How to wait is `queues order mode inbox arrival`. Queues is 2 to queue and to take the lock from a release, 1 to queue, 0 for neither.
-- The order is fair, young or any; Redlock's votes use any, because order has no meaning for them. Mode and inbox say where calls go
-- (layout). The arrival is that of the ticket, or 0. Called is 1 if the owner has a ticket and was called since its last attempt.
--
-- A free lock without waiters is the most frequent case. It comes first and reads the state by positions: a released state begins
-- with `0 - 0`, and a token has 16 digits from 2001 to 2286. Half of a script's time goes into patterns, formats and functions, which
-- this case does not need. Tokens of 16 digits are compared and returned as texts.
--
-- An owner with a ticket has a place in the queue, even if the state was deleted and says that nobody waits. Such an
-- attempt leaves the queue with its grant, or a later release could hand the lock to an owner that has released it.

local text = redis.call('GET', KEYS[1])
local before, others = '0000000000000000', '-'
if text then
  before = string.sub(text, 1, 6) == '0 - 0 ' and string.byte(text, 23) == 32 and #text > 24
           and string.byte(text, -1) == 32 and string.sub(text, 7, 22)
  others = before and string.sub(text, 24, -2)
end
local clock = redis.call('TIME')
if before and string.sub(ARGV[6], -2) == ' 0' then
  local now = clock[1] .. string.sub('00000' .. clock[2], -6)
  if before < now and #now == 16 then
    redis.call('SET', KEYS[1], '0 ' .. ARGV[1] .. ' ' .. ARGV[3] .. ' ' .. now .. ' ' .. others .. ' ' .. ARGV[4]
               .. ' ' .. string.sub(now, 1, 13) .. ' ' .. ARGV[5], 'PX', ARGV[2])
    return {1, now, 0, 0}
  end
end
local micros = clock[1] * 1000000 + clock[2]
local millis = math.floor(micros / 1000)
-- include: state
if not who then return {0, redis.call('PTTL', KEYS[1]), 0, 0} end
local owner, generation = ARGV[1], ARGV[4]
local queues, order, mode, inbox, ticket = string.match(ARGV[6], '^(%S+) (%S+) (%S+) (%S*) (%S+)$')
local remaining, called = who == '-' and 0 or left(KEYS[1], memory), 0
local function grant()
  local token = math.max(last + 1, micros)
  if token >= 9007199254740992 then
    return redis.error_reply('NOTOKEN the last token of ' .. KEYS[1] .. ' is ' .. last)
  end
  redis.call('SET', KEYS[1], string.format(GRANTED,
             waiting, owner, ARGV[3], token, released, generation, millis, ARGV[5]), 'PX', ARGV[2])
  return {1, token, 0, called}
end
if remaining <= 0 and (waiting == '0' and ticket == '0' or not KEYS[2]) then return grant() end
-- include: queue
if remaining <= 0 and waiting == '0' then
  leave(owner)
  if redis.call('ZCARD', KEYS[2]) > 0 then waiting = '1' end
  return grant()
end
if KEYS[2] and ticket ~= '0' then
  local deadline = string.match(redis.call('HGET', KEYS[3], owner) or '', ENTRY)
  if not deadline or tonumber(deadline) <= millis + 700 then called = 1 end
end
if who == owner and remaining > 0 then
  local known, rest = string.match(about, '^(%d+)(.*)$')
  if tonumber(generation) > tonumber(known) then about = generation .. rest end
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('SET', KEYS[1], string.format(KEPT,
             waiting, owner, ARGV[3], last, released, about), 'PX', ARGV[2])
  if KEYS[2] then leave(owner) end
  return {1, tonumber(last), 0, called}
end
if who == '+' and remaining > 0 or waiting == '3' then return {2, remaining, 0, 0} end
if not KEYS[2] then return {0, remaining, 0, 0} end
if remaining <= 0 then
  local head = first()
  while head and head.id ~= owner do
    if order == 'any' or waiting == '1' and order == 'young'
       and (queues == '0' or micros - head.since < 30000) then break end
    if call(head, false) then
      remaining = head.deadline - millis
      break
    end
    head = first()
  end
  if remaining <= 0 then
    leave(owner)
    if not head then waiting = '0' end
    return grant()
  end
end
local arrival = 0
if queues ~= '0' then
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
    local asks = queues == '2' and string.format(' x %s %.0f %s', generation, ARGV[2] - ARGV[3], ARGV[5]) or ''
    redis.call('HSET', KEYS[3], owner,
               string.format(WAITS, millis + 5000, mode, inbox, asks))
    redis.call('PEXPIRE', KEYS[2], 6000)
    redis.call('PEXPIRE', KEYS[3], 6000)
    local now = (waiting == '2' or order == 'fair') and '2' or '1'
    if now ~= waiting then
      redis.call('SET', KEYS[1], string.format(KEPT,
                 now, who, memory, last, released, about), 'KEEPTTL')
    end
  end
elseif ticket ~= '0' then
  leave(owner)
end
return {0, remaining, arrival, called}
