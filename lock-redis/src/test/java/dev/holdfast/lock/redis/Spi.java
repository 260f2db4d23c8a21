package dev.holdfast.lock.redis;

import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.spi.Attempt;
import dev.holdfast.lock.spi.AttemptRequest;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Calls of a backend, waited for. */
final class Spi {
    static final long TIMEOUT = 10_000;
    static final long LEASE = 30_000;
    static final Identity ME = new Identity("me", "my-host", 42);

    private Spi() {}

    static Attempt attempt(
            LockBackend backend, Acquisition acquisition, long waitMillis, boolean fair, @Nullable Ticket ticket)
            throws Exception {
        return get(backend.attempt(new AttemptRequest(acquisition, LEASE, waitMillis, fair, ticket, TIMEOUT, ME)));
    }

    static Grant grant(LockBackend backend, Acquisition acquisition) throws Exception {
        return ((Attempt.Granted) attempt(backend, acquisition, 0, false, null)).grant();
    }

    static Grant grant(LockBackend backend, Acquisition acquisition, Duration lease) throws Exception {
        Attempt attempt =
                get(backend.attempt(new AttemptRequest(acquisition, lease.toMillis(), 0, false, null, TIMEOUT, ME)));
        return ((Attempt.Granted) attempt).grant();
    }

    static Attempt.Busy busy(
            LockBackend backend, Acquisition acquisition, long waitMillis, boolean fair, @Nullable Ticket ticket)
            throws Exception {
        return (Attempt.Busy) attempt(backend, acquisition, waitMillis, fair, ticket);
    }

    static ReleaseResult release(LockBackend backend, Grant grant) throws Exception {
        return get(backend.release(grant, TIMEOUT));
    }

    static <T> T get(CompletionStage<T> stage) throws Exception {
        try {
            return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw (Exception) e.getCause();
        }
    }

    /** Why a stage that has ended has failed. */
    static Throwable failure(CompletableFuture<?> ended) {
        return ended.handle((value, failure) -> failure).join();
    }
}
