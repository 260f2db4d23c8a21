package dev.holdfast.lock.redis;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Which attempt of an acquisition has the last word, where an attempt may take its own grant back. An attempt that was
 * given up may still end after the next one has begun, so attempts have rounds, which rise:
 *
 * <ul>
 *   <li>The state on the server has the round of the last attempt, and an attempt takes back grants of its own and of
 *       earlier rounds only, whenever that arrives.
 *   <li>An attempt grants only if no later one has begun, which may have taken back what this one was granted.
 *   <li>Once an attempt has granted, none takes anything back until the acquisition has ended.
 * </ul>
 *
 * Thread-safe, never blocks.
 */
final class Rounds {
    private static final long GRANTED = Long.MAX_VALUE;

    /** The latest round of each acquisition that is asked for, or {@link #GRANTED}. */
    private final Map<String, Long> latest = new ConcurrentHashMap<>();

    /** An attempt is about to be made. Each ends with {@link #grants} or {@link #takesBack}. */
    void begin(String owner, long round) {
        latest.merge(owner, round, Math::max);
    }

    /** Whether an attempt that has its grant may say so. */
    boolean grants(String owner, long round) {
        Long known = latest.computeIfPresent(owner, (key, last) -> last == round ? GRANTED : last);
        return known != null && known == GRANTED;
    }

    /** Whether an attempt that has ended without a grant, or with one that does not count, may take it back. */
    boolean takesBack(String owner, long round) {
        Long known = latest.computeIfPresent(owner, (key, last) -> last == round ? null : last);
        return known == null || known != GRANTED;
    }

    /** The acquisition has ended. */
    void end(String owner) {
        latest.remove(owner);
    }

    int size() {
        return latest.size();
    }
}
