package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import org.jspecify.annotations.Nullable;

/**
 * What came of an attempt. Immutable.
 *
 * @param granted the grant, or null
 * @param seen the row as it was, if it was not granted
 */
record RowAnswer(AcquireResult.@Nullable Granted granted, SeenRow seen) {

    static RowAnswer granted(AcquireRequest request, long token) {
        return new RowAnswer(
                new AcquireResult.Granted(new Grant(request.acquisition(), token, request.leaseMillis(), null)),
                SeenRow.UNKNOWN);
    }

    static RowAnswer refused(SeenRow seen) {
        return new RowAnswer(null, seen);
    }
}
