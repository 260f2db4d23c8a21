-- Runs a script in a world of a test's: its clock, listeners, rights and memory, and how long keys live; all else is the server's. Answers with lines that say
-- what the script answered, told and left. See redis-scripts.cases.
--
-- Keys: state, queue, entries, limit. Arguments: seconds and microseconds of the clock, how many things there are, four words for each
-- of them, how many keys the script gets, and its arguments.
local server, redis = redis, {}
local function script(KEYS, ARGV)
SCRIPT
end

local world, heard, told, lives, first = {}, {}, {}, {}, nil

local at = 4
for i = 1, tonumber(ARGV[3]) do
  local kind, a, b, c = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  if kind == 'lock' or kind == 'limit' then
    local key = kind == 'lock' and KEYS[1] or KEYS[4]
    server.call('SET', key, b)
    lives[key] = tonumber(a)
  elseif kind == 'wait' or kind == 'entry' then
    if kind == 'wait' then server.call('ZADD', KEYS[2], b, a) end
    if c ~= '' then server.call('HSET', KEYS[3], a, c) end
  elseif kind == 'crowd' then
    for j = 1, tonumber(a) do
      local id = string.format('cc%06d', j)
      server.call('ZADD', KEYS[2], j, id)
      if c ~= '' then server.call('HSET', KEYS[3], id, c) end
    end
  elseif kind == 'hears' then
    heard[a .. b] = 1
  else
    world[kind] = true
  end
  at = at + 4
end
lives[KEYS[2]], lives[KEYS[3]] = 4000, 4000

local reads = {GET = true, ZRANGE = true, ZCARD = true, ZSCORE = true, HGET = true}
local takesNoMemory = {PEXPIRE = true, ZREM = true, HDEL = true}

local function noteLife(name, key, value, option, life)
  if name == 'PEXPIRE' then
    lives[key] = tonumber(value)
  elseif name == 'SET' then
    lives[key] = option == 'PX' and tonumber(life) or option == 'KEEPTTL' and lives[key] or -1
  elseif server.call('EXISTS', key) == 0 then
    lives[key] = nil
  end
end

local function run(name, ...)
  if name == 'TIME' then return {ARGV[1], ARGV[2]} end
  if name == 'PTTL' then return lives[...] or -2 end
  if name == 'PUBLISH' or name == 'SPUBLISH' then
    if world.mute then return {err = 'NOPERM'} end
    local channel, text = ...
    told[#told + 1] = 'told ' .. name .. ' ' .. channel .. ' ' .. text
    return heard[string.sub(name, 1, 1) .. channel] or 0
  end
  if name == 'PUBSUB' then
    if world.uncounted then return {err = 'NOPERM'} end
    local what, channel = ...
    return {channel, heard[(what == 'SHARDNUMSUB' and 'S' or 'P') .. channel] or 0}
  end
  if reads[name] then return server.pcall(name, ...) end
  if not first and not takesNoMemory[name] then
    if world.full then return {err = 'OOM'} end
    first = name
  elseif not first and server.call('EXISTS', (...)) == 1 then
    first = name == 'PEXPIRE' and name .. ' ' .. select(2, ...) or name
  end
  local answer = server.pcall(name, ...)
  noteLife(name, ...)
  return answer
end

redis.pcall, redis.error_reply = run, server.error_reply
function redis.call(...)
  local answer = run(...)
  if type(answer) == 'table' and answer.err then error(answer.err, 0) end
  return answer
end

local keys, args, lines = {}, {}, {}
for i = 1, tonumber(ARGV[at]) do keys[i] = KEYS[i] end
for i = at + 1, #ARGV do args[#args + 1] = ARGV[i] end
local function line(...)
  local text = string.gsub(string.gsub(table.concat({...}, ' '), '\n', '\\n'), '\t', '\\t')
  lines[#lines + 1] = string.gsub(text, ' $', '_')
end

local fine, answer = pcall(script, keys, args)
if not fine or answer.err then
  local why = not fine and answer or answer.err
  line('answer error', (string.gsub(tostring(why), '^%-?ERR ', '')))
else
  for i, part in ipairs(answer) do
    answer[i] = type(part) == 'number' and string.format('%.0f', part) or part
  end
  line('answer', unpack(answer))
end
for _, text in ipairs(told) do line(text) end

local function life(key)
  return server.call('EXISTS', key) == 1 and (lives[key] or -1) or -2
end
local function text(kind, key)
  local value = server.call('GET', key)
  if value then line(kind, life(key), value) end
end
text('lock', KEYS[1])
local queue, entries = life(KEYS[2]), life(KEYS[3])
local places, crowd = server.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES'), 0
for i = 1, #places, 2 do
  if string.find(places[i], '^cc%d') then crowd = crowd + 1 end
end
if crowd > 0 then line('crowd', crowd) end
for i = 1, #places, 2 do
  if not string.find(places[i], '^cc%d') then
    line('wait', places[i], places[i + 1], server.call('HGET', KEYS[3], places[i]) or nil)
  end
  server.call('HDEL', KEYS[3], places[i])
end
local orphans = server.call('HGETALL', KEYS[3])
for i = 1, #orphans, 2 do line('entry', orphans[i], orphans[i + 1]) end
text('limit', KEYS[4])
local function changed(left) return left ~= 4000 and left ~= -2 end
if changed(queue) or changed(entries) then line('queue', queue, entries) end
if first and string.find(first, '^PEXPIRE') then line('first', first) end
server.call('DEL', unpack(KEYS))
return lines
