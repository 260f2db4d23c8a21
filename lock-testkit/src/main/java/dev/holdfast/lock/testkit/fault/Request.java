package dev.holdfast.lock.testkit.fault;

/** The requests of a backend. */
public enum Request {
    /** {@link dev.holdfast.lock.spi.LockBackend#tryAcquire}. */
    ATTEMPT,
    /** {@link dev.holdfast.lock.spi.LockBackend#abandon}. */
    ABANDON,
    /** {@link dev.holdfast.lock.spi.LockBackend#renew}. */
    RENEW,
    /** {@link dev.holdfast.lock.spi.LockBackend#release}. */
    RELEASE,
    /** {@link dev.holdfast.lock.spi.LockBackend#holder} or {@link dev.holdfast.lock.spi.LockBackend#holders}. */
    HOLDER,
    /** {@link dev.holdfast.lock.spi.LockBackend#changeLimit}. */
    LIMIT
}
