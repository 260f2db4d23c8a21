-- The record of shares and permits.
--
-- read(key) is the state as a table, with the fields of the record if there is one; nil for foreign content. find(r, id) is the holder
-- with that owner id, or nil; find(r, id, after) looks only there and behind. lineOf(r, holder, ends) is a holder's line.
-- put(r, from, to, holder, ends) replaces that part of the lines by a holder's. write(key, r, memory,
-- keeps) stores the record; `keeps` for what must succeed although the server's memory is full.
--
-- The lines are copied out of the state when something first uses them. Most requests of waiters only look for a holder, and half of
-- their time with 1,000 holders went into that copy.
--
-- Times are ms on a time line of the record's own. The key lives until `latest` and `memory` ms more, so what is left of its life says
-- which time it is, whatever the clock says of a server to which the key moves. `bound` is no later than the first end; before it, no
-- lease is over, so nothing is swept. `free` is no higher than the lowest free slot.
--
-- Needs: left, STATE, RECORD, RECORDED, HOLDER, HOLDING, SPAN
-- Gives: sweep, read, find, lineOf, put, write

local function sweep(r)
  local kept, latest = {}, r.now
  r.count, r.sum, r.bound = 0, 0, math.huge
  for line in string.gmatch(r.lines, '\n[^\n]+') do
    local slot, permits, ends = string.match(line, SPAN)
    if tonumber(ends) > r.now then
      kept[#kept + 1] = line
      r.count, r.sum = r.count + 1, r.sum + permits
      r.bound, latest = math.min(r.bound, ends), math.max(latest, ends)
    else
      r.free = math.min(r.free, slot)
    end
  end
  r.lines, r.latest = table.concat(kept), latest
  if r.count == 0 then r.who, r.kind = '-', '-' end
end
local function read(key)
  local r = {who = '-', last = '0', memory = '0', waiting = '0', released = '-', about = '',
             rest = 0, kind = '-', sum = 0}
  local text = redis.call('GET', key)
  if not text then return r end
  local at
  r.waiting, r.who, r.memory, r.last, r.released, at =
      string.match(text, STATE .. '()')
  if not r.who then return nil end
  r.rest = r.who == '-' and 0 or left(key, r.memory)
  if r.rest <= 0 then
    r.who = '-'
  elseif r.who ~= '+' then
    r.kind, r.about = 'x', string.sub(text, at)
  else
    local kind, limit, count, sum, bound, latest, free, lines =
        string.match(text, RECORD, at)
    if not kind then return nil end
    r.kind, r.limit, r.count, r.sum = kind, tonumber(limit), tonumber(count), tonumber(sum)
    r.bound, r.latest, r.free, r.text, r.at = tonumber(bound), tonumber(latest), tonumber(free), text, lines
    setmetatable(r, {__index = function(_, name)
      if name ~= 'lines' then return nil end
      r.lines = string.sub(text, lines)
      return r.lines
    end})
    r.now = r.latest - r.rest
    if r.now >= r.bound then sweep(r) end
  end
  return r
end
local function find(r, id, after)
  if r.who ~= '+' then return nil end
  if not rawget(r, 'lines') and not string.find(r.text, '\n' .. id .. '\t', r.at, true) then return nil end
  local from = string.find(r.lines, '\n' .. id .. '\t', after or 1, true)
  if not from then return nil end
  local to = (string.find(r.lines, '\n', from + 1, true) or #r.lines + 1) - 1
  local slot, permits, token, generation, rest =
      string.match(string.sub(r.lines, from, to), HOLDER)
  return {from = from, to = to, id = id, slot = tonumber(slot), permits = tonumber(permits),
          token = tonumber(token), generation = tonumber(generation), rest = rest}
end
local function lineOf(r, holder, ends)
  r.bound, r.latest = math.min(r.bound, ends), math.max(r.latest, ends)
  return string.format(HOLDING, holder.id, holder.slot, holder.permits, holder.token, ends, holder.generation) .. holder.rest
end
local function put(r, from, to, holder, ends)
  r.lines = string.sub(r.lines, 1, from - 1) .. lineOf(r, holder, ends) .. string.sub(r.lines, to + 1)
end
local function write(key, r, memory, keeps)
  local life = r.latest - r.now + memory
  if keeps then redis.call('PEXPIRE', key, life) end
  redis.call('SET', key,
             string.format(RECORDED, r.waiting, memory, r.last,
                           r.released, r.kind, r.limit, r.count, r.sum, r.bound, r.latest, r.free)
             .. r.lines, 'PX', life)
end
