package dev.holdfast.lock.spi;

/** A subscription to calls from {@link LockBackend#subscribe}, which can be cancelled. */
@FunctionalInterface
public interface Subscription extends AutoCloseable {

    /** A subscription that does nothing. */
    Subscription NONE = () -> {};

    /** Ends the subscription. Idempotent; never blocks. A callback that has already started may still arrive. */
    @Override
    void close();
}
