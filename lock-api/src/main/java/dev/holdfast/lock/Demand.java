package dev.holdfast.lock;

/**
 * What an acquisition requests and a holder has: an exclusive lock, a lock shared with other readers, or permits of a
 * semaphore. All demands on one name share one queue. Immutable.
 */
public sealed interface Demand {

    /** An exclusive lock: a mutex, or the write lock of a {@link DistributedReadWriteLock}. */
    Demand EXCLUSIVE = new Exclusive();

    /** A shared lock: the read lock of a {@link DistributedReadWriteLock}. */
    Demand SHARED = new Shared();

    /** The maximum number of permits of a semaphore. */
    int MAX_PERMITS = 1_000_000;

    /** The kinds of demands, used to declare which ones a store supports. */
    enum Kind {
        /** {@link Exclusive}. */
        EXCLUSIVE,
        /** {@link Shared}. */
        SHARED,
        /** {@link Permits}. */
        PERMITS
    }

    /**
     * Returns the kind of this demand.
     *
     * @return the kind
     */
    Kind kind();

    /**
     * Returns whether this demand and another one can be granted together if there are no others. This pairwise check is not
     * sufficient for permits: those of all holders and of all waiters ahead have to be added up.
     *
     * @param other another acquisition's demand on the same name
     * @return true for two shared demands, and for permits whose sum is within this demand's limit
     */
    default boolean leavesRoomFor(Demand other) {
        return false;
    }

    /** Excludes all other demands. */
    record Exclusive() implements Demand {
        @Override
        public Kind kind() {
            return Kind.EXCLUSIVE;
        }

        /** Returns the word used in messages. */
        @Override
        public String toString() {
            return "exclusive";
        }
    }

    /** Allows any number of other shared demands. */
    record Shared() implements Demand {
        @Override
        public Kind kind() {
            return Kind.SHARED;
        }

        @Override
        public boolean leavesRoomFor(Demand other) {
            return other instanceof Shared;
        }

        /** Returns the word used in messages. */
        @Override
        public String toString() {
            return "shared";
        }
    }

    /**
     * Allows other permits while their sum is within the limit.
     *
     * @param permits the number of permits, from 1 to the limit
     * @param limit the semaphore's number of permits, from 1 to {@link #MAX_PERMITS}; the same in all demands on a name
     */
    record Permits(int permits, int limit) implements Demand {

        /**
         * Validates.
         *
         * @param permits as above
         * @param limit as above
         * @throws IllegalArgumentException if one is out of range
         */
        public Permits {
            if (limit < 1 || limit > MAX_PERMITS) {
                throw new IllegalArgumentException("the limit must be from 1 to " + MAX_PERMITS + ", got " + limit);
            }
            if (permits < 1 || permits > limit) {
                throw new IllegalArgumentException(
                        "permits must be from 1 to the limit of " + limit + ", got " + permits);
            }
        }

        @Override
        public Kind kind() {
            return Kind.PERMITS;
        }

        @Override
        public boolean leavesRoomFor(Demand other) {
            return other instanceof Permits more && permits + more.permits <= limit;
        }

        /** Returns the words used in messages. */
        @Override
        public String toString() {
            return permits + " of " + limit + " permits";
        }
    }
}
