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
    }

    /**
     * Begins the description of a backend. The shortest lease and both polls have to be given. All else is false, and
     * the only demand is an exclusive one.
     *
     * @param name short name for messages, such as {@code redis}
     * @return a builder
     */
    public static Builder named(String name) {
        return new Builder(name);
    }

    /**
     * Returns a builder with these facts, for a backend that differs in some of them.
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
     * Whether calls work on the calling thread.
     *
     * @return see {@link Builder#blocking}
     */
    public boolean blocking() {
        return blocking;
    }

    /**
     * Whether waiting processes may be served in strict order.
     *
     * @return see {@link Builder#fifo}
     */
    public boolean fifo() {
        return fifo;
    }

    /**
     * Returns the shortest lease that the backend keeps.
     *
     * @return milliseconds, at least 1
     */
    public long minLeaseMillis() {
        return minLeaseMillis;
    }

    /**
     * Returns how soon a busy lock is tried again for the first time.
     *
     * @return milliseconds, at least 1
     */
    public long pollMinMillis() {
        return pollMinMillis;
    }

    /**
     * Returns the longest wait between two tries of a busy lock.
     *
     * @return milliseconds, at least {@link #pollMinMillis}
     */
    public long pollMaxMillis() {
        return pollMaxMillis;
    }

    /**
     * Whether the store keeps the requests about a name in order.
     *
     * @return see {@link Builder#ordered}
     */
    public boolean ordered() {
        return ordered;
    }

    /**
     * Whether what is left on the server ends by itself.
     *
     * @return see {@link Builder#expiring}
     */
    public boolean expiring() {
        return expiring;
    }

    /**
     * Whether a release can make a waiting acquisition the holder.
     *
     * @return see {@link Builder#handsOver}
     */
    public boolean handsOver() {
        return handsOver;
    }

    /**
     * Whether the store can list its locks.
     *
     * @return see {@link Builder#listing}
     */
    public boolean listing() {
        return listing;
    }

    /**
     * Returns what may be asked for.
     *
     * @return the kinds of demands, immutable; see {@link Builder#demands}
     */
    public Set<Demand.Kind> demands() {
        return demands;
    }

    /** Returns the name. */
    @Override
    public String toString() {
        return "BackendInfo[" + name + "]";
    }

    /** Collects the facts. Not thread-safe. */
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

        private Builder(String name) {
            this.name = name;
        }

        /**
         * Says whether calls work on the calling thread; see {@link LockBackend}.
         *
         * @param value false if not called
         * @return this
         */
        public Builder blocking(boolean value) {
            blocking = value;
            return this;
        }

        /**
         * Says whether waiting processes are served strictly in the order of their requests when asked for {@code fair}. If
         * not, the engine refuses {@code fair}.
         *
         * @param value false if not called
         * @return this
         */
        public Builder fifo(boolean value) {
            fifo = value;
            return this;
        }

        /**
         * Says what the shortest lease is that the backend keeps.
         *
         * @param value milliseconds, at least 1
         * @return this
         */
        public Builder minLeaseMillis(long value) {
            minLeaseMillis = value;
            return this;
        }

        /**
         * Says how soon a busy lock is tried again for the first time. The wait doubles, with jitter, up to
         * {@link #pollMaxMillis}, and is never longer than the holder's remaining time.
         *
         * @param value milliseconds, at least 1
         * @return this
         */
        public Builder pollMinMillis(long value) {
            pollMinMillis = value;
            return this;
        }

        /**
         * Says what the longest wait is between two tries of a busy lock. A backend whose {@link LockBackend#subscribe} is
         * prompt sets both polls to the interval of its safety net.
         *
         * @param value milliseconds, at least {@link #pollMinMillis}
         * @return this
         */
        public Builder pollMaxMillis(long value) {
            pollMaxMillis = value;
            return this;
        }

        /**
         * Says whether the store handles the requests about a name in the order in which they were made, but for faults. Then
         * the next attempt is made right behind a release, in one trip with it, without waiting for its answer.
         *
         * @param value false if not called
         * @return this
         */
        public Builder ordered(boolean value) {
            ordered = value;
            return this;
        }

        /**
         * Says whether everything that an acquisition leaves on the server, a grant as well as a place in a queue, ends by
         * itself a lease later at the latest. Then nobody tries for longer than that to remove it. It is false where something
         * may stay for as long as this client's session or connection, and when in doubt.
         *
         * @param value false if not called
         * @return this
         */
        public Builder expiring(boolean value) {
            expiring = value;
            return this;
        }

        /**
         * Says whether a release may make a waiting acquisition the holder and tell it so, without a request of its own; see
         * {@link AcquireRequest#onHandOver}.
         *
         * @param value false if not called
         * @return this
         */
        public Builder handsOver(boolean value) {
            handsOver = value;
            return this;
        }

        /**
         * Says whether {@link LockBackend#list} works.
         *
         * @param value false if not called
         * @return this
         */
        public Builder listing(boolean value) {
            listing = value;
            return this;
        }

        /**
         * Says what may be asked for. The engine never asks for another kind.
         *
         * @param value the kinds of demands, {@link Demand.Kind#EXCLUSIVE} among them, which is the only one if not called
         * @return this
         */
        public Builder demands(Set<Demand.Kind> value) {
            demands = EnumSet.copyOf(value);
            return this;
        }

        /**
         * Makes the description.
         *
         * @return the facts
         * @throws IllegalArgumentException if the name is blank, no lock can be held alone, or a number is missing or out of its range
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
