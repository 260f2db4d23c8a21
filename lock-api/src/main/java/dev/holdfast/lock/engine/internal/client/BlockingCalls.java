package dev.holdfast.lock.engine.internal.client;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.engine.internal.hold.HeldGrant;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.hold.Release;
import dev.holdfast.lock.engine.internal.queue.EngineContext;
import dev.holdfast.lock.engine.internal.queue.LocalHolds;
import dev.holdfast.lock.engine.internal.queue.Waiter;
import dev.holdfast.lock.engine.internal.runtime.Failures;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.support.Answers;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Calls whose thread waits for the store's answer for at most the request time-out, even if it is interrupted. An interrupt does
 * not cut a release short, and is kept for the caller. The exception is an interrupt by the engine that reports a loss: it is
 * cleared with the last hold, so that it does not affect unrelated code.
 */
public final class BlockingCalls {
    private static final long DOUBT_PAUSE_NANOS = 50_000_000;

    private final EngineContext engine;
    private final Function<Hold, Lease> leases;

    BlockingCalls(EngineContext engine) {
        this.engine = engine;
        this.leases = hold -> new EngineLease(engine, this, hold, true);
    }

    /** Makes the lease of a hold; one for all locks of the client. */
    Function<Hold, Lease> leases() {
        return leases;
    }

    /**
     * Ends a {@code lock} hold of the calling thread, and waits for the server's answer if it was the last hold.
     *
     * @param reading whether it is a read hold under the thread's own exclusive lock
     */
    void unlock(LocalHolds holds, boolean reading) {
        Thread thread = Thread.currentThread();
        boolean interrupted = Thread.interrupted() && !holds.takeInterruptOfLoss(thread);
        try {
            awaitRelease(holds.unlock(thread, reading));
        } finally {
            interruptIf(interrupted);
        }
    }

    /** Ends a hold, and waits for the server's answer if it was the last one. */
    void end(Hold hold) {
        end(hold, false);
    }

    private void end(Hold hold, boolean reading) {
        boolean interrupted = Thread.interrupted() && !hold.lock.takeInterruptOfLoss(hold);
        try {
            awaitRelease(hold.lock.end(hold, reading, true));
        } finally {
            interruptIf(interrupted);
        }
    }

    /**
     * Closes several leases, the last one first, and waits for all releases together, for at most the request time-out. A backend
     * that blocks releases on this thread, unless that takes long; the others then follow on client threads.
     *
     * @throws LeaseLostException if leases were lost; further losses are suppressed exceptions of the first
     */
    void closeAll(List<? extends Lease> leases) {
        long startNanos = System.nanoTime();
        long timeoutNanos = engine.requestTimeoutNanos();
        boolean interrupted = Thread.interrupted();
        Throwable failure = null;
        List<Release> releases = new ArrayList<>(leases.size());
        for (int i = leases.size() - 1; i >= 0; i--) {
            try {
                boolean here = System.nanoTime() - startNanos < timeoutNanos / 4;
                Release release = ((EngineLease) leases.get(i)).beginClose(here);
                if (release != null) {
                    releases.add(release);
                }
            } catch (RuntimeException | Error e) { // the others are closed all the same
                failure = with(failure, e);
            }
        }
        for (Release release : releases) {
            if (await(release.outcome, timeoutNanos - (System.nanoTime() - startNanos))
                    && release.outcome.join() == ReleaseResult.NOT_HELD) {
                failure = with(failure, release.hold.lostException());
            }
        }
        interruptIf(interrupted);
        if (failure instanceof Error error) {
            throw error;
        }
        if (failure instanceof RuntimeException exception) {
            throw exception;
        }
    }

    private static Throwable with(@Nullable Throwable first, Throwable next) {
        if (first == null || first == next) { // the JVM may throw one OutOfMemoryError twice
            return next;
        }
        first.addSuppressed(next);
        return first;
    }

    /**
     * Ensures that a hold is valid before it is returned to the caller. Its lease may have ended meanwhile, or its grant may be
     * in doubt, as that of a re-entered hold can be. In that case the store is asked for as long as the caller may wait.
     *
     * @throws LeaseLostException if the lease has ended; the hold is ended as well
     * @throws LockUnavailableException if the store did not confirm the grant in time; the hold is ended as well
     */
    public void ensureStillValid(Hold hold, Waiter waiter) {
        HeldGrant heldGrant = hold.heldGrant;
        boolean asked = false;
        while (hold.state == Hold.State.HELD
                && heldGrant.isDoubted()
                && heldGrant.remainingNanos(engine.ticker()) > 0) {
            if (asked && (waiter.triesOnce() || waiter.remainingNanos(engine.nanos()) == 0)) {
                end(hold, waiter.reading);
                throw Failures.inDoubt(heldGrant.name(), hold.token);
            }
            if (asked) {
                CompletableFuture<Void> pause = new CompletableFuture<>();
                engine.timer().after(DOUBT_PAUSE_NANOS, () -> pause.complete(null));
                await(pause);
            }
            renew(heldGrant);
            asked = true;
        }
        if (hold.state == Hold.State.LOST || heldGrant.remainingNanos(engine.ticker()) <= 0) {
            end(hold, waiter.reading);
        }
    }

    /** Renews one lease now. */
    void renew(HeldGrant heldGrant) {
        await(engine.renewals().renewNow(heldGrant).toCompletableFuture());
    }

    private void awaitRelease(@Nullable Release release) {
        if (release != null && await(release.outcome) && release.outcome.join() == ReleaseResult.NOT_HELD) {
            throw release.hold.lostException();
        }
    }

    private static void interruptIf(boolean interrupted) {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Waits for at most the request time-out and keeps the interrupt flag; returns true if the future has completed. Uses the
     * machine's own clock rather than the injected one, as a thread waits in real time.
     */
    boolean await(CompletableFuture<?> future) {
        return await(future, engine.requestTimeoutNanos());
    }

    /** Likewise, for another time. */
    boolean await(CompletableFuture<?> future, long timeoutNanos) {
        boolean interrupted = false;
        long deadlineNanos = System.nanoTime() + timeoutNanos;
        try {
            while (true) {
                try {
                    return Answers.await(future, deadlineNanos - System.nanoTime());
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            interruptIf(interrupted);
        }
    }
}
