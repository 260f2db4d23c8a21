package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.spi.OwnerId;
import java.util.concurrent.ConcurrentHashMap;

/** The attempts whose statements have begun and not ended, and whether they were abandoned since. Thread-safe. */
final class AttemptsUnderWay {
    private final ConcurrentHashMap<OwnerId, Count> counts = new ConcurrentHashMap<>();

    void begin(OwnerId owner) {
        counts.merge(owner, new Count(1, false), (old, one) -> new Count(old.attempts + 1, old.abandoned));
    }

    /** Whether it was abandoned while it was under way. */
    boolean end(OwnerId owner) {
        boolean[] abandoned = {false};
        counts.computeIfPresent(owner, (key, old) -> {
            abandoned[0] = old.abandoned;
            return old.attempts == 1 ? null : new Count(old.attempts - 1, old.abandoned);
        });
        return abandoned[0];
    }

    /** To be called before what is on the server is removed. */
    void abandon(OwnerId owner) {
        counts.computeIfPresent(owner, (key, old) -> new Count(old.attempts, true));
    }

    private record Count(int attempts, boolean abandoned) {}
}
