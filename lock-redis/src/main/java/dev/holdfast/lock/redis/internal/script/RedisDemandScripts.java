package dev.holdfast.lock.redis.internal.script;

import java.util.List;

/**
 * The scripts of shares and permits, of everything that stands in one line with them, and of queries of holders. The mutex's own
 * scripts are {@link RedisScript}'s. Stateless.
 *
 * <p>While shares or permits are held, the state has a record of all holders. So one key has all entries, which are lost, kept
 * and moved together, and the scripts of the mutex see them in what they read anyway.
 */
public final class RedisDemandScripts {

    /** An attempt with any demand. */
    public static final RedisScript ATTEMPT = RedisScript.of("attempt-in-line");

    /** Ends a share or permits; takes the arguments of {@link RedisScript#RELEASE}. */
    public static final RedisScript RELEASE = RedisScript.of("release-in-line");

    /** Renews shares and permits of several locks; takes the arguments of {@link RedisScript#RENEW}. */
    public static final RedisScript RENEW = RedisScript.of("renew-in-line");

    /** Who holds a lock. */
    public static final RedisScript HOLDERS = RedisScript.of("holders");

    /** Who holds a lock, and who waits for it. */
    public static final RedisScript LISTED = RedisScript.of("listed");

    /** Changes the limit of the permits. */
    public static final RedisScript CHANGE_LIMIT = RedisScript.of("change-limit");

    /** All of them. */
    public static final List<RedisScript> ALL = List.of(ATTEMPT, RELEASE, RENEW, HOLDERS, LISTED, CHANGE_LIMIT);

    private RedisDemandScripts() {}
}
