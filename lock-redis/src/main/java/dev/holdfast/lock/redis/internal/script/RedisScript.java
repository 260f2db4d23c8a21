package dev.holdfast.lock.redis.internal.script;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;

/**
 * The scripts that decide everything, each atomic on the server.
 *
 * <p><b>State</b>: one key has all that an uncontended lock needs (see {@link RedisKeys}). Its value is
 * {@code waiting owner memory token released round since identity}. The key lives for the lease and then for
 * {@code memory} ms more, so the lock is held as long as more than {@code memory} is left of the key's life, and free
 * after that; a lock that was released has the owner {@code -}, and {@code +} stands for the holders of shares or
 * permits ({@link RedisLine}). Time is counted by what is left of the key's life only: a key that moves to another
 * server of a cluster takes it along, whatever that server's clock says.
 *
 * <p><b>Token</b>: {@code max(last + 1, server time in µs)}. It rises as long as the server keeps either the state or its
 * clock, so a state may expire, be flushed, or be lost in a failover. In 2026 it is 1.8 · 10^15, below 2^53.
 *
 * <p><b>Round</b>: the number of the last attempt that the owner has made. An attempt that did not find its majority, or
 * its replicas, takes its grant back, which may arrive when the owner's next attempt has been granted: so it ends grants
 * of its own round and of earlier ones only.
 *
 * <p><b>Released</b>: the ids of the last four releases, so that one which the Redis client has sent again, because its
 * reply was lost, gets the same answer.
 *
 * <p><b>Queue</b>: a sorted set of waiting acquisitions by arrival, and a hash of their entries
 * {@code deadlineMillis mode inbox}. Behind that, {@code x round leaseMillis identity} says that the waiter takes the
 * lock from a release; shares and permits say there what they ask for. The state's {@code waiting} says whether there
 * may be any: 0 none, 1 some, 2 some of them {@code fair}, 3 some of them not for the lock alone ({@link RedisLine}).
 * A waiter proves that it lives by trying again, which sets its deadline to 5 s from now. A release makes the first
 * live waiter the holder if that one takes it, and notifies it (docs/decisions/0028). Otherwise it calls (as does an
 * attempt that finds the lock free and another waiter first in line) the first live waiter and leaves it 700 ms to
 * try; then the next one is first. The server returns how many received a call. If none did, although the waiter was
 * subscribed (its mode is in upper case), its process is gone: the waiter leaves the queue and the next one is called
 * at once.
 *
 * <p><b>Order</b> is what the waiting side asked for: no waiter passes while a {@code fair} waiter is in the queue. Otherwise
 * a newcomer may pass until the first waiter has waited for 30 ms: cheap hand-overs under short contention, no starvation
 * under long contention.
 *
 * <p><b>What an entry can do</b>: a call goes to {@code prefix:c:inbox} or {@code state:c:inbox} and says an owner id.
 * Inbox and owner id are hexadecimal, or the entry is dropped; so a client that can write an entry can make others publish
 * nothing else, and nowhere else.
 *
 * <p><b>Full memory</b>: Redis refuses commands that need memory until a script has written something. So whatever keeps or
 * ends a lock begins with PEXPIRE, which needs none. <b>No right to publish</b>: a client that polls may lack it; then a call
 * has no effect, and that is all.
 *
 * <p><b>Without the queue</b>: with the state as the only key, attempts and releases leave the queue alone. While a slot of
 * a cluster moves, scripts with several keys are refused, but those with one key are carried out where that key is.
 */
public record RedisScript(String name, String body, String digest) {
    /** What a script answers for a lock whose tokens are used up. */
    public static final String NO_TOKEN = "NOTOKEN";

    /**
     * The longest lease that is handed over, as {@link #RELEASE} has it, too: it is counted from the waiter's last
     * attempt, and a waiter polls each second.
     */
    public static final long HANDED_OVER_MILLIS = 2_000;

    static final String CLOCK = """
            local clock = redis.call('TIME')
            local micros = clock[1] * 1000000 + clock[2]
            local millis = math.floor(micros / 1000)
            """;

    /** What is left of a lease in ms, at most 0 if it is over; a key without an end, which is not ours, is never over. */
    static final String LEFT = """
            local function left(key, memory)
              local life = redis.call('PTTL', key)
              return life == -1 and 1000 or life - memory
            end
            """;

    static final String QUEUE = """
            local function leave(id)
              if redis.call('ZREM', KEYS[2], id) == 1 then redis.call('HDEL', KEYS[3], id) end
            end
            local function first()
              while true do
                local head = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
                if not head[1] then return nil end
                local entry = redis.call('HGET', KEYS[3], head[1]) or ''
                local deadline, mode, inbox, asks = string.match(entry, '^(%d+) ([PpSs]) (%x+)(.*)$')
                deadline = tonumber(deadline)
                if deadline and deadline > millis and string.find(head[1], '^%x+$') then
                  return {id = head[1], since = tonumber(head[2]), deadline = deadline, mode = mode, inbox = inbox,
                          asks = asks}
                end
                leave(head[1])
              end
            end
            local function channel(waiter)
              if string.lower(waiter.mode) == 's' then return KEYS[1] .. ':c:' .. waiter.inbox, true end
              return string.match(KEYS[1], '^[^{]*') .. 'c:' .. waiter.inbox, false
            end
            local function tellInbox(waiter, text)
              local inbox, sharded = channel(waiter)
              return redis.pcall(sharded and 'SPUBLISH' or 'PUBLISH', inbox, text)
            end
            local function call(waiter, again)
              local called = waiter.deadline <= millis + 700
              if called and not again then return true end
              local heard = tellInbox(waiter, waiter.id)
              if heard == 0 and string.find(waiter.mode, '%u') then
                leave(waiter.id)
                return false
              end
              if not called then
                waiter.deadline = millis + 700
                redis.call('HSET', KEYS[3], waiter.id,
                           string.format('%.0f %s %s%s', waiter.deadline, waiter.mode, waiter.inbox, waiter.asks))
              end
              return true
            end
            """;

    /** Takes the text of a state apart. {@code who} is nil if it is none of ours. */
    private static final String STATE = LEFT + """
            local waiting, who, memory, last, released, about = '0', '-', '0', '0', '-', ''
            if text then
              waiting, who, memory, last, released, about =
                  string.match(text, '^([0-3]) (%S+) (%d+) (%d+) (%S+) (.*)$')
            end
            """;

    /**
     * Keys: state, and queue and entries unless the slot is moving. Arguments: owner, lease and memory together in
     * ms, memory, round, identity, and how to wait: {@code queues order mode inbox arrival}, which are 2 to queue and
     * to take the lock from a release, 1 to queue, or 0, the order, mode and inbox of a call, and the arrival of the
     * ticket or 0. The order is {@code fair}, {@code young} or {@code any}: the last for votes, where order has no
     * meaning. Answers {1, token, 0, called} or {0, remaining ms, arrival, called}: called is 1 if a call has gone to
     * the owner since its last attempt, if it has a ticket. Or answers {2, …}: there are shares or permits, held or
     * waited for, so {@link RedisDemandScripts#ATTEMPT} decides.
     *
     * <p>Free without waiters, the most frequent case, comes first, and reads the state by its positions: a released state
     * begins with {@code 0 - 0}, and a token has 16 digits from 2001 to 2286. Half of the time of a script goes into patterns, formats
     * and functions, which it does not need. Tokens of 16 digits are compared and answered as texts.
     */
    public static final RedisScript ATTEMPT = of("attempt", """
            local text = redis.call('GET', KEYS[1])
            local before, others = '0000000000000000', '-'
            if text then
              before = string.sub(text, 1, 6) == '0 - 0 ' and string.byte(text, 23) == 32 and #text > 24
                       and string.byte(text, -1) == 32 and string.sub(text, 7, 22)
              others = before and string.sub(text, 24, -2)
            end
            local clock = redis.call('TIME')
            if before then
              local now = clock[1] .. string.sub('00000' .. clock[2], -6)
              if before < now and #now == 16 then
                redis.call('SET', KEYS[1], '0 ' .. ARGV[1] .. ' ' .. ARGV[3] .. ' ' .. now .. ' ' .. others .. ' ' .. ARGV[4]
                           .. ' ' .. string.sub(now, 1, 13) .. ' ' .. ARGV[5], 'PX', ARGV[2])
                return {1, now, 0, 0}
              end
            end
            local micros = clock[1] * 1000000 + clock[2]
            local millis = math.floor(micros / 1000)
            """ + STATE + """
            if not who then return {0, redis.call('PTTL', KEYS[1]), 0, 0} end
            local owner, round = ARGV[1], ARGV[4]
            local queues, order, mode, inbox, ticket = string.match(ARGV[6], '^(%S+) (%S+) (%S+) (%S*) (%S+)$')
            local remaining, called = who == '-' and 0 or left(KEYS[1], memory), 0
            local function grant()
              local token = math.max(last + 1, micros)
              if token >= 9007199254740992 then
                return redis.error_reply('NOTOKEN the last token of ' .. KEYS[1] .. ' is ' .. last)
              end
              redis.call('SET', KEYS[1], string.format('%s %s %s %.0f %s %s %.0f %s',
                         waiting, owner, ARGV[3], token, released, round, millis, ARGV[5]), 'PX', ARGV[2])
              return {1, token, 0, called}
            end
            if remaining <= 0 and (waiting == '0' or not KEYS[2]) then return grant() end
            """ + QUEUE + """
            if KEYS[2] and ticket ~= '0' then
              local deadline = string.match(redis.call('HGET', KEYS[3], owner) or '', '^(%d+) ')
              if not deadline or tonumber(deadline) <= millis + 700 then called = 1 end
            end
            if who == owner and remaining > 0 then
              local known, rest = string.match(about, '^(%d+)(.*)$')
              if tonumber(round) > tonumber(known) then about = round .. rest end
              redis.call('PEXPIRE', KEYS[1], ARGV[2])
              redis.call('SET', KEYS[1], string.format('%s %s %s %s %s %s',
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
                local asks = queues == '2' and string.format(' x %s %.0f %s', round, ARGV[2] - ARGV[3], ARGV[5]) or ''
                redis.call('HSET', KEYS[3], owner,
                           string.format('%.0f %s %s%s', millis + 5000, mode, inbox, asks))
                redis.call('PEXPIRE', KEYS[2], 6000)
                redis.call('PEXPIRE', KEYS[3], 6000)
                local now = (waiting == '2' or order == 'fair') and '2' or '1'
                if now ~= waiting then
                  redis.call('SET', KEYS[1], string.format('%s %s %s %s %s %s',
                             now, who, memory, last, released, about), 'KEEPTTL')
                end
              end
            elseif ticket ~= '0' then
              leave(owner)
            end
            return {0, remaining, arrival, called}
            """);

    /**
     * Keys: state, and queue and entries unless the slot is moving. Arguments: how the state of such a grant begins
     * ({@link #end}), token or 0 if not known, memory ms, what to end: {@code release}, followed by an id of 16
     * characters, which gets the same answer if it is sent again; {@code grant}, followed by the last round that it
     * ends; {@code place} in the queue; or {@code both}. Answers {1} if the lock was held by the owner, else {0}.
     *
     * <p>Before it hands the lock over, it asks who listens, and skips waiters that do not, without a message.
     * What PUBLISH answers would be too late: replicas notify their listeners too, and are not counted, so the waiter
     * might get a grant that the next one has.
     */
    public static final RedisScript RELEASE =
            of("release", """
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
            """ + STATE + """
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
            """ + CLOCK + QUEUE + """
              local function handOver(heir)
                local round, lease, identity = string.match(heir.asks, '^ x (%d+) (%d+) (.*)$')
                local token = math.max(math.max(last, ARGV[2]) + 1, micros)
                if not round or not string.find(heir.mode, '%u') or token >= 9007199254740992 then return false end
                local inbox, sharded = channel(heir)
                local counted = redis.pcall('PUBSUB', sharded and 'SHARDNUMSUB' or 'NUMSUB', inbox)
                if counted.err then return false end
                if tonumber(counted[2]) == 0 then return 'gone' end
                local span, stays = math.min(lease, 2000), redis.call('ZCARD', KEYS[2]) > 1 and waiting or '0'
                redis.call('SET', KEYS[1], string.format('%s %s %s %.0f %s %s %.0f %s',
                           stays, heir.id, ARGV[3], token, released, round, millis, identity), 'PX', span + ARGV[3])
                local told = tellInbox(heir, string.format('%s %s %.0f %.0f', heir.id, round, token, span))
                if type(told) ~= 'number' then return false end
                leave(heir.id)
                return 'given'
              end
              if what ~= 'grant' and (mine or what ~= 'release') then leave(owner) end
              if waiting == '3' then
            """ + RedisLine.RECORD + RedisLine.LINE + """
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
              redis.call('SET', KEYS[1], string.format('%s - 0 %.0f %s ',
                         waiting, math.max(last, ARGV[2]), released), 'PX', ARGV[3])
            end
            return {ended}
            """);

    /**
     * Keys: the state of each grant. Arguments: memory ms, then owner, lease ms and token of each grant. Answers for each
     * 1 if it was renewed, 0 if the lock is not held, 2 if it has another owner.
     */
    public static final RedisScript RENEW = of("renew", LEFT + """
            local answers = {}
            for i = 1, #KEYS do
              local text, at = redis.call('GET', KEYS[i]), i * 3 - 1
              local waiting, who, memory, last, rest = string.match(text or '', '^([0-3]) (%S+) (%d+) (%d+) (.*)$')
              if not text or who == '-' or memory and left(KEYS[i], memory) <= 0 then
                answers[i] = 0
              elseif who == ARGV[at] then
                redis.call('PEXPIRE', KEYS[i], ARGV[at + 1] + ARGV[1])
                redis.call('SET', KEYS[i], string.format('%s %s %s %.0f %s',
                           waiting, who, ARGV[1], math.max(last, ARGV[at + 2]), rest), 'PX', ARGV[at + 1] + ARGV[1])
                answers[i] = 1
              else
                answers[i] = 2
              end
            end
            return answers
            """);

    /** All scripts of the mutex. */
    public static final List<RedisScript> ALL = List.of(ATTEMPT, RELEASE, RENEW);

    /**
     * The arguments of {@link #RELEASE}.
     *
     * @param token the grant's, or 0 if it is not known
     * @param memory the state's memory in ms
     * @param what what to end
     * @param which the id of the release, or the last round; empty with {@code place} and {@code both}
     */
    public static String[] end(String owner, long token, String memory, String what, String which) {
        String number = Long.toString(token);
        return new String[] {"0 " + owner + " " + memory + " " + number + " ", number, memory, what, which};
    }

    /** Makes a script. */
    static RedisScript of(String name, String body) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-1").digest(body.getBytes(StandardCharsets.UTF_8));
            return new RedisScript(name, body, HexFormat.of().formatHex(digest));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this Java runtime has no SHA-1, by which Redis names scripts", e);
        }
    }
}
