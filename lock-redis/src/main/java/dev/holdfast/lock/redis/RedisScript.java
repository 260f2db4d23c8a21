package dev.holdfast.lock.redis;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * The scripts that decide everything, each atomic on the server.
 *
 * <p><b>Keys of a lock</b> (in one hash slot, see {@link RedisKeys}): the lock {@code owner token sinceMillis identity},
 * with the lease as its expiry; the record {@code token guardMillis}; the queue, a sorted set of waiting acquisitions by
 * arrival; their entries {@code deadlineMillis command channel}, a hash.
 *
 * <p><b>Token</b>: {@code max(last + 1, server time in µs)}. It rises as long as the server keeps either its record or
 * its clock, so a record may expire, be flushed, or be lost in a failover. In 2026 it is 1.8 · 10^15, below 2^53.
 *
 * <p><b>Guard</b>: the record remembers until when the last grant was confirmed. If the lock key is gone before that
 * without a release (DEL, eviction), nobody is granted the lock until the guard has passed or the holder has been told:
 * deleting the key asks the holder to stop, it does not pull the lock from under it.
 *
 * <p><b>Queue</b>: a waiter proves that it lives by trying again, which sets its deadline to 5 s from now. A release (or
 * an attempt that finds the lock free and somebody else first in line) calls the first live waiter and leaves it 700 ms
 * to come; then the next one is first. With {@code fair}, nobody passes a live waiter. Otherwise a newcomer may, until
 * that waiter has waited for 30 ms: cheap hand-overs under short contention, no starvation under long contention.
 */
record RedisScript(String name, String body, String digest) {

    private static final String CLOCK = """
            local clock = redis.call('TIME')
            local micros = clock[1] * 1000000 + clock[2]
            local millis = math.floor(micros / 1000)
            """;

    private static final String NUMBERS = """
            local function int(number) return string.format('%.0f', number) end
            """;

    private static final String QUEUE = """
            local function first()
              while true do
                local head = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
                if not head[1] then return nil end
                local entry = redis.call('HGET', KEYS[4], head[1])
                local deadline, command, channel = string.match(entry or '', '^(%d+) (%u+) (.*)$')
                if deadline and tonumber(deadline) > millis then
                  return {id = head[1], since = tonumber(head[2]), deadline = tonumber(deadline),
                          command = command, channel = channel}
                end
                redis.call('ZREM', KEYS[3], head[1])
                redis.call('HDEL', KEYS[4], head[1])
              end
            end
            local function leave(id)
              if redis.call('ZREM', KEYS[3], id) == 1 then redis.call('HDEL', KEYS[4], id) end
            end
            local function call(waiter, again)
              local called = waiter.deadline <= millis + 700
              if not called then
                waiter.deadline = millis + 700
                redis.call('HSET', KEYS[4], waiter.id,
                           int(waiter.deadline) .. ' ' .. waiter.command .. ' ' .. waiter.channel)
              end
              if again or not called then
                if waiter.command == 'SPUBLISH' then
                  redis.call('SPUBLISH', waiter.channel, waiter.id)
                else
                  redis.call('PUBLISH', waiter.channel, waiter.id)
                end
              end
            end
            """;

    /** Grants a free lock: sets key and record, with a new token. Expects {@code last}, {@code micros}, {@code millis}. */
    private static final String GRANT = """
            local token = math.max(last + 1, micros)
            local lease = tonumber(ARGV[2])
            redis.call('SET', KEYS[1], string.format('%s %.0f %.0f %s', ARGV[1], token, millis, ARGV[5]), 'PX', ARGV[2])
            redis.call('SET', KEYS[2], string.format('%.0f %.0f', token, millis + lease), 'PX', ARGV[6] + lease)
            """;

    /**
     * Keys: lock, record, queue, waiters. Arguments: owner, lease ms, 1 to queue or 0, order, identity, record memory
     * ms, publish command, channel, arrival of the ticket or 0. The order is {@code fair}: nobody passes a
     * waiter; {@code young}: a newcomer may pass one that waits since less than 30 ms; {@code any}. Answers {1, token} or {0, remaining ms, arrival}.
     *
     * <p>Free and nobody waiting, which is most often so, comes first: it needs none of the functions.
     */
    static final RedisScript ATTEMPT = of("attempt", CLOCK + """
                    local held = redis.call('GET', KEYS[1])
                    local text = redis.call('GET', KEYS[2])
                    local last, guard = 0, 0
                    if text then
                      last, guard = string.match(text, '^(%d+) (%d+)$')
                      last, guard = tonumber(last) or 0, tonumber(guard) or 0
                    end
                    if not held and guard <= millis and redis.call('ZCARD', KEYS[3]) == 0 then
                    """ + GRANT + """
                      return {1, token}
                    end
                    """ + NUMBERS + QUEUE + """
                    local owner = ARGV[1]
                    if held and string.sub(held, 1, 32) == owner then
                      local token, lease = tonumber(string.match(held, '^%x+ (%d+) ')), tonumber(ARGV[2])
                      redis.call('PEXPIRE', KEYS[1], ARGV[2])
                      redis.call('SET', KEYS[2], int(math.max(last, token)) .. ' ' .. int(millis + lease),
                                 'PX', ARGV[6] + lease)
                      leave(owner)
                      return {1, token}
                    end
                    local remaining
                    if held then
                      remaining = redis.call('PTTL', KEYS[1])
                    elseif guard > millis then
                      remaining = guard - millis
                    else
                      local head = first()
                      if not head or head.id == owner
                         or ARGV[4] == 'any' or ARGV[4] == 'young' and (ARGV[3] == '0' or micros - head.since < 30000) then
                    """ + GRANT + """
                        if head then leave(owner) end
                        return {1, token}
                      end
                      call(head, false)
                      remaining = head.deadline - millis
                    end
                    local arrival = 0
                    if ARGV[3] == '1' then
                      arrival = tonumber(redis.call('ZSCORE', KEYS[3], owner) or '0')
                      if arrival == 0 and redis.call('ZCARD', KEYS[3]) < 1000 then
                        arrival = tonumber(ARGV[9])
                        if arrival == 0 then
                          local tail = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
                          arrival = math.max(micros, tonumber(tail[2] or '0') + 1)
                        end
                        redis.call('ZADD', KEYS[3], int(arrival), owner)
                      end
                      if arrival > 0 then
                        redis.call('HSET', KEYS[4], owner, int(millis + 5000) .. ' ' .. ARGV[7] .. ' ' .. ARGV[8])
                        redis.call('PEXPIRE', KEYS[3], 6000)
                        redis.call('PEXPIRE', KEYS[4], 6000)
                      end
                    end
                    return {0, remaining, arrival}
                    """);

    /**
     * Keys: lock, record, queue, waiters. Arguments: owner, token or 0 if not known, record memory ms, what to end:
     * {@code grant}, {@code place} in the queue, or {@code both}. Answers {1} if the lock was held by the owner, else {0}.
     */
    static final RedisScript RELEASE = of("release", """
                    local owner, token, what = ARGV[1], tonumber(ARGV[2]), ARGV[4]
                    local held = redis.call('GET', KEYS[1])
                    local released = 0
                    if what ~= 'place' and held and string.sub(held, 1, 32) == owner then
                      token = math.max(token, tonumber(string.match(held, '^%x+ (%d+) ')))
                      redis.call('DEL', KEYS[1])
                      redis.call('SET', KEYS[2], string.format('%.0f 0', token), 'PX', ARGV[3])
                      held = false
                      released = 1
                    elseif not held and token > 0 then
                      local last, guard = string.match(redis.call('GET', KEYS[2]) or '', '^(%d+) (%d+)$')
                      if tonumber(last) == token and guard ~= '0' then
                        redis.call('SET', KEYS[2], string.format('%.0f 0', token), 'PX', ARGV[3])
                      end
                    end
                    if redis.call('ZCARD', KEYS[3]) == 0 then return {released} end
                    """ + CLOCK + NUMBERS + QUEUE + """
                    if what ~= 'grant' then leave(owner) end
                    if not held then
                      local head = first()
                      if head then call(head, true) end
                    end
                    return {released}
                    """);

    /**
     * Keys: lock and record of each grant. Arguments: record memory ms, then owner, lease ms and token of each grant.
     * Answers for each 1 if it was renewed, 0 if the lock is gone, 2 if it has another owner.
     */
    static final RedisScript RENEW = of("renew", CLOCK + NUMBERS + """
                    local answers = {}
                    for i = 1, #KEYS, 2 do
                      local at = 2 + (i - 1) / 2 * 3
                      local held = redis.call('GET', KEYS[i])
                      if not held then
                        answers[#answers + 1] = 0
                      elseif string.sub(held, 1, 32) == ARGV[at] then
                        local lease = tonumber(ARGV[at + 1])
                        redis.call('PEXPIRE', KEYS[i], ARGV[at + 1])
                        redis.call('SET', KEYS[i + 1], ARGV[at + 2] .. ' ' .. int(millis + lease),
                                   'PX', int(lease + tonumber(ARGV[1])))
                        answers[#answers + 1] = 1
                      else
                        answers[#answers + 1] = 2
                      end
                    end
                    return answers
                    """);

    private static RedisScript of(String name, String body) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-1").digest(body.getBytes(StandardCharsets.UTF_8));
            return new RedisScript(name, body, HexFormat.of().formatHex(digest));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this Java runtime has no SHA-1, by which Redis names scripts", e);
        }
    }
}
