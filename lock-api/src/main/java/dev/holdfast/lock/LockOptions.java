package dev.holdfast.lock;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * How a client acquires and keeps a lock. Immutable and comparable by value; made by {@link #builder()}.
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
     * Returns the defaults: a lease of 15 s, renewed automatically, held as long as it takes, not strictly fair.
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
     * Returns a builder that starts from these options: what is not set keeps its value, and each value may be set once
     * more. A {@code maxHold} stays set; to have none, start from {@link #builder()}.
     *
     * @return a new builder, independent of these options
     */
    public Builder toBuilder() {
        return new Builder(this);
    }

    /**
     * Returns how long a grant lasts without renewal: the time for which a crashed holder blocks others. A store that binds
     * grants to sessions may take longer: ZooKeeper by a tick of its servers and never less than its shortest session, Consul
     * up to three times as long.
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
     * Returns the longest time that one hold may last; after it, the lock is lost with {@link LossReason#MAX_HOLD}, so
     * that a hung thread cannot renew for ever.
     *
     * @return the bound, or empty for none (default)
     */
    public Optional<Duration> maxHold() {
        return Optional.ofNullable(maxHold);
    }

    /**
     * Returns the shortest time that the lock stays taken after it was acquired, even if it is released earlier: for
     * jobs that are shorter than the clock skew between the hosts that start them. {@code unlock} does not wait for it.
     * Closing the client early leaves the lock to its lease: it stays taken until that ends. Exceptions: a row lock of a database
     * ({@code JdbcStrategy.ROW_LOCK}) is free at once, and on ZooKeeper a lock ends with the process, or with a connection that
     * the application closes.
     *
     * @return the time, zero for none (default)
     */
    public Duration minHold() {
        return minHold;
    }

    /**
     * Returns whether processes get the lock strictly in the order of their requests, which also disables the hand-off
     * between threads of one process. A backend whose waiters do not queue (databases, Redlock, Redis where waiters poll)
     * refuses it.
     *
     * @return true if strictly fair; default false
     */
    public boolean fair() {
        return fair;
    }

    /**
     * Returns whether the thread that holds the lock by {@code lock} is interrupted when the lease is lost. A {@link Lease}
     * has no thread to interrupt: attach to {@link Lease#lost()}.
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
         * @param lease how long a grant lasts without renewal; at least the backend's floor
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
         * Sets the longest time that one hold may last.
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
         * Sets the shortest time that the lock stays taken.
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
         * Sets whether processes get the lock strictly in order.
         *
         * @param fair true for strict order; {@link LockClient#lock(String, LockOptions)} refuses it where there is none
         * @return this
         * @throws IllegalStateException if already set
         */
        public Builder fair(boolean fair) {
            this.fair = OptionRules.once("fair", this.fair, fair);
            return this;
        }

        /**
         * Sets whether the thread that holds the lock by {@code lock} is interrupted when the lease is lost. If it is still
         * interrupted when it calls {@code unlock}, that interrupt is taken back, since the section is over.
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
