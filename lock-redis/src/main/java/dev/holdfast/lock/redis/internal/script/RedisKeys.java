package dev.holdfast.lock.redis.internal.script;

import dev.holdfast.lock.spi.LockName;
import java.util.Optional;

/**
 * The keys of one lock, all in one hash slot: {@code prefix:{name}} and suffixes. The name is percent-encoded, so that it
 * has no brace and distinct names have distinct keys. Immutable.
 *
 * @param lock the lock's state, all that an uncontended lock needs
 * @param queue its waiters by arrival
 * @param waiters its waiters' deadlines and how they are called
 */
public record RedisKeys(String lock, String queue, String waiters) {

    public static RedisKeys of(String prefix, String name) {
        String lock = prefix + ":{" + (isPlain(name) ? name : LockName.percentEncoded(name)) + "}";
        return new RedisKeys(lock, lock + ":q", lock + ":w");
    }

    /** The name of the lock whose state has that key, if it is one of this prefix. */
    public static Optional<String> name(String prefix, String key) {
        String before = prefix + ":{";
        return key.startsWith(before) && key.endsWith("}")
                ? LockName.percentDecoded(key.substring(before.length(), key.length() - 1))
                : Optional.empty();
    }

    /** Whether the encoding would change nothing: true for most names, without encoding them. */
    private static boolean isPlain(String name) {
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            if (!(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-')) {
                return false;
            }
        }
        return true;
    }

    public String limit() {
        return lock + ":n";
    }

    public String[] all() {
        return new String[] {lock, queue, waiters};
    }

    /** Also the key that says how many permits it has, if it is a semaphore. */
    public String[] withLimit() {
        return new String[] {lock, queue, waiters, limit()};
    }

    /** Checks a prefix: its keys must be distinguishable and its hash tags must be the names. */
    public static String requirePrefix(String prefix) {
        if (!prefix.matches("[A-Za-z0-9_.:/-]{1,128}")) {
            throw new IllegalArgumentException(
                    "prefix '" + prefix + "' must have 1 to 128 characters of A-Z a-z 0-9 _ . : / -");
        }
        return prefix;
    }
}
