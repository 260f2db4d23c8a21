package dev.holdfast.lock.redis;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
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

    static AcquireResult tryAcquire(
            LockBackend backend, AcquisitionId acquisition, long waitMillis, boolean fair, @Nullable Ticket ticket)
            throws Exception {
        return get(backend.tryAcquire(new AcquireRequest(acquisition, LEASE, waitMillis, fair, ticket, TIMEOUT, ME)));
    }

    static Grant grant(LockBackend backend, AcquisitionId acquisition) throws Exception {
        return ((AcquireResult.Granted) tryAcquire(backend, acquisition, 0, false, null)).grant();
    }

    static Grant grant(LockBackend backend, AcquisitionId acquisition, Duration lease) throws Exception {
        AcquireResult attempt =
                get(backend.tryAcquire(new AcquireRequest(acquisition, lease.toMillis(), 0, false, null, TIMEOUT, ME)));
        return ((AcquireResult.Granted) attempt).grant();
    }

    static AcquireResult.Busy busy(
            LockBackend backend, AcquisitionId acquisition, long waitMillis, boolean fair, @Nullable Ticket ticket)
            throws Exception {
        return (AcquireResult.Busy) tryAcquire(backend, acquisition, waitMillis, fair, ticket);
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
