package dev.holdfast.lock.spi;

import dev.holdfast.lock.Demand;
import java.util.EnumSet;
import java.util.Set;

/** Constant facts about a backend, made by {@link #named}. Immutable. */
public final class BackendInfo {
    private final String name;
    private final boolean blocking;
    private final boolean fifo;
    private final long minLeaseMillis;
    private final long pollMinMillis;
    private final long pollMaxMillis;
    private final boolean ordered;
    private final boolean expiring;
    private final boolean listing;
    private final boolean handsOver;
    private final Set<Demand.Kind> demands;
    private final String whyNotShared;

    private BackendInfo(Builder builder) {
        name = builder.name;
        blocking = builder.blocking;
        fifo = builder.fifo;
        minLeaseMillis = builder.minLeaseMillis;
        pollMinMillis = builder.pollMinMillis;
        pollMaxMillis = builder.pollMaxMillis;
        ordered = builder.ordered;
        expiring = builder.expiring;
        listing = builder.listing;
        handsOver = builder.handsOver;
        demands = Set.copyOf(builder.demands);
        whyNotShared = builder.whyNotShared;
    }

    /**
     * Returns a builder for a backend's description. The minimum lease and both poll intervals are required. All flags
     * default to false, and the only demand to an exclusive one.
     *
     * @param name a short name for messages, such as {@code redis}
     * @return a builder
     */
    public static Builder named(String name) {
        return new Builder(name);
    }

    /**
     * Returns a builder initialised with these facts, for a backend that differs in some of them.
     *
     * @return a new builder
     */
    public Builder toBuilder() {
        return named(name)
                .blocking(blocking)
                .fifo(fifo)
                .minLeaseMillis(minLeaseMillis)
                .pollMinMillis(pollMinMillis)
                .pollMaxMillis(pollMaxMillis)
                .whyNotShared(whyNotShared)
                .ordered(ordered)
                .expiring(expiring)
                .listing(listing)
                .handsOver(handsOver)
                .demands(demands);
    }

    /**
     * Returns the name.
     *
     * @return short name for messages
     */
    public String name() {
        return name;
    }

    /**
     * Returns whether calls do their work on the calling thread.
     *
     * @return see {@link Builder#blocking}
     */
    public boolean blocking() {
        return blocking;
    }

    /**
     * Returns whether waiting processes can be served in strict order.
     *
     * @return see {@link Builder#fifo}
     */
    public boolean fifo() {
        return fifo;
    }

    /**
     * Returns the minimum lease that the backend supports.
     *
     * @return milliseconds, at least 1
     */
    public long minLeaseMillis() {
        return minLeaseMillis;
    }

    /**
     * Returns the pause before the first retry of a busy lock.
     *
     * @return milliseconds, at least 1
     */
    public long pollMinMillis() {
        return pollMinMillis;
    }

    /**
     * Returns the maximum pause between two attempts for a busy lock.
     *
     * @return milliseconds, at least {@link #pollMinMillis}
     */
    public long pollMaxMillis() {
        return pollMaxMillis;
    }

    /**
     * Returns whether the store processes the requests for a name in order.
     *
     * @return see {@link Builder#ordered}
     */
    public boolean ordered() {
        return ordered;
    }

    /**
     * Returns whether entries left on the server expire by themselves.
     *
     * @return see {@link Builder#expiring}
     */
    public boolean expiring() {
        return expiring;
    }

    /**
     * Returns whether a release can make a waiting acquisition the holder.
     *
     * @return see {@link Builder#handsOver}
     */
    public boolean handsOver() {
        return handsOver;
    }

    /**
     * Returns whether the store can list its locks.
     *
     * @return see {@link Builder#listing}
     */
    public boolean listing() {
        return listing;
    }

    /**
     * Returns the supported kinds of demands.
     *
     * @return an immutable set; see {@link Builder#demands}
     */
    public Set<Demand.Kind> demands() {
        return demands;
    }

    /**
     * Returns why the store has no shared locks.
     *
     * @return the reason, or an empty text
     */
    public String whyNotShared() {
        return whyNotShared;
    }

    /** Returns the name. */
    @Override
    public String toString() {
        return "BackendInfo[" + name + "]";
    }

    /** Builds {@link BackendInfo}. Not thread-safe. */
    public static final class Builder {
        private final String name;
        private boolean blocking;
        private boolean fifo;
        private long minLeaseMillis;
        private long pollMinMillis;
        private long pollMaxMillis;
        private boolean ordered;
        private boolean expiring;
        private boolean listing;
        private boolean handsOver;
        private Set<Demand.Kind> demands = EnumSet.of(Demand.Kind.EXCLUSIVE);
        private String whyNotShared = "";

        private Builder(String name) {
            this.name = name;
        }

        /**
         * Sets whether calls do their work on the calling thread; see {@link LockBackend}.
         *
         * @param value default false
         * @return this
         */
        public Builder blocking(boolean value) {
            blocking = value;
            return this;
        }

        /**
         * Sets whether waiting processes are served strictly in the order of their requests if {@code fair} is requested. If
         * not, the engine refuses {@code fair}.
         *
         * @param value default false
         * @return this
         */
        public Builder fifo(boolean value) {
            fifo = value;
            return this;
        }

        /**
         * Sets the minimum lease that the backend supports.
         *
         * @param value milliseconds, at least 1
         * @return this
         */
        public Builder minLeaseMillis(long value) {
            minLeaseMillis = value;
            return this;
        }

        /**
         * Sets the pause before the first retry of a busy lock. The pause doubles, with jitter, up to {@link #pollMaxMillis},
         * and is never longer than the holder's remaining time.
         *
         * @param value milliseconds, at least 1
         * @return this
         */
        public Builder pollMinMillis(long value) {
            pollMinMillis = value;
            return this;
        }

        /**
         * Sets the maximum pause between two attempts for a busy lock. A backend whose {@link LockBackend#subscribe} is
         * prompt sets both intervals to that of its fallback polling.
         *
         * @param value milliseconds, at least {@link #pollMinMillis}
         * @return this
         */
        public Builder pollMaxMillis(long value) {
            pollMaxMillis = value;
            return this;
        }

        /**
         * Sets whether the store processes the requests for a name in the order in which they were made, except after faults.
         * If so, the engine sends the next attempt together with a release, without waiting for the release's answer.
         *
         * @param value default false
         * @return this
         */
        public Builder ordered(boolean value) {
            ordered = value;
            return this;
        }

        /**
         * Sets whether everything that an acquisition leaves on the server, grants as well as queue entries, expires by
         * itself after at most one lease. If so, the engine stops retrying its removal after that time. Leave it false if an
         * entry may stay as long as this client's session or connection, or if that is uncertain.
         *
         * @param value default false
         * @return this
         */
        public Builder expiring(boolean value) {
            expiring = value;
            return this;
        }

        /**
         * Sets whether a release may make a waiting acquisition the holder and notify it, without another attempt; see {@link
         * AcquireRequest#onHandOver}.
         *
         * @param value default false
         * @return this
         */
        public Builder handsOver(boolean value) {
            handsOver = value;
            return this;
        }

        /**
         * Sets whether {@link LockBackend#list} is supported.
         *
         * @param value default false
         * @return this
         */
        public Builder listing(boolean value) {
            listing = value;
            return this;
        }

        /**
         * Sets the supported kinds of demands. The engine never requests another kind.
         *
         * @param value the kinds, including {@link Demand.Kind#EXCLUSIVE}; the default is that one alone
         * @return this
         */
        public Builder demands(Set<Demand.Kind> value) {
            demands = EnumSet.copyOf(value);
            return this;
        }

        /**
         * Sets the reason to give in the message that refuses a shared lock.
         *
         * @param value a clause, such as {@code GET_LOCK has no shared mode}; empty by default
         * @return this
         */
        public Builder whyNotShared(String value) {
            whyNotShared = value;
            return this;
        }

        /**
         * Builds the description.
         *
         * @return the facts
         * @throws IllegalArgumentException if the name is blank, {@link Demand.Kind#EXCLUSIVE} is missing, or a number is
         *     missing or out of range
         */
        public BackendInfo build() {
            if (name.isBlank()
                    || !demands.contains(Demand.Kind.EXCLUSIVE)
                    || minLeaseMillis < 1
                    || pollMinMillis < 1
                    || pollMaxMillis < pollMinMillis) {
                throw new IllegalArgumentException(
                        "invalid backend info of '" + name + "': shortest lease " + minLeaseMillis + " ms, poll "
                                + pollMinMillis + ".." + pollMaxMillis + " ms, demands " + demands);
            }
            return new BackendInfo(this);
        }
    }
}
