package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.Lease;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The locked calls that a thread, or a reactive subscription, is in: the innermost first. Immutable. */
public final class CurrentHolds {
    private static final ThreadLocal<@Nullable CurrentHolds> THREAD = new ThreadLocal<>();

    private final Hold hold;
    private final @Nullable CurrentHolds outer;

    CurrentHolds(Hold hold, @Nullable CurrentHolds outer) {
        this.hold = hold;
        this.outer = outer;
    }

    /**
     * Returns the lease of the innermost locked call that the calling thread is in.
     *
     * @return a view of it, which refuses to be closed; empty outside of locked calls
     */
    public static Optional<Lease> ofThread() {
        CurrentHolds innermost = THREAD.get();
        return innermost == null ? Optional.empty() : Optional.of(innermost.view());
    }

    static @Nullable CurrentHolds get() {
        return THREAD.get();
    }

    /** Enters a call; {@link #leave} undoes it. */
    static CurrentHolds enter(Hold hold) {
        CurrentHolds entered = new CurrentHolds(hold, THREAD.get());
        THREAD.set(entered);
        return entered;
    }

    void leave() {
        if (outer == null) {
            THREAD.remove();
        } else {
            THREAD.set(outer);
        }
    }

    /** Returns what the guarded code sees. */
    Lease view() {
        return hold.view();
    }

    /** Takes a share of the lease that one of these calls has on that lock; null if none has. */
    static Hold.@Nullable OfLease share(@Nullable CurrentHolds holds, LockCall call) {
        for (CurrentHolds at = holds; at != null; at = at.outer) {
            if (at.hold instanceof Hold.OfLease own && own.retainFor(call)) {
                return own;
            }
        }
        return null;
    }
}
