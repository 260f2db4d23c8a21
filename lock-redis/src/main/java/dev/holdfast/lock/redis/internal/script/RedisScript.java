package dev.holdfast.lock.redis.internal.script;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;

/**
 * The scripts that decide everything, each atomic on the server. Each is a {@code .lua} file whose header says its keys, arguments
 * and answers; {@code parts/layout.lua} says what is stored, and how. This page has the rules.
 *
 * <p><b>Lease</b>: one key has all that an uncontended lock needs (see {@link RedisKeys}). It lives for the lease and then for
 * {@code memory} ms more, so the lock is held as long as more than {@code memory} is left of the key's life. Nothing else counts
 * time: a key that moves to another server of a cluster takes its life along, whatever that server's clock says.
 *
 * <p><b>Token</b>: {@code max(last + 1, server time in µs)}. It rises as long as the server keeps either the state or its
 * clock, so a state may expire, be flushed, or be lost in a failover. In 2026 it is 1.8 · 10^15, below 2^53.
 *
 * <p><b>Generation</b>: an attempt without its majority, or without its replicas, takes its grant back. That may arrive after the
 * owner's next attempt was granted, so it ends only grants of its own generation and of earlier ones.
 *
 * <p><b>Repeated releases</b>: the state has the ids of the last four. A release that the Redis client sends again, because its
 * reply was lost, gets the same answer.
 *
 * <p><b>Queue</b>: a waiter proves that it is alive by its attempts, which set its deadline. A release makes the first live waiter
 * the holder if that one accepts this, and notifies it (docs/decisions/0028). Otherwise it calls the first live waiter, as does
 * an attempt that finds the lock free and another waiter first in line. The called waiter has 700 ms to try; then the next one
 * is first. The server returns how many clients received a call. If none did, although the waiter was subscribed, its process is
 * gone: the waiter leaves the queue and the next one is called at once.
 *
 * <p><b>Order</b> is what the waiting side asked for: no attempt passes while a {@code fair} waiter is in the queue. Otherwise
 * a newcomer may pass until the first waiter has waited for 30 ms: cheap hand-overs under short contention, no starvation
 * under long contention.
 *
 * <p><b>Full memory</b>: Redis refuses commands that need memory until a script has written something. So whatever keeps or
 * ends a lock begins with PEXPIRE, which needs none. <b>No right to publish</b>: a client that polls may lack it; then a call
 * has no effect.
 *
 * <p><b>Without the queue</b>: with the state as the only key, attempts and releases leave the queue alone. While a slot of
 * a cluster moves, the cluster refuses scripts with several keys, but carries out those with one key where that key is.
 */
public record RedisScript(String name, String body, String digest) {
    /** What a script answers for a lock whose tokens are used up. */
    public static final String NO_TOKEN = "NOTOKEN";

    /** An attempt to acquire the lock alone. Where shares or permits matter, {@link RedisDemandScripts#ATTEMPT} decides. */
    public static final RedisScript ATTEMPT = of("attempt");

    /** Ends a grant, a place in the queue, or both; its arguments come from {@link #end}. */
    public static final RedisScript RELEASE = of("release");

    /** Renews the grants of several locks. */
    public static final RedisScript RENEW = of("renew");

    /** All scripts of the mutex. */
    public static final List<RedisScript> ALL = List.of(ATTEMPT, RELEASE, RENEW);

    /**
     * The arguments of {@link #RELEASE}.
     *
     * @param token the grant's, or 0 if it is not known
     * @param memory the state's memory in ms
     * @param what what to end
     * @param which the id of the release, or the last generation; empty with {@code place} and {@code both}
     */
    public static String[] end(String owner, long token, String memory, String what, String which) {
        String number = Long.toString(token);
        return new String[] {"0 " + owner + " " + memory + " " + number + " ", number, memory, what, which};
    }

    /** Reads a script from its file. */
    static RedisScript of(String name) {
        String body = ScriptText.read(name);
        try {
            byte[] digest = MessageDigest.getInstance("SHA-1").digest(body.getBytes(StandardCharsets.UTF_8));
            return new RedisScript(name, body, HexFormat.of().formatHex(digest));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this Java runtime has no SHA-1, by which Redis names scripts", e);
        }
    }
}
