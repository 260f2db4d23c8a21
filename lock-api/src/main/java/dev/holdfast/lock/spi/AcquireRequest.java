package dev.holdfast.lock.spi;

import dev.holdfast.lock.Demand;
import java.util.function.Consumer;
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
 * @param onHandOver takes the grant if the server makes this acquisition the holder after it has answered this attempt with
 *     {@link AcquireResult.Busy}: the grant's lease counts from when this attempt was sent, however late this comes, so it is no longer
 *     than what is certain from then on. It may be shorter than what was asked for, and is renewed soon. For the acquisition's latest
 *     attempt only, at most once, from any thread; null if the caller does not take it. See {@link BackendInfo#handsOver}
 */
public record AcquireRequest(
        AcquisitionId acquisition,
        long leaseMillis,
        long waitMillis,
        boolean fair,
        @Nullable Ticket ticket,
        long timeoutMillis,
        Identity identity,
        @Nullable Consumer<Grant> onHandOver) {

    /**
     * Makes a request of a caller to whom nothing is handed over.
     *
     * @param acquisition as above
     * @param leaseMillis as above
     * @param waitMillis as above
     * @param fair as above
     * @param ticket as above
     * @param timeoutMillis as above
     * @param identity as above
     */
    public AcquireRequest(
            AcquisitionId acquisition,
            long leaseMillis,
            long waitMillis,
            boolean fair,
            @Nullable Ticket ticket,
            long timeoutMillis,
            Identity identity) {
        this(acquisition, leaseMillis, waitMillis, fair, ticket, timeoutMillis, identity, null);
    }

    /**
     * Returns what is asked for: one of {@link BackendInfo#demands}.
     *
     * @return the acquisition's demand
     */
    public Demand demand() {
        return acquisition.demand();
    }
}
