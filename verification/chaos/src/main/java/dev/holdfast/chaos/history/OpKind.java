package dev.holdfast.chaos.history;

/** How an acquisition is asked for. The order is part of the file format: only append. */
public enum OpKind {
    /** {@code tryLock()}. */
    TRY_LOCK(false),
    /** {@code tryAcquire(Duration)}. */
    TIMED(true),
    /** {@code lock()}. */
    LOCK(true),
    /** {@code acquireAsync(Duration)}. */
    ASYNC(true),
    /** {@code acquire()}, closed by another thread. */
    CLOSED_ELSEWHERE(true),
    /** {@code tryAcquire(Duration)} without renewal, held until about the end of the lease. */
    NOT_RENEWED(true),
    /** {@code acquire(Duration)} with {@code fair}, by the only thread of its client that uses the name. */
    FIFO(true),
    /** {@code tryAcquire()} of a lock that is left to the client's close. */
    LEFT_TO_CLOSE(false),
    /** {@code lock()} of the read lock by the thread that holds the write lock, which it unlocks then. */
    DOWNGRADE(false),
    /** {@code tryAcquire()} of a lock that its client keeps all the time, with which nothing is done. */
    BYSTANDER(false);

    private final boolean waits;

    OpKind(boolean waits) {
        this.waits = waits;
    }

    /**
     * Tells whether the caller waits for its turn.
     *
     * @return false if it only tries
     */
    public boolean waits() {
        return waits;
    }
}
