package dev.holdfast.lock.spi;

import dev.holdfast.lock.Demand;
import org.jspecify.annotations.Nullable;

/**
 * A lock granted by the server. Immutable.
 *
 * @param acquisition the acquisition that holds it, with its demand
 * @param token strictly greater than that of every earlier grant of the name; from 1 to 2^53 - 1
 * @param leaseMillis the lease that the server granted, in milliseconds, counted from the request; the
 *     store may keep the grant longer, never shorter
 * @param slot for permits from 1 to the limit, the lowest that no other holder of the name has; a holder has one slot,
 *     however many permits it has, until the grant ends; otherwise 0
 * @param handle opaque data with which the backend finds the grant, or null
 */
public record Grant(
        AcquisitionId acquisition,
        long token,
        long leaseMillis,
        int slot,
        @Nullable Object handle) {

    /**
     * Validates.
     *
     * @param acquisition as above
     * @param token from 1 to 2^53 - 1
     * @param leaseMillis at least 1
     * @param slot at least 1 for permits, 0 otherwise
     * @param handle as above
     * @throws IllegalArgumentException if a component is out of range
     */
    public Grant {
        if (token < 1 || token >= 1L << 53) {
            throw new IllegalArgumentException(
                    "token " + token + " is out of range 1 to 2^53 - 1; the store's counter cannot be used");
        }
        if (leaseMillis < 1) {
            throw new IllegalArgumentException("the server granted a lease of " + leaseMillis + " ms");
        }
        if (acquisition.demand() instanceof Demand.Permits ? slot < 1 : slot != 0) {
            throw new IllegalArgumentException("the server granted slot " + slot + " for " + acquisition.demand());
        }
    }

    /**
     * Creates a grant without a slot.
     *
     * @param acquisition as above; its demand is not permits
     * @param token from 1 to 2^53 - 1
     * @param leaseMillis at least 1
     * @param handle as above
     * @throws IllegalArgumentException if a component is out of range
     */
    public Grant(AcquisitionId acquisition, long token, long leaseMillis, @Nullable Object handle) {
        this(acquisition, token, leaseMillis, 0, handle);
    }

    /**
     * Returns the granted demand.
     *
     * @return the acquisition's demand
     */
    public Demand demand() {
        return acquisition.demand();
    }
}
