package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.spi.Attempt;
import dev.holdfast.lock.spi.AttemptRequest;
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

    static AttemptRequest request(Acquisition acquisition, long leaseMillis) {
        return new AttemptRequest(
                acquisition, leaseMillis, 0, false, null, TIMEOUT_MILLIS, Identity.ofThisProcess("a test"));
    }

    /** Announces to wait for as long as it takes. */
    static Attempt queueUp(LockBackend backend, Acquisition acquisition) {
        return answer(backend.attempt(new AttemptRequest(
                acquisition, 60_000, 60_000, false, null, TIMEOUT_MILLIS, Identity.ofThisProcess("a test"))));
    }

    static Acquisition acquisition(String name) {
        return new Acquisition(name, OwnerId.random());
    }

    static Attempt attempt(LockBackend backend, String name) {
        return answer(backend.attempt(request(acquisition(name), 60_000)));
    }

    static Grant granted(LockBackend backend, String name) {
        Attempt attempt = attempt(backend, name);
        if (attempt instanceof Attempt.Granted granted) {
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
