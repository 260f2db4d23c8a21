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
        public void wanted(String owner, RedisKeys keys) {}

        @Override
        public void unwanted(String owner) {}

        @Override
        public void close() {}
    };

    /** Tells whether waiters stand in a queue and are called. */
    boolean queues();

    /** The command that calls, {@code PUBLISH} or {@code SPUBLISH}. */
    String command();

    /** The channel on which calls for waiters of that lock arrive. */
    String channel(RedisKeys keys);

    /** Makes sure that calls for an acquisition that waits for that lock arrive from soon on. Idempotent. */
    void wanted(String owner, RedisKeys keys);

    /** Ends that acquisition's interest. Idempotent. */
    void unwanted(String owner);

    /** Ends the subscription. */
    void close();
}
