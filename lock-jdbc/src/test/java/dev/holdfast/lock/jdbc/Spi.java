package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/** Calls a backend and takes its answer apart. */
final class Spi {
    static final long TIMEOUT_MILLIS = 5_000;

    private Spi() {}

    static AcquireRequest request(AcquisitionId acquisition, long leaseMillis) {
        return new AcquireRequest(
                acquisition, leaseMillis, 0, false, null, TIMEOUT_MILLIS, Identity.ofThisProcess("a test"));
    }

    /** Announces to wait for as long as it takes. */
    static AcquireResult queueUp(LockBackend backend, AcquisitionId acquisition) {
        return answer(backend.tryAcquire(new AcquireRequest(
                acquisition, 60_000, 60_000, false, null, TIMEOUT_MILLIS, Identity.ofThisProcess("a test"))));
    }

    static AcquisitionId acquisition(String name) {
        return new AcquisitionId(name, OwnerId.random());
    }

    static AcquireResult tryAcquire(LockBackend backend, String name) {
        return answer(backend.tryAcquire(request(acquisition(name), 60_000)));
    }

    static Grant granted(LockBackend backend, String name) {
        AcquireResult attempt = tryAcquire(backend, name);
        if (attempt instanceof AcquireResult.Granted granted) {
            return granted.grant();
        }
        throw new AssertionError("'" + name + "' was not granted: " + attempt);
    }

    static ReleaseResult release(LockBackend backend, Grant grant) {
        return answer(backend.release(grant, TIMEOUT_MILLIS));
    }

    static List<RenewResult> renew(LockBackend backend, List<Grant> grants) {
        return answer(backend.renew(grants, TIMEOUT_MILLIS));
    }

    static <T> T answer(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw e;
        }
    }
}
