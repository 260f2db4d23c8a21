package dev.holdfast.lock.engine.internal.runtime;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.text.Printable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Converts the failures of a backend to the exceptions of the API. */
public final class Failures {
    private Failures() {}

    /** Returns the failure as the user sees it. Backends do not name the lock in their messages; it is added here. */
    public static LockException of(String name, @Nullable Throwable error) {
        Throwable cause = error == null ? null : FailureTranslator.unwrap(error);
        return cause instanceof LockException known
                ? copy(known, lock(name) + ": " + Printable.messageOf(known))
                : new LockException(
                        lock(name) + ": the backend failed unexpectedly: "
                                + (cause == null ? "no answer" : Printable.ofFailure(cause))
                                + "; this is a bug, please report it",
                        cause);
    }

    /** Returns the same failure with the stack trace of the calling thread. */
    public static LockException here(LockException failure) {
        return copy(failure, String.valueOf(failure.getMessage()));
    }

    private static LockException copy(LockException failure, String text) {
        if (failure instanceof LockUnavailableException) {
            return new LockUnavailableException(text, failure);
        }
        if (failure instanceof LockConfigurationException) {
            return new LockConfigurationException(text, failure);
        }
        if (failure instanceof LockClosedException) {
            return new LockClosedException(text, failure);
        }
        if (failure instanceof LeaseLostException lost) {
            return new LeaseLostException(text, lost.reason(), lost.token(), lost);
        }
        return new LockException(text, failure);
    }

    private static String lock(String name) {
        return "lock '" + LockName.printable(name) + "'";
    }

    public static LockUnavailableException stalled(String name, long timeoutNanos) {
        return new LockUnavailableException(lock(name) + ": the store did not answer within "
                + Durations.text(timeoutNanos) + "; check that it is reachable");
    }

    /** The lease had expired when its grant arrived. */
    public static LockUnavailableException grantedTooLate(String name, long tookNanos, long leaseMillis) {
        return new LockUnavailableException("lock '" + name + "': the store took " + Durations.text(tookNanos)
                + " to grant a lease of " + leaseMillis + " ms, which has expired meanwhile; lengthen the lease");
    }

    /** The thread holds the lock, but the store has not confirmed the grant in time. */
    public static LockUnavailableException inDoubt(String name, long token) {
        return new LockUnavailableException(lock(name) + " (token " + token
                + "): held, but in doubt, and the store did not confirm it in time; check that it is reachable");
    }

    /** An executor rejected a task, for example because no thread could be started. */
    public static LockUnavailableException noThread(String name, Throwable cause) {
        return new LockUnavailableException(
                lock(name) + ": no thread could be started to call the store: " + Printable.ofFailure(cause)
                        + "; raise the limit of threads or of memory",
                cause);
    }

    public static IllegalMonitorStateException notHeld(String name, Thread thread) {
        return new IllegalMonitorStateException(
                lock(name) + ": thread '" + thread.getName()
                        + "' has no lock() hold to unlock; unlock on the thread that locked, once for each lock(), and close leases");
    }

    public static IllegalStateException waitsForItself(String name, long token, Thread thread) {
        return new IllegalStateException(lock(name) + " (token " + token + "): thread '" + thread.getName()
                + "' holds it by lock() and requests a lease, which is never re-entrant: it would wait for itself;"
                + " unlock first, call lock() again, or use held()");
    }

    public static IllegalStateException readsAlready(String name, long token, Thread thread) {
        return new IllegalStateException(lock(name) + " (token " + token + "): thread '" + thread.getName()
                + "' holds the read lock and requests the write lock: it would wait for itself, and two such readers would"
                + " block each other; unlock the read lock first");
    }

    /** The store has a different limit than the request. */
    public static LockConfigurationException otherLimit(String name, Demand asked, int stored) {
        return new OtherLimitException(
                lock(name) + ": requested " + asked + ", but the store has a limit of " + stored + " for this name;"
                        + " use the same limit everywhere, change it with changeLimit(), or use withStoredLimit()",
                stored);
    }

    /** The store's limit is neither the expected old limit nor the new one. */
    public static LockConfigurationException notTheLimit(String name, int from, int to, int stored) {
        return new LockConfigurationException(lock(name) + ": cannot change the limit from " + from + " to " + to
                + ": the store's limit is " + stored + "; change it from that limit, if that is intended");
    }

    /** Creates a value, and adds the lock's name to the message if the value is refused. */
    public static <T> T named(String name, Supplier<T> value) {
        try {
            return value.get();
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(lock(name) + ": " + e.getMessage(), e);
        }
    }

    public static IllegalStateException ended(String name, long token) {
        return new IllegalStateException(
                lock(name) + " (token " + token + "): this hold has ended; acquire the lock again");
    }

    public static LockClosedException closed(String name) {
        return new LockClosedException(lock(name) + ": the client is closed; connect a new one");
    }
}
