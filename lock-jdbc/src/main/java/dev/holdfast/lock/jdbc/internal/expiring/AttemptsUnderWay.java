package dev.holdfast.lock.jdbc.internal.expiring;

import dev.holdfast.lock.spi.OwnerId;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The attempts whose transactions have begun and not ended, or had no answer, so that they may still be committed; and what
 * became of their acquisitions since. While an acquisition is being released, nothing else may remove its row: the release
 * would find nothing, and report a loss. Thread-safe.
 */
final class AttemptsUnderWay {
    private static final int MANY = 1_000;
    private static final long FORGET_NANOS = TimeUnit.MINUTES.toNanos(10);

    private enum State {
        ACTIVE,
        RELEASING,
        ENDED
    }

    private final ConcurrentHashMap<OwnerId, Entry> entries = new ConcurrentHashMap<>();
    private final LongSupplier nanoTime;

    AttemptsUnderWay() {
        this(System::nanoTime);
    }

    AttemptsUnderWay(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    void begin(OwnerId owner) {
        long now = nanoTime.getAsLong();
        if (entries.size() > MANY) {
            entries.values().removeIf(each -> each.attempts == 0 && now - each.sinceNanos > FORGET_NANOS);
        }
        entries.merge(
                owner,
                new Entry(1, false, State.ACTIVE, now),
                (old, one) -> new Entry(old.attempts + 1, old.unanswered, old.state, one.sinceNanos));
    }

    /** Whether it was abandoned, or its release has been answered: whatever an attempt does has to be undone. */
    boolean isEnded(OwnerId owner) {
        Entry entry = entries.get(owner);
        return entry != null && entry.state == State.ENDED;
    }

    /** An attempt has ended; true if its acquisition had ended before. */
    boolean end(OwnerId owner, boolean answered) {
        boolean[] ended = {false};
        entries.computeIfPresent(owner, (key, old) -> {
            ended[0] = old.state == State.ENDED;
            // It is unknown whether it was before or behind the release.
            boolean unanswered = old.unanswered || !answered || old.state == State.RELEASING;
            boolean over = old.attempts == 1 && (ended[0] || !unanswered);
            return over ? null : new Entry(old.attempts - 1, unanswered, old.state, old.sinceNanos);
        });
        return ended[0];
    }

    /** To be called before the release is sent. From then on until it is answered, an attempt undoes nothing. */
    void releasing(OwnerId owner) {
        entries.computeIfPresent(
                owner,
                (key, old) -> old.state == State.ACTIVE
                        ? new Entry(old.attempts, old.unanswered, State.RELEASING, old.sinceNanos)
                        : old);
    }

    /**
     * To be called before what is on the server is removed, or when its release has been answered.
     *
     * @return whether an attempt has had no answer
     */
    boolean ended(OwnerId owner) {
        boolean[] unanswered = {false};
        entries.computeIfPresent(owner, (key, old) -> {
            unanswered[0] = old.unanswered;
            return old.attempts == 0 ? null : new Entry(old.attempts, old.unanswered, State.ENDED, old.sinceNanos);
        });
        return unanswered[0];
    }

    private record Entry(int attempts, boolean unanswered, State state, long sinceNanos) {}
}
