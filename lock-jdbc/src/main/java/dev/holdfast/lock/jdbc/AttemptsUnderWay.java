package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.spi.OwnerId;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * The attempts whose transactions have begun and not ended, or had no answer, so that they may still be committed; and whether
 * they were abandoned since. Thread-safe.
 */
final class AttemptsUnderWay {
    private static final int MANY = 1_000;
    private static final long FORGET_NANOS = TimeUnit.MINUTES.toNanos(10);

    private final ConcurrentHashMap<OwnerId, Entry> entries = new ConcurrentHashMap<>();

    void begin(OwnerId owner) {
        if (entries.size() > MANY) {
            long now = System.nanoTime();
            entries.values().removeIf(each -> each.attempts == 0 && now - each.sinceNanos > FORGET_NANOS);
        }
        entries.merge(
                owner,
                new Entry(1, false, false, System.nanoTime()),
                (old, one) -> new Entry(old.attempts + 1, old.unanswered, old.abandoned, one.sinceNanos));
    }

    boolean isAbandoned(OwnerId owner) {
        Entry entry = entries.get(owner);
        return entry != null && entry.abandoned;
    }

    /** Whether it was abandoned while it was under way. */
    boolean end(OwnerId owner, boolean answered) {
        boolean[] abandoned = {false};
        entries.computeIfPresent(owner, (key, old) -> {
            abandoned[0] = old.abandoned;
            boolean unanswered = old.unanswered || !answered;
            boolean over = old.attempts == 1 && (old.abandoned || !unanswered);
            return over ? null : new Entry(old.attempts - 1, unanswered, old.abandoned, old.sinceNanos);
        });
        return abandoned[0];
    }

    /**
     * To be called before what is on the server is removed.
     *
     * @return whether an attempt has had no answer
     */
    boolean abandon(OwnerId owner) {
        boolean[] unanswered = {false};
        entries.computeIfPresent(owner, (key, old) -> {
            unanswered[0] = old.unanswered;
            return old.attempts == 0 ? null : new Entry(old.attempts, old.unanswered, true, old.sinceNanos);
        });
        return unanswered[0];
    }

    private record Entry(int attempts, boolean unanswered, boolean abandoned, long sinceNanos) {}
}
