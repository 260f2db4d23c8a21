package dev.holdfast.lock.spi;

import dev.holdfast.lock.Demand;
import org.jspecify.annotations.Nullable;

/**
 * One attempt to acquire a lock. Immutable.
 *
 * @param acquisition whose attempt it is, and what it asks for
 * @param leaseMillis the lease asked for, in milliseconds
 * @param waitMillis for how long the caller is going to wait if the lock is busy, in milliseconds; zero: not at all,
 *     so that nothing may be left on the server; {@link Long#MAX_VALUE}: without limit
 * @param fair whether strict order between processes is asked for
 * @param ticket from the last {@link AcquireResult.Busy} of the same acquisition, or null at the first attempt
 * @param timeoutMillis how long the engine waits for this attempt's answer
 * @param identity who asks, to be kept with the grant for {@link LockBackend#holder}
 */
public record AcquireRequest(
        AcquisitionId acquisition,
        long leaseMillis,
        long waitMillis,
        boolean fair,
        @Nullable Ticket ticket,
        long timeoutMillis,
        Identity identity) {

    /**
     * Returns what is asked for: one of {@link BackendInfo#demands}.
     *
     * @return the acquisition's demand
     */
    public Demand demand() {
        return acquisition.demand();
    }
}
