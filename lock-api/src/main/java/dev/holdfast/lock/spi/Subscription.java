package dev.holdfast.lock.spi;

/** A standing interest that can be ended. */
@FunctionalInterface
public interface Subscription extends AutoCloseable {

    /** Nothing to end. */
    Subscription NONE = () -> {};

    /** Ends it. Idempotent, never blocks; a call that is under way may still arrive. */
    @Override
    void close();
}
