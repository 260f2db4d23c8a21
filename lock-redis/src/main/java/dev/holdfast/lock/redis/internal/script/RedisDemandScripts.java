package dev.holdfast.lock.redis.internal.script;

import java.util.List;

/**
 * The scripts of shares and permits, of everything that stands in one line with them, and of queries of holders; see
 * {@link RedisLine}. The mutex's own scripts are {@link RedisScript}'s. Stateless.
 */
public final class RedisDemandScripts {

    /**
     * Any demand. Keys: state, queue, entries and limit, or the state alone while the slot is moving. Arguments: the first six
     * as {@link RedisScript#ATTEMPT} has them, then kind {@code x}, {@code s} or {@code p}, permits and limit. A mode of {@code -}
     * has a place as well. Answers {1, token, 0, called, slot}, {0, remaining ms, arrival, called, 0} or {3, the limit that is
     * stored, 0, 0, 0}.
     *
     * <p>The limit has a key of its own, which lives for a day after its last use, and is in the record as long as permits are
     * held. While a slot moves, permits can be acquired only next to others, since the limit may be on another server.
     */
    public static final RedisScript ATTEMPT = RedisScript.of(
            "attempt-in-line",
            RedisScript.CLOCK + RedisScript.LEFT + RedisLine.RECORD + RedisScript.QUEUE + RedisLine.LINE + """
            local r = read(KEYS[1])
            if not r then return {0, redis.call('PTTL', KEYS[1]), 0, 0, 0} end
            local owner, memory, round = ARGV[1], ARGV[3], tonumber(ARGV[4])
            local lease = ARGV[2] - memory
            local queues, order, mode, inbox, ticket = string.match(ARGV[6], '^(%S+) (%S+) (%S+) (%S*) (%S+)$')
            local want, permits, limit = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
            local found = find(r, owner)
            if found then
              found.round = math.max(found.round, round)
              put(r, found.from, found.to, found, r.now + lease)
              write(KEYS[1], r, memory, true)
              if KEYS[2] then leave(owner) end
              return {1, found.token, 0, 0, found.slot}
            end
            if r.who == owner then
              local known, rest = string.match(r.about, '^(%d+)(.*)$')
              redis.call('PEXPIRE', KEYS[1], lease + memory)
              redis.call('SET', KEYS[1], string.format('%s %s %s %s %s %.0f%s', r.waiting, owner, memory, r.last,
                         r.released, math.max(known, round), rest), 'PX', lease + memory)
              if KEYS[2] then leave(owner) end
              return {1, tonumber(r.last), 0, 0, 0}
            end
            local stored = r.kind == 'p' and r.limit or nil
            if want == 'p' then
              if not stored and not KEYS[4] then
                return redis.error_reply('TRYAGAIN the limit of the permits cannot be read while the slot moves')
              end
              stored = stored or tonumber(redis.call('GET', KEYS[4]) or limit)
              if stored ~= limit then
                if KEYS[2] and r.waiting ~= '0' then
                  leave(owner)
                  along(r.kind, r.sum, nil, 'x', 0, 0, stored)
                end
                return {3, stored, 0, 0, 0}
              end
            end
            local called = 0
            if KEYS[2] and ticket ~= '0' then
              local entry = redis.call('HGET', KEYS[3], owner) or ''
              local deadline, mark = string.match(entry, '^(%d+) (%S)')
              if not deadline or mark ~= '-' and tonumber(deadline) <= millis + 700 then called = 1 end
            end
            local fits, ahead
            if KEYS[2] and r.waiting ~= '0' then
              fits, ahead = along(r.kind, r.sum, owner, want, permits, limit, stored)
            else
              fits = r.kind == '-' or r.kind == want and (want == 's' or want == 'p' and r.sum + permits <= limit)
            end
            if fits then
              local token = math.max(r.last + 1, micros)
              if token >= 9007199254740992 then
                return redis.error_reply('NOTOKEN the last token of ' .. KEYS[1] .. ' is ' .. r.last)
              end
              if KEYS[2] and r.waiting ~= '0' then
                leave(owner)
                if redis.call('ZCARD', KEYS[2]) == 0 then r.waiting = '0' end
              end
              if want == 'x' then
                redis.call('SET', KEYS[1], string.format('%s %s %s %.0f %s %.0f %.0f %s', r.waiting, owner, memory,
                           token, r.released, round, millis, ARGV[5]), 'PX', lease + memory)
                return {1, token, 0, called, 0}
              end
              if r.kind == '-' then
                r.kind, r.limit, r.count, r.sum, r.lines = want, limit, 0, 0, ''
                r.now, r.bound, r.latest, r.free = 0, lease, lease, 1
              end
              local slot = 0
              if want == 'p' then
                slot = r.free
                while string.find(r.lines, '\\t' .. slot .. '\\t', 1, true) do slot = slot + 1 end
                r.free = slot + 1
              end
              r.last, r.count, r.sum = token, r.count + 1, r.sum + permits
              put(r, #r.lines + 1, #r.lines, {id = owner, slot = slot, permits = permits, token = token, round = round,
                                              rest = string.format('%.0f ', millis) .. ARGV[5]}, r.now + lease)
              write(KEYS[1], r, memory, false)
              if want == 'p' and KEYS[4] then redis.call('SET', KEYS[4], limit, 'PX', 86400000) end
              return {1, token, 0, called, slot}
            end
            local remaining, arrival = r.rest, 0
            if r.kind == '-' then
              remaining = ahead.deadline - millis
            elseif r.kind ~= 'x' then
              remaining = r.bound - r.now
            end
            if KEYS[2] and queues ~= '0' then
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
                local asks = want == 'x' and '' or string.format(' %s %d %d', want, permits, limit)
                redis.call('HSET', KEYS[3], owner,
                           string.format('%.0f %s %s%s', millis + 5000, mode, inbox, asks))
                redis.call('PEXPIRE', KEYS[2], 6000)
                redis.call('PEXPIRE', KEYS[3], 6000)
                if want == 'p' then redis.call('SET', KEYS[4], limit, 'PX', 86400000) end
                local now = (r.waiting == '3' or want ~= 'x' or mode == '-') and '3'
                    or (r.waiting == '2' or order == 'fair') and '2' or '1'
                if now ~= r.waiting then
                  r.waiting = now
                  if r.who == '+' then
                    write(KEYS[1], r, r.memory, false)
                  else
                    redis.call('SET', KEYS[1], string.format('%s %s %s %s %s %s',
                               now, r.who, r.memory, r.last, r.released, r.about), 'KEEPTTL')
                  end
                end
              end
            elseif KEYS[2] and ticket ~= '0' then
              leave(owner)
            end
            return {0, remaining, arrival, called, 0}
            """);

    /** Of a share or permits. Keys and arguments as {@link RedisScript#RELEASE} has them, answers too. */
    public static final RedisScript RELEASE = RedisScript.of(
            "release-in-line",
            RedisScript.CLOCK + RedisScript.LEFT + RedisLine.RECORD + RedisScript.QUEUE + RedisLine.LINE + """
            local r, owner, memory, what = read(KEYS[1]), string.match(ARGV[1], '^0 (%S+)'), ARGV[3], ARGV[4]
            if not r then return {0} end
            local mine, ended = find(r, owner), 0
            if what == 'place' or mine and what == 'grant' and mine.round > tonumber(ARGV[5]) then mine = nil end
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
              redis.call('SET', KEYS[1], string.format('%s - 0 %.0f %s ', r.waiting, r.last, r.released), 'PX', memory)
            elseif mine then
              write(KEYS[1], r, memory, false)
            end
            return {ended}
            """);

    /**
     * Of shares and permits. Keys and arguments as {@link RedisScript#RENEW} has them, answers too, and 3 if others share
     * what is no longer this one's.
     */
    public static final RedisScript RENEW = RedisScript.of("renew-in-line", RedisScript.LEFT + RedisLine.RECORD + """
            local answers = {}
            for i = 1, #KEYS do
              local r, at = read(KEYS[i]), i * 3 - 1
              local found = r and find(r, ARGV[at])
              if found then
                r.last = math.max(r.last, ARGV[at + 2])
                put(r, found.from, found.to, found, r.now + ARGV[at + 1])
                write(KEYS[i], r, ARGV[1], true)
                answers[i] = 1
              else
                answers[i] = r and r.who == '-' and 0 or r and r.who == '+' and 3 or 2
              end
            end
            return answers
            """);

    private static final String HELD = RedisScript.LEFT + RedisLine.RECORD + """
            local r, held = read(KEYS[1]), {'-', '0', ''}
            if not r or r.kind == 'x' then
              held = {'x', '0', redis.call('GET', KEYS[1])}
            elseif r.kind ~= '-' then
              held = {r.kind, r.limit, r.lines}
            end
            """;

    /**
     * Key: the state. Answers {kind, limit, who}: kind {@code -} if it is free, {@code x} and the state, or {@code s} or
     * {@code p} and the lines of the holders.
     */
    public static final RedisScript HOLDERS = RedisScript.of("holders", HELD + "return held\n");

    /**
     * Keys: state, queue and entries. Answers as {@link #HOLDERS}, then arrival in µs and what is asked for of each of the
     * first hundred live waiters.
     */
    public static final RedisScript LISTED = RedisScript.of("listed", RedisScript.CLOCK + HELD + """
            local queue = KEYS[2] and redis.call('ZRANGE', KEYS[2], 0, 99, 'WITHSCORES') or {}
            for i = 1, #queue, 2 do
              local deadline, asks =
                  string.match(redis.call('HGET', KEYS[3], queue[i]) or '', '^(%d+) [PpSs-] %x+ ?(.*)$')
              if deadline and tonumber(deadline) > millis then
                held[#held + 1] = queue[i + 1]
                held[#held + 1] = asks
              end
            end
            return held
            """);

    /** Keys: state, queue, entries and limit. Arguments: from and to. Answers {the limit that is stored now}. */
    public static final RedisScript CHANGE_LIMIT = RedisScript.of(
            "change-limit",
            RedisScript.CLOCK + RedisScript.LEFT + RedisLine.RECORD + RedisScript.QUEUE + RedisLine.LINE + """
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
            """);

    /** All of them. */
    public static final List<RedisScript> ALL = List.of(ATTEMPT, RELEASE, RENEW, HOLDERS, LISTED, CHANGE_LIMIT);

    private RedisDemandScripts() {}
}
