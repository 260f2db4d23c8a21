package dev.holdfast.lock.redis.internal.script;

/**
 * Parts of scripts: the record of shares and permits, and the line in which all demands on a name stand. Stateless.
 *
 * <p><b>Record</b>: while shares or permits are held, the state's owner is {@code +}, and in place of round, since and identity
 * it has {@code kind limit count sum bound latest free} and a line for each holder: {@code owner, slot, permits token end
 * round since identity}. The kind is {@code s} or {@code p}, the sum is that of the permits held, and the limit theirs. So one
 * key has all entries, which are lost with it or kept with it, moves along with it, and is seen by the scripts of the mutex in
 * what they read anyway. A holder costs about 90 bytes, which every request about the name copies.
 *
 * <p><b>Time</b>: ends are ms on a time line of the record's own. {@code latest} is no sooner than the last end, and the key
 * lives {@code memory} ms longer than until then; so what is left of its life says which time it is, whatever the clock of the
 * server says to which the key may have moved. {@code bound} is no later than the first end: before it, no entry has to be
 * looked for whose lease is over.
 *
 * <p><b>Slots</b>: {@code free} is no higher than the lowest free slot.
 *
 * <p><b>Line</b>: the queue. Whoever asks for a share or permits has {@code kind permits limit} at the end of his entry. The
 * state's {@code waiting} is 3 as long as such a waiter may be in the queue, or one that polls, whose mode is {@code -} and
 * whose inbox is for how many ms he may be awaited after it was his turn. Then no entry passes another: a request gets
 * what it asks for if there is room next to what is held and what those ahead wait for. Those who can have theirs are called.
 */
public final class RedisLine {
    private RedisLine() {}

    /** Reads and writes the record; needs {@link RedisScript#LEFT}. */
    static final String RECORD = """
            local function sweep(r)
              local kept, latest = {}, r.now
              r.count, r.sum, r.bound = 0, 0, math.huge
              for line in string.gmatch(r.lines, '\\n[^\\n]+') do
                local slot, permits, ends = string.match(line, '\\t(%d+)\\t(%d+) %d+ (%d+) ')
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
                  string.match(text, '^([0-3]) (%S+) (%d+) (%d+) (%S+) ()')
              if not r.who then return nil end
              r.rest = r.who == '-' and 0 or left(key, r.memory)
              if r.rest <= 0 then
                r.who = '-'
              elseif r.who ~= '+' then
                r.kind, r.about = 'x', string.sub(text, at)
              else
                local kind, limit, count, sum, bound, latest, free, lines =
                    string.match(text, '^([sp]) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)()', at)
                if not kind then return nil end
                r.kind, r.limit, r.count, r.sum = kind, tonumber(limit), tonumber(count), tonumber(sum)
                r.bound, r.latest, r.free, r.lines = tonumber(bound), tonumber(latest), tonumber(free), string.sub(text, lines)
                r.now = r.latest - r.rest
                if r.now >= r.bound then sweep(r) end
              end
              return r
            end
            local function find(r, id)
              if r.who ~= '+' then return nil end
              local from = string.find(r.lines, '\\n' .. id .. '\\t', 1, true)
              if not from then return nil end
              local to = (string.find(r.lines, '\\n', from + 1, true) or #r.lines + 1) - 1
              local slot, permits, token, round, rest =
                  string.match(string.sub(r.lines, from, to), '\\t(%d+)\\t(%d+) (%d+) %d+ (%d+) (.*)$')
              return {from = from, to = to, id = id, slot = tonumber(slot), permits = tonumber(permits),
                      token = tonumber(token), round = tonumber(round), rest = rest}
            end
            local function put(r, from, to, holder, ends)
              r.lines = string.sub(r.lines, 1, from - 1)
                  .. string.format('\\n%s\\t%d\\t%d %.0f %.0f %.0f ',
                                   holder.id, holder.slot, holder.permits, holder.token, ends, holder.round)
                  .. holder.rest .. string.sub(r.lines, to + 1)
              r.bound, r.latest = math.min(r.bound, ends), math.max(r.latest, ends)
            end
            local function write(key, r, memory, keeps)
              local life = r.latest - r.now + memory
              if keeps then redis.call('PEXPIRE', key, life) end
              redis.call('SET', key,
                         string.format('%s + %s %.0f %s %s %d %d %d %.0f %.0f %d', r.waiting, memory, r.last,
                                       r.released, r.kind, r.limit, r.count, r.sum, r.bound, r.latest, r.free)
                         .. r.lines, 'PX', life)
            end
            """;

    /** Goes along the line; needs {@link RedisScript#CLOCK} and {@link RedisScript#QUEUE}. */
    static final String LINE = """
            local function waiter(id)
              local entry = redis.call('HGET', KEYS[3], id) or ''
              local deadline, mode, inbox, asks = string.match(entry, '^(%d+) ([PpSs-]) (%x+)(.*)$')
              deadline = tonumber(deadline)
              if not deadline or deadline <= millis or not string.find(id, '^%x+$') then return nil end
              local want, permits, limit = 'x', 0, 0
              if asks ~= '' and string.sub(asks, 1, 3) ~= ' x ' then
                want, permits, limit = string.match(asks, '^ ([sp]) (%d+) (%d+)$')
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
                redis.call('HSET', KEYS[3], w.id, string.format('%.0f - %s%s', w.deadline, w.inbox, w.asks))
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
            """;
}
