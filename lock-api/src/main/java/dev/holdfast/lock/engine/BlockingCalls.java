package dev.holdfast.lock.engine;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.ReleaseResult;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Calls whose thread waits for the store's answer: for at most the request time-out, whether or not it is interrupted. An
 * interrupt neither cuts short a release nor is lost by it, unless it was the engine's own, to tell of a loss: once the last
 * hold has ended it must not hit what comes next.
 */
final class BlockingCalls {
    private static final long DOUBT_PAUSE_NANOS = 50_000_000;

    private final EngineContext engine;

    BlockingCalls(EngineContext engine) {
        this.engine = engine;
    }

    /**
     * Ends a {@code lock} hold of the calling thread, and waits for the server's answer if it was the last hold.
     *
     * @param reading whether it is one to read, under a lock that the thread has alone
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
            awaitRelease(hold.lock.end(hold, reading));
        } finally {
            interruptIf(interrupted);
        }
    }

    /**
     * Makes sure that what is about to be returned as held is held: a lease may have ended on its way here, or be in doubt,
     * as a re-entered one can be. Then the store is asked, for as long as the caller may wait.
     *
     * @throws LeaseLostException if it has ended; the hold is ended as well
     * @throws LockUnavailableException if the doubt did not end in time; likewise
     */
    void ensureStillValid(Hold hold, Waiter waiter) {
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
     * Waits for at most the request time-out, keeping the interrupt flag; true if the future has completed. A thread
     * waits in real time: so this counts by the machine's own clock, not by the injected one.
     */
    boolean await(CompletableFuture<?> future) {
        boolean interrupted = false;
        long deadlineNanos = System.nanoTime() + engine.requestTimeoutNanos();
        try {
            while (!future.isDone()) {
                try {
                    future.get(Math.max(0, deadlineNanos - System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (ExecutionException e) {
                    return true;
                } catch (TimeoutException e) {
                    return false;
                }
            }
            return true;
        } finally {
            interruptIf(interrupted);
        }
    }
}
