package dev.holdfast.examples.sale;

import java.util.OptionalLong;

/**
 * How a sale ended.
 *
 * @param stock how many there were
 * @param left how many are left according to the shop
 * @param sold how many were sold
 * @param seconds how long it took
 * @param p50Millis the median wait for the lock; 0 without a lock
 * @param p99Millis the 99th percentile of the waits for the lock; 0 without a lock
 * @param takeOverNanos the time from the kill to the next sale; empty without a kill or a take-over
 * @param refused writes that the shop refused because of their token
 * @param lost leases that ended before the seller released them
 */
record SaleResult(
        int stock,
        int left,
        int sold,
        double seconds,
        double p50Millis,
        double p99Millis,
        OptionalLong takeOverNanos,
        int refused,
        int lost) {

    /** How many were sold that the shop did not have. */
    int oversold() {
        return Math.max(0, sold - (stock - left));
    }
}
