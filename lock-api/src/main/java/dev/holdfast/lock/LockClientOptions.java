package dev.holdfast.lock;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Options of a {@link LockClient}. Immutable; created by {@link #builder()}. */
public final class LockClientOptions {
    private static final LockClientOptions DEFAULTS = builder().build();

    private final String who;
    private final LockOptions lockOptions;
    private final Duration requestTimeout;
    private final Duration unavailableTimeout;
    private final int handOffLimit;
    private final Duration handOffTime;
    private final boolean leakTracing;

    private LockClientOptions(Builder builder) {
        LockClientOptions from = builder.from;
        who = OptionRules.or(builder.who, from == null ? "" : from.who);
        lockOptions = OptionRules.or(builder.lockOptions, from == null ? LockOptions.defaults() : from.lockOptions);
        requestTimeout =
                OptionRules.or(builder.requestTimeout, from == null ? Duration.ofSeconds(3) : from.requestTimeout);
        unavailableTimeout = OptionRules.or(
                builder.unavailableTimeout, from == null ? Duration.ofSeconds(30) : from.unavailableTimeout);
        handOffLimit = OptionRules.or(builder.handOffLimit, from == null ? 1000 : from.handOffLimit);
        handOffTime = OptionRules.or(builder.handOffTime, from == null ? Duration.ofMillis(10) : from.handOffTime);
        leakTracing = OptionRules.or(builder.leakTracing, from != null && from.leakTracing);
    }

    /**
     * Returns the defaults.
     *
     * @return the defaults
     */
    public static LockClientOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Returns a new builder.
     *
     * @return a builder with nothing set
     */
    public static Builder builder() {
        return new Builder(null);
    }

    /**
     * Returns a builder initialised with these options. Each value may be set once; values that are not set are kept.
     *
     * @return a new builder, independent of these options
     */
    public Builder toBuilder() {
        return new Builder(this);
    }

    /**
     * Returns the name that {@link LockClient#holder} reports for this client.
     *
     * @return free text, by default empty
     */
    public String who() {
        return who;
    }

    /**
     * Returns the options of locks that are created without options.
     *
     * @return the options
     */
    public LockOptions lockOptions() {
        return lockOptions;
    }

    /**
     * Returns how long one request to the server may take. It is also the minimum time that a timed acquisition waits for a
     * store that does not answer.
     *
     * <p>Limitation: a JDBC driver that does not return from a call blocks the calling thread beyond this time, even if that
     * thread is interrupted. Other threads and {@link LockClient#close()} do not wait for it. Asynchronous acquisitions share
     * two threads, and so do renewals. Two calls that never return therefore block all asynchronous acquisitions of this
     * client, or cost it all its leases.
     *
     * @return the time-out; default 3 s
     */
    public Duration requestTimeout() {
        return requestTimeout;
    }

    /**
     * Returns how long an acquisition without a deadline is retried while the store fails.
     *
     * @return the time; default 30 s
     */
    public Duration unavailableTimeout() {
        return unavailableTimeout;
    }

    /**
     * Returns how many times in a row the lock may be handed to the next thread of this client without a round trip. It is
     * also the number of readers sharing a grant that may pass a waiting writer of this client.
     *
     * @return the number; 0 disables the hand-off; default 1000
     */
    public int handOffLimit() {
        return handOffLimit;
    }

    /**
     * Returns how long after the server's grant a lock may be handed to the next thread of this client; the limit prevents
     * starvation of other processes. It also limits how long readers may pass a waiting writer of this client.
     *
     * @return the time; default 10 ms
     */
    public Duration handOffTime() {
        return handOffTime;
    }

    /**
     * Returns whether each lease records the stack trace of its acquisition, for the warning about a lease that was dropped
     * without being closed. Costs some microseconds per acquisition.
     *
     * @return true if so; default false
     */
    public boolean leakTracing() {
        return leakTracing;
    }

    @Override
    public String toString() {
        return "LockClientOptions[who=" + who + ", lockOptions=" + lockOptions + ", requestTimeout=" + requestTimeout
                + ", unavailableTimeout=" + unavailableTimeout + ", handOffLimit=" + handOffLimit + ", handOffTime="
                + handOffTime + ", leakTracing=" + leakTracing + "]";
    }

    /** Builds {@link LockClientOptions}; each value may be set once. Not thread-safe. */
    public static final class Builder {
        private final @Nullable LockClientOptions from;
        private @Nullable String who;
        private @Nullable LockOptions lockOptions;
        private @Nullable Duration requestTimeout;
        private @Nullable Duration unavailableTimeout;
        private @Nullable Integer handOffLimit;
        private @Nullable Duration handOffTime;
        private @Nullable Boolean leakTracing;

        private Builder(@Nullable LockClientOptions from) {
            this.from = from;
        }

        /**
         * Sets the name that {@link LockClient#holder} reports for this client.
         *
         * @param who free text of at most 128 characters, without control characters
         * @return this
         * @throws NullPointerException if null
         * @throws IllegalArgumentException if it is longer or has control characters
         * @throws IllegalStateException if already set
         */
        public Builder who(String who) {
            OptionRules.given("who", who);
            if (who.length() > 128 || who.chars().anyMatch(Character::isISOControl)) {
                throw new IllegalArgumentException("who must have at most 128 characters and no control characters");
            }
            this.who = OptionRules.once("who", this.who, who);
            return this;
        }

        /**
         * Sets the options of locks that are created without options.
         *
         * @param lockOptions the options
         * @return this
         * @throws NullPointerException if null
         * @throws IllegalStateException if already set
         */
        public Builder lockOptions(LockOptions lockOptions) {
            this.lockOptions = OptionRules.once("lockOptions", this.lockOptions, lockOptions);
            return this;
        }

        /**
         * Sets how long one request may take. It should be below a third of the lease, so that a renewal without an answer
         * can be repeated; a client whose time-out is longer than one of its leases logs one warning.
         *
         * @param requestTimeout the time-out
         * @return this
         * @throws NullPointerException if null
         * @throws IllegalArgumentException if zero or negative
         * @throws IllegalStateException if already set
         */
        public Builder requestTimeout(Duration requestTimeout) {
            this.requestTimeout = OptionRules.once(
                    "requestTimeout", this.requestTimeout, OptionRules.positive("requestTimeout", requestTimeout));
            return this;
        }

        /**
         * Sets how long an acquisition without a deadline is retried while the store fails.
         *
         * @param unavailableTimeout the time
         * @return this
         * @throws NullPointerException if null
         * @throws IllegalArgumentException if zero or negative
         * @throws IllegalStateException if already set
         */
        public Builder unavailableTimeout(Duration unavailableTimeout) {
            this.unavailableTimeout = OptionRules.once(
                    "unavailableTimeout",
                    this.unavailableTimeout,
                    OptionRules.positive("unavailableTimeout", unavailableTimeout));
            return this;
        }

        /**
         * Sets how many times in a row the lock may be handed to the next thread of this client.
         *
         * @param handOffLimit from 0 (never) to 1023
         * @return this
         * @throws IllegalArgumentException if out of range
         * @throws IllegalStateException if already set
         */
        public Builder handOffLimit(int handOffLimit) {
            if (handOffLimit < 0 || handOffLimit > 1023) {
                throw new IllegalArgumentException("handOffLimit must be from 0 to 1023, got " + handOffLimit);
            }
            this.handOffLimit = OptionRules.once("handOffLimit", this.handOffLimit, handOffLimit);
            return this;
        }

        /**
         * Sets how long after the server's grant a lock may be handed to the next thread of this client.
         *
         * @param handOffTime the time
         * @return this
         * @throws NullPointerException if null
         * @throws IllegalArgumentException if zero or negative
         * @throws IllegalStateException if already set
         */
        public Builder handOffTime(Duration handOffTime) {
            this.handOffTime =
                    OptionRules.once("handOffTime", this.handOffTime, OptionRules.positive("handOffTime", handOffTime));
            return this;
        }

        /**
         * Sets whether leases record the stack trace of their acquisition.
         *
         * @param leakTracing true to record it
         * @return this
         * @throws IllegalStateException if already set
         */
        public Builder leakTracing(boolean leakTracing) {
            this.leakTracing = OptionRules.once("leakTracing", this.leakTracing, leakTracing);
            return this;
        }

        /**
         * Builds the options.
         *
         * @return immutable options
         */
        public LockClientOptions build() {
            return new LockClientOptions(this);
        }
    }
}
