package dev.holdfast.lock;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Options for acquiring and keeping a lock. Immutable and compared by value; created by {@link #builder()}.
 */
public final class LockOptions {
    private static final LockOptions DEFAULTS = builder().build();

    private final Duration lease;
    private final Renewal renewal;
    private final @Nullable Duration maxHold;
    private final Duration minHold;
    private final boolean fair;
    private final boolean interruptOnLoss;

    private LockOptions(Builder builder) {
        LockOptions from = builder.from;
        lease = OptionRules.or(builder.lease, from == null ? Duration.ofSeconds(15) : from.lease);
        renewal = OptionRules.or(builder.renewal, from == null ? Renewal.AUTO : from.renewal);
        maxHold = builder.maxHold == null && from != null ? from.maxHold : builder.maxHold;
        minHold = OptionRules.or(builder.minHold, from == null ? Duration.ZERO : from.minHold);
        fair = OptionRules.or(builder.fair, from != null && from.fair);
        interruptOnLoss = OptionRules.or(builder.interruptOnLoss, from != null && from.interruptOnLoss);
    }

    /**
     * Returns the defaults: a lease of 15 s with automatic renewal, no limits on the hold, no strict fairness.
     *
     * @return the defaults
     */
    public static LockOptions defaults() {
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
     * Returns a builder initialised with these options. Each value may be set once; values that are not set are kept. A
     * {@code maxHold} cannot be removed; to have none, start from {@link #builder()}.
     *
     * @return a new builder, independent of these options
     */
    public Builder toBuilder() {
        return new Builder(this);
    }

    /**
     * Returns how long a grant lasts without renewal, and so how long a crashed holder blocks others. A store that binds
     * grants to sessions may take longer: ZooKeeper one more tick of its servers and at least its minimum session time-out,
     * Consul up to three times as long.
     *
     * @return the lease, positive; default 15 s
     */
    public Duration lease() {
        return lease;
    }

    /**
     * Returns whether the lease is renewed in the background.
     *
     * @return the mode; default {@link Renewal#AUTO}
     */
    public Renewal renewal() {
        return renewal;
    }

    /**
     * Returns the maximum duration of one hold. After it the lock is lost with {@link LossReason#MAX_HOLD}, so that a hung
     * thread does not keep the lock forever.
     *
     * @return the bound, or empty for none (default)
     */
    public Optional<Duration> maxHold() {
        return Optional.ofNullable(maxHold);
    }

    /**
     * Returns the minimum time for which the lock stays taken after it was acquired, even if it is released earlier. It is
     * meant for jobs that are shorter than the clock skew between the hosts that start them. {@code unlock} does not wait for
     * it. If the client is closed earlier, the lock stays taken until its lease expires. Exceptions: a row lock of a database
     * ({@code JdbcStrategy.ROW_LOCK}) is free immediately, and on ZooKeeper the lock ends with the process, or with a
     * connection that the application closes.
     *
     * @return the time, zero for none (default)
     */
    public Duration minHold() {
        return minHold;
    }

    /**
     * Returns whether processes acquire the lock strictly in the order of their requests. This also disables the hand-off
     * between threads of one process. Backends without a queue of waiters (databases, Consul, memcached, Redlock, Redis with
     * polling waiters) refuse it.
     *
     * @return true if strictly fair; default false
     */
    public boolean fair() {
        return fair;
    }

    /**
     * Returns whether the thread that holds the lock by {@code lock} is interrupted when the lease is lost. A {@link Lease}
     * has no thread to interrupt: add an action to {@link Lease#lost()} instead.
     *
     * @return true if so; default false
     */
    public boolean interruptOnLoss() {
        return interruptOnLoss;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other == this
                || other instanceof LockOptions that
                        && lease.equals(that.lease)
                        && renewal == that.renewal
                        && Objects.equals(maxHold, that.maxHold)
                        && minHold.equals(that.minHold)
                        && fair == that.fair
                        && interruptOnLoss == that.interruptOnLoss;
    }

    @Override
    public int hashCode() {
        return Objects.hash(lease, renewal, maxHold, minHold, fair, interruptOnLoss);
    }

    @Override
    public String toString() {
        return "LockOptions[lease=" + lease + ", renewal=" + renewal + ", maxHold=" + maxHold + ", minHold=" + minHold
                + ", fair=" + fair + ", interruptOnLoss=" + interruptOnLoss + "]";
    }

    /** Builds {@link LockOptions}; each value may be set once. Not thread-safe. */
    public static final class Builder {
        private final @Nullable LockOptions from;
        private @Nullable Duration lease;
        private @Nullable Renewal renewal;
        private @Nullable Duration maxHold;
        private @Nullable Duration minHold;
        private @Nullable Boolean fair;
        private @Nullable Boolean interruptOnLoss;

        private Builder(@Nullable LockOptions from) {
            this.from = from;
        }

        /**
         * Sets the lease.
         *
         * @param lease how long a grant lasts without renewal; at least the backend's minimum
         * @return this
         * @throws NullPointerException if null
         * @throws IllegalArgumentException if zero, negative or beyond 24 hours
         * @throws IllegalStateException if already set
         */
        public Builder lease(Duration lease) {
            this.lease = OptionRules.once("lease", this.lease, OptionRules.lease(lease));
            return this;
        }

        /**
         * Sets the renewal mode.
         *
         * @param renewal the mode
         * @return this
         * @throws NullPointerException if null
         * @throws IllegalStateException if already set
         */
        public Builder renewal(Renewal renewal) {
            this.renewal = OptionRules.once("renewal", this.renewal, renewal);
            return this;
        }

        /**
         * Sets the maximum duration of one hold.
         *
         * @param maxHold the bound
         * @return this
         * @throws NullPointerException if null
         * @throws IllegalArgumentException if zero or negative
         * @throws IllegalStateException if already set
         */
        public Builder maxHold(Duration maxHold) {
            this.maxHold = OptionRules.once("maxHold", this.maxHold, OptionRules.positive("maxHold", maxHold));
            return this;
        }

        /**
         * Sets the minimum time for which the lock stays taken after it was acquired.
         *
         * @param minHold the time; zero for none
         * @return this
         * @throws NullPointerException if null
         * @throws IllegalArgumentException if negative
         * @throws IllegalStateException if already set
         */
        public Builder minHold(Duration minHold) {
            this.minHold = OptionRules.once("minHold", this.minHold, OptionRules.notNegative("minHold", minHold));
            return this;
        }

        /**
         * Sets whether processes acquire the lock strictly in the order of their requests.
         *
         * @param fair true for strict order; {@link LockClient#lock(String, LockOptions)} refuses it if the backend has no
         *     queue
         * @return this
         * @throws IllegalStateException if already set
         */
        public Builder fair(boolean fair) {
            this.fair = OptionRules.once("fair", this.fair, fair);
            return this;
        }

        /**
         * Sets whether the thread that holds the lock by {@code lock} is interrupted when the lease is lost. If the interrupt
         * is still pending when the thread calls {@code unlock}, it is cleared, since the guarded section is over.
         *
         * @param interruptOnLoss true to interrupt
         * @return this
         * @throws IllegalStateException if already set
         */
        public Builder interruptOnLoss(boolean interruptOnLoss) {
            this.interruptOnLoss = OptionRules.once("interruptOnLoss", this.interruptOnLoss, interruptOnLoss);
            return this;
        }

        /**
         * Builds the options.
         *
         * @return immutable options
         * @throws IllegalArgumentException if minHold is longer than maxHold, or than a lease that is not renewed
         */
        public LockOptions build() {
            LockOptions options = new LockOptions(this);
            Duration longest = options.maxHold;
            if (longest != null && options.minHold.compareTo(longest) > 0) {
                throw new IllegalArgumentException(
                        "minHold " + options.minHold + " is longer than maxHold " + longest + "; lower one of them");
            }
            if (options.renewal == Renewal.NONE && options.minHold.compareTo(options.lease) > 0) {
                throw new IllegalArgumentException("minHold " + options.minHold + " is longer than the lease "
                        + options.lease + " and renewal is NONE; lengthen the lease");
            }
            return options;
        }
    }
}
