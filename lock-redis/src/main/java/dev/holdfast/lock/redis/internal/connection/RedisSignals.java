package dev.holdfast.lock.redis.internal.connection;

import dev.holdfast.lock.redis.internal.script.RedisKeys;

/** How a waiting process is called. Thread-safe, never blocks. */
public interface RedisSignals {

    /** The mode of waiters that cannot be called. */
    String DEAF = "-";

    /** Waiters are not called; they poll. */
    RedisSignals NONE = new RedisSignals() {
        @Override
        public boolean queues() {
            return false;
        }

        @Override
        public String mode(RedisKeys keys) {
            return DEAF;
        }

        @Override
        public String inbox() {
            return "";
        }

        @Override
        public void wanted(String owner, RedisKeys keys) {}

        @Override
        public void unwanted(String owner) {}

        @Override
        public void close() {}
    };

    /** Tells whether waiters stand in a queue and are called. */
    boolean queues();

    /**
     * How waiters of that lock are called now: {@code P} by PUBLISH, {@code S} by SPUBLISH; in lower case if a call that
     * no receiver got does not prove that the waiter is gone: the subscription may still be in flight, or the
     * server cannot count all receivers; {@link #DEAF} if they cannot be called, so that they poll.
     */
    String mode(RedisKeys keys);

    /** The last part of the channels on which calls for this process arrive: hexadecimal. */
    String inbox();

    /** Makes sure that calls for an acquisition that waits for that lock arrive from soon on. Idempotent. */
    void wanted(String owner, RedisKeys keys);

    /** Ends that acquisition's interest. Idempotent. */
    void unwanted(String owner);

    /**
     * A waiter has asked again by itself, and the answer says that the server had called it, without effect.
     * Once, that may be a coincidence. Several times in a row, without any call that arrives in between, mean that
     * the subscription's connection is dead.
     */
    default void missed() {}

    /** Ends the subscription. */
    void close();
}
