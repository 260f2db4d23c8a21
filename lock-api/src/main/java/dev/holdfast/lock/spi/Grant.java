package dev.holdfast.lock.spi;

import org.jspecify.annotations.Nullable;

/**
 * A lock granted by the server. Immutable.
 *
 * @param acquisition whose it is
 * @param token strictly greater than that of every earlier grant of the name; from 1 to 2^53 - 1
 * @param leaseMillis the lease that the server granted, in milliseconds, counted from the request; the
 *     store may keep the grant longer, never shorter
 * @param handle whatever the backend needs to find it again, or null
 */
public record Grant(
        AcquisitionId acquisition,
        long token,
        long leaseMillis,
        @Nullable Object handle) {

    /**
     * Validates.
     *
     * @param acquisition as above
     * @param token from 1 to 2^53 - 1
     * @param leaseMillis at least 1
     * @param handle as above
     * @throws IllegalArgumentException if a component is out of its range
     */
    public Grant {
        if (token < 1 || token >= 1L << 53) {
            throw new IllegalArgumentException(
                    "token " + token + " is out of range 1 to 2^53 - 1; the store's counter cannot be used");
        }
        if (leaseMillis < 1) {
            throw new IllegalArgumentException("the server granted a lease of " + leaseMillis + " ms");
        }
    }
}
