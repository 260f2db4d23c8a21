package dev.holdfast.lock.spring;

import dev.holdfast.lock.Lease;

/**
 * What runs with a lock and has no result.
 *
 * @param <E> what it throws
 */
@FunctionalInterface
public interface LockAction<E extends Exception> {

    /**
     * Runs.
     *
     * @param lease a view of the lease, which refuses to be closed
     * @throws E as it likes
     */
    void run(Lease lease) throws E;
}
