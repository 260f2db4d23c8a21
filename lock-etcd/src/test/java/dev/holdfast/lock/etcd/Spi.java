package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Short ways to talk to a backend as the engine does. */
final class Spi {
    static final long TIMEOUT_MILLIS = 30_000;
    static final long WAIT_MILLIS = 60_000;
    private static final Identity IDENTITY = new Identity("spi", "host-1", 4711);

    private Spi() {}

    static AcquisitionId acquisition(String name) {
        return new AcquisitionId(name, OwnerId.random());
    }

    static AcquireRequest request(
            AcquisitionId acquisition, long leaseMillis, long waitMillis, @Nullable Ticket ticket, long timeoutMillis) {
        return new AcquireRequest(acquisition, leaseMillis, waitMillis, true, ticket, timeoutMillis, IDENTITY);
    }

    static AcquireResult tryAcquire(LockBackend backend, AcquisitionId acquisition, long leaseMillis, long waitMillis)
            throws Exception {
        return answer(backend.tryAcquire(request(acquisition, leaseMillis, waitMillis, null, TIMEOUT_MILLIS)));
    }

    static Grant grant(LockBackend backend, String name, long leaseMillis) throws Exception {
        return ((AcquireResult.Granted) tryAcquire(backend, acquisition(name), leaseMillis, 0)).grant();
    }

    static Ticket queueUp(LockBackend backend, AcquisitionId acquisition, long leaseMillis) throws Exception {
        AcquireResult.Busy busy = (AcquireResult.Busy) tryAcquire(backend, acquisition, leaseMillis, WAIT_MILLIS);
        return java.util.Objects.requireNonNull(busy.ticket());
    }

    static AcquireResult again(LockBackend backend, AcquisitionId acquisition, long leaseMillis, Ticket ticket)
            throws Exception {
        return answer(backend.tryAcquire(request(acquisition, leaseMillis, WAIT_MILLIS, ticket, TIMEOUT_MILLIS)));
    }

    static RenewResult renew(LockBackend backend, Grant grant) throws Exception {
        return answer(backend.renew(List.of(grant), TIMEOUT_MILLIS)).get(0);
    }

    static <T> T answer(CompletionStage<T> stage) throws Exception {
        try {
            return stage.toCompletableFuture().get(TIMEOUT_MILLIS + 5_000, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw e;
        } catch (TimeoutException e) {
            throw new AssertionError("no answer in time", e);
        }
    }
}
