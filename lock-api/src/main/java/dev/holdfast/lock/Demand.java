package dev.holdfast.lock;

/**
 * What an acquisition asks for, and what a holder has: a lock for itself alone, a share of it with other readers, or permits
 * of a semaphore. All demands on one name stand in one line. Immutable.
 */
public sealed interface Demand {

    /** The lock for its holder alone: a mutex, or the write lock of a {@link DistributedReadWriteLock}. */
    Demand EXCLUSIVE = new Exclusive();

    /** A share of the lock: the read lock of a {@link DistributedReadWriteLock}. */
    Demand SHARED = new Shared();

    /** The most permits that a semaphore can have. */
    int MOST_PERMITS = 1_000_000;

    /** The kinds of demands, to say which ones a store has. */
    enum Kind {
        /** {@link Exclusive}. */
        EXCLUSIVE,
        /** {@link Shared}. */
        SHARED,
        /** {@link Permits}. */
        PERMITS
    }

    /**
     * Returns which of the three it is.
     *
     * @return the kind
     */
    Kind kind();

    /**
     * Whether it and another demand can be met at once, were nobody else there. Not enough for several permits: those of
     * all holders and of all who are ahead in line have to be added up.
     *
     * @param other another acquisition's demand on the same name
     * @return true for two shares, and for permits that are together no more than this demand's limit
     */
    default boolean leavesRoomFor(Demand other) {
        return false;
    }

    /** Leaves room for nobody. */
    record Exclusive() implements Demand {
        @Override
        public Kind kind() {
            return Kind.EXCLUSIVE;
        }

        /** Returns the word for people. */
        @Override
        public String toString() {
            return "exclusive";
        }
    }

    /** Leaves room for any number of shares. */
    record Shared() implements Demand {
        @Override
        public Kind kind() {
            return Kind.SHARED;
        }

        @Override
        public boolean leavesRoomFor(Demand other) {
            return other instanceof Shared;
        }

        /** Returns the word for people. */
        @Override
        public String toString() {
            return "shared";
        }
    }

    /**
     * Leaves room for other permits as long as their sum is within the limit.
     *
     * @param permits how many, from 1 to the limit
     * @param limit how many the semaphore has, from 1 to {@link #MOST_PERMITS}; the same in all demands on a name
     */
    record Permits(int permits, int limit) implements Demand {

        /**
         * Validates.
         *
         * @param permits as above
         * @param limit as above
         * @throws IllegalArgumentException if one is out of its range
         */
        public Permits {
            if (limit < 1 || limit > MOST_PERMITS) {
                throw new IllegalArgumentException("the limit must be from 1 to " + MOST_PERMITS + ", got " + limit);
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

        /** Returns the words for people. */
        @Override
        public String toString() {
            return permits + " of " + limit + " permits";
        }
    }
}
