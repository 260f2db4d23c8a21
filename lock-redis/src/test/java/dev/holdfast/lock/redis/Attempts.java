package dev.holdfast.lock.redis;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.IDENTITY;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.TIMEOUT_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.Ticket;
import org.jspecify.annotations.Nullable;

/** Attempts in which the test decides about order and ticket; all else is with the testkit's driver. */
public final class Attempts {
    public static final long LEASE_MILLIS = 30_000;

    private Attempts() {}

    public static AcquireResult tryAcquire(
            LockBackend backend, AcquisitionId acquisition, long waitMillis, boolean fair, @Nullable Ticket ticket) {
        return answer(backend.tryAcquire(
                new AcquireRequest(acquisition, LEASE_MILLIS, waitMillis, fair, ticket, TIMEOUT_MILLIS, IDENTITY)));
    }

    public static AcquireResult.Busy busy(
            LockBackend backend, AcquisitionId acquisition, long waitMillis, boolean fair, @Nullable Ticket ticket) {
        return (AcquireResult.Busy) tryAcquire(backend, acquisition, waitMillis, fair, ticket);
    }

    public static Grant grant(LockBackend backend, AcquisitionId acquisition) {
        return ((AcquireResult.Granted) tryAcquire(backend, acquisition, 0, false, null)).grant();
    }
}
