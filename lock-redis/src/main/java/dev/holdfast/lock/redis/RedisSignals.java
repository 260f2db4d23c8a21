package dev.holdfast.lock.redis;

/** How a waiting process is called. Thread-safe, never blocks. */
interface RedisSignals {

    /** Nobody is called; waiters poll. */
    RedisSignals NONE = new RedisSignals() {
        @Override
        public boolean queues() {
            return false;
        }

        @Override
        public String command() {
            return "PUBLISH";
        }

        @Override
        public String channel(RedisKeys keys) {
            return "";
        }

        @Override
        public void wanted(RedisKeys keys) {}

        @Override
        public void unwanted(RedisKeys keys) {}

        @Override
        public void close() {}
    };

    /** Tells whether waiters stand in a queue and are called. */
    boolean queues();

    /** The command that calls, {@code PUBLISH} or {@code SPUBLISH}. */
    String command();

    /** The channel on which calls for waiters of that lock arrive. */
    String channel(RedisKeys keys);

    /** Makes sure that calls for that lock arrive from soon on; one more waiter. */
    void wanted(RedisKeys keys);

    /** One waiter less for that lock. */
    void unwanted(RedisKeys keys);

    /** Ends the subscription. */
    void close();
}
