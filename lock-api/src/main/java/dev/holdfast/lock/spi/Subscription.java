package dev.holdfast.lock.spi;

/** A subscription to calls from {@link LockBackend#subscribe}, which can be cancelled. */
@FunctionalInterface
public interface Subscription extends AutoCloseable {

    /** Nothing to end. */
    Subscription NONE = () -> {};

    /** Ends it. Idempotent, never blocks; a call that is under way may still arrive. */
    @Override
    void close();
}
