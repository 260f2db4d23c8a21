package dev.holdfast.lock.spi;

import dev.holdfast.lock.Demand;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An attempt to acquire a lock. Immutable.
 *
 * @param acquisition the acquisition that makes the attempt, and its demand
 * @param leaseMillis the requested lease, in milliseconds
 * @param waitMillis how long the caller will wait if the lock is busy, in milliseconds; zero if it does not wait, in which
 *     case nothing may be left on the server; {@link Long#MAX_VALUE} for no limit
 * @param fair whether strict order between processes is requested
 * @param ticket the ticket of the same acquisition's last {@link AcquireResult.Busy}, or null for the first attempt
 * @param timeoutMillis how long the engine waits for this attempt's answer, in milliseconds
 * @param identity the requesting process, to be stored with the grant for {@link LockBackend#holder}
 * @param onHandOver receives the grant if the server makes this acquisition the holder after it has answered this attempt
 *     with {@link AcquireResult.Busy}. The engine counts the grant's lease from the time at which this attempt was sent,
 *     however late the call comes. So the backend reports no longer lease than is certain from that time on; it may be
 *     shorter than the requested one, and is renewed soon. Called at most once, from any thread, and only for the
 *     acquisition's latest attempt; null if the caller does not accept a hand-over. See {@link BackendInfo#handsOver}
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
     * Creates a request of a caller that does not accept a hand-over.
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
     * Returns the demand, whose kind is one of {@link BackendInfo#demands}.
     *
     * @return the acquisition's demand
     */
    public Demand demand() {
        return acquisition.demand();
    }
}
