package dev.holdfast.lock.engine;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.LockName;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Turns whatever a backend fails with into the exceptions of the API. */
final class Failures {
    private Failures() {}

    /** Calls a backend; whatever it throws becomes a failed stage, so that no request is left without an end. */
    static <T> CompletionStage<T> call(Supplier<CompletionStage<T>> request) {
        try {
            return request.get();
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** The failure as the user is to see it, naming the lock. */
    static LockException of(String name, @Nullable Throwable error) {
        Throwable cause = error;
        while (cause instanceof CompletionException && cause.getCause() != null) {
            cause = cause.getCause();
        }
        String seen = cause == null ? "no answer" : String.valueOf(cause.getMessage());
        String lock = "lock '" + LockName.printable(name) + "'";
        String text = seen.startsWith(lock) ? seen : lock + ": " + seen;
        if (cause instanceof LockUnavailableException) {
            return new LockUnavailableException(text, cause);
        }
        if (cause instanceof LockConfigurationException) {
            return new LockConfigurationException(text, cause);
        }
        if (cause instanceof LockClosedException) {
            return new LockClosedException(text, cause);
        }
        if (cause instanceof LockException) {
            return new LockException(text, cause);
        }
        return new LockException(
                "lock '" + name + "': the backend failed unexpectedly: " + cause + "; this is a bug, please report it",
                cause);
    }

    /** The same failure, with the stack of the caller that it is thrown at. */
    static LockException here(LockException failure) {
        String text = String.valueOf(failure.getMessage());
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

    static LockUnavailableException stalled(String name, long timeoutNanos) {
        return new LockUnavailableException("lock '" + name + "': the store did not answer within "
                + Durations.text(timeoutNanos) + "; check that it is reachable");
    }

    /** The thread holds the lock, but the store has not confirmed it since it was last in doubt. */
    static LockUnavailableException inDoubt(String name, long token) {
        return new LockUnavailableException("lock '" + LockName.printable(name) + "' (token " + token
                + "): held, but in doubt, and the store did not confirm it in time; check that it is reachable");
    }

    /** An executor did not take a task, as where no thread can be started. */
    static LockUnavailableException noThread(String name, Throwable cause) {
        return new LockUnavailableException(
                "lock '" + LockName.printable(name) + "': no thread could be had to ask the store: " + cause
                        + "; raise the limit of threads or of memory",
                cause);
    }

    static IllegalMonitorStateException notHeld(String name, Thread thread) {
        return new IllegalMonitorStateException(
                "lock '" + LockName.printable(name) + "': thread '" + thread.getName()
                        + "' has no lock() hold to unlock; unlock on the thread that locked, once for each lock(), and close leases");
    }

    static IllegalStateException waitsForItself(String name, long token, Thread thread) {
        return new IllegalStateException(
                "lock '" + LockName.printable(name) + "' (token " + token + "): thread '" + thread.getName()
                        + "' holds it by lock() and asks for a lease, which is never re-entrant: it would wait for itself;"
                        + " unlock first, call lock() again, or use held()");
    }

    static IllegalStateException ended(String name, long token) {
        return new IllegalStateException("lock '" + LockName.printable(name) + "' (token " + token
                + "): this hold has ended; acquire the lock again");
    }

    static LockClosedException closed(String name) {
        return new LockClosedException(
                "lock '" + LockName.printable(name) + "': the client is closed; connect a new one");
    }
}
