package dev.holdfast.lock.spring;

import dev.holdfast.lock.Lease;
import org.jspecify.annotations.Nullable;

/**
 * What runs with a lock and has a result.
 *
 * @param <T> the result
 * @param <E> what it throws
 */
@FunctionalInterface
public interface LockCallback<T extends @Nullable Object, E extends Exception> {

    /**
     * Runs.
     *
     * @param lease a view of the lease, which refuses to be closed
     * @return the result
     * @throws E as it likes
     */
    T run(Lease lease) throws E;
}
