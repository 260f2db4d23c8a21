package dev.holdfast.lock.engine.internal.client;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.queue.AsyncWaiter;
import dev.holdfast.lock.engine.internal.queue.EngineContext;
import dev.holdfast.lock.engine.internal.queue.LockEntry;
import dev.holdfast.lock.engine.internal.queue.LockEntryRegistry;
import dev.holdfast.lock.engine.internal.queue.Waiter;
import dev.holdfast.lock.engine.internal.runtime.Durations;
import dev.holdfast.lock.engine.internal.runtime.Failures;
import dev.holdfast.lock.spi.LockName;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Acquires for a caller, whatever it asks for: on a thread that waits, or with a future. Immutable; thread-safe. */
final class Acquirer {
    private final EngineContext engine;
    private final LockEntryRegistry entries;
    private final BlockingCalls calls;
    private final String name;
    private final LockOptions options;

    Acquirer(EngineContext engine, LockEntryRegistry entries, BlockingCalls calls, String name, LockOptions options) {
        this.engine = engine;
        this.entries = entries;
        this.calls = calls;
        this.name = name;
        this.options = options;
    }

    String name() {
        return name;
    }

    LockOptions options() {
        return options;
    }

    EngineContext engine() {
        return engine;
    }

    LockEntryRegistry entries() {
        return entries;
    }

    BlockingCalls calls() {
        return calls;
    }

    LockTimeoutException timedOut(long timeoutNanos) {
        return AsyncWaiter.timedOut(name, timeoutNanos);
    }

    long timeoutNanos(Duration timeout) {
        Objects.requireNonNull(timeout, "timeout");
        if (timeout.isNegative()) {
            throw new IllegalArgumentException(
                    "lock '" + LockName.printable(name) + "': timeout must not be negative, got " + timeout);
        }
        return Durations.nanos(timeout);
    }

    /**
     * Acquires asynchronously.
     *
     * @param entrance as for {@link #obtain}
     * @param leases makes the lease that completes the future
     */
    CompletableFuture<Lease> acquireAsync(
            Duration timeout, Function<Waiter, LockEntry> entrance, Function<Hold, Lease> leases) {
        return acquireAsync(timeoutNanos(timeout), entrance, leases);
    }

    /** The same, for nanoseconds or {@link Waiter#FOREVER}. */
    CompletableFuture<Lease> acquireAsync(
            long timeoutNanos, Function<Waiter, LockEntry> entrance, Function<Hold, Lease> leases) {
        entries.requireOpen(name);
        AsyncWaiter waiter = new AsyncWaiter(
                name, options, timeoutNanos, engine.nanos(), engine.runtime().callbacks(), leases);
        try {
            LockEntry entry = entrance.apply(waiter);
            if (!waiter.triesOnce() && !waiter.waitsForever()) {
                waiter.timeout(engine.timer().after(timeoutNanos, () -> entry.timeOutSoon(waiter)));
            }
            waiter.future.whenComplete((lease, error) -> entry.cancel(waiter));
        } catch (Error e) {
            waiter.takeBack();
            throw e;
        }
        return waiter.future;
    }

    /** Acquires for the calling thread and ignores interrupts; returns null if another owner holds the lock. */
    @Nullable Hold obtainUninterruptibly(long timeoutNanos, boolean asLease, Function<Waiter, LockEntry> entrance) {
        try {
            return obtain(timeoutNanos, asLease, false, entrance);
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    /**
     * Acquires for the calling thread; returns null if another owner holds the lock.
     *
     * @param timeoutNanos how long to wait: zero for one attempt, or {@link Waiter#FOREVER}
     * @param asLease whether a lease owns the hold, rather than the thread
     * @param interruptible whether an interrupt ends the wait
     * @param entrance submits the waiter to its entry, which may decide it at once
     */
    @Nullable Hold obtain(long timeoutNanos, boolean asLease, boolean interruptible, Function<Waiter, LockEntry> entrance)
            throws InterruptedException {
        if (interruptible && Thread.interrupted()) {
            throw new InterruptedException("lock '" + LockName.printable(name) + "': interrupted before acquiring");
        }
        ThreadWaiter waiter = new ThreadWaiter(options, asLease, timeoutNanos, engine.nanos());
        try {
            LockEntry entry = entrance.apply(waiter);
            waiter.await(entry, engine.ticker(), interruptible);
        } catch (Error e) {
            waiter.takeBack();
            throw e;
        }
        if (waiter.state == Waiter.State.FAILED) {
            throw Failures.here(Objects.requireNonNull(waiter.failure));
        }
        Hold hold = waiter.state == Waiter.State.GRANTED ? waiter.hold : null;
        if (hold != null) {
            calls.ensureStillValid(hold, waiter);
        }
        return hold;
    }

    /** Makes the lease of a hold; if that fails, nobody has the hold, and it ends. */
    <T extends Lease> T own(Hold hold, Function<Hold, T> leases) {
        try {
            return leases.apply(hold);
        } catch (Error e) {
            hold.unreturned = true;
            hold.lock.endDropped(hold);
            throw e;
        }
    }
}
