package dev.holdfast.lock;

import java.time.Duration;
import java.util.Optional;

/**
 * This process's candidacy in an election of one leader among several processes. It stands until it is closed, leads whenever
 * it is elected, and stands again after every failure. Started by {@link LockClient#election(String)}:
 *
 * <pre>{@code
 * Election election = client.election("billing")
 *         .onElected(leadership -> biller.run(leadership.token()))  // interrupted when it has to stop
 *         .onRevoked(leadership -> biller.reset())
 *         .start();
 * }</pre>
 *
 * <p><b>What is promised.</b> The leader holds the {@linkplain LockClient#lock(String) lock} of the election's name. {@code
 * onRevoked} is called exactly once for each call of {@code onElected}, after that has returned, and never otherwise; no two
 * callbacks of one election run at the same time. The leadership continues after {@code onElected} has returned. If {@code
 * onElected} throws an exception, the leader resigns. A callback that waits for that lock waits for itself, and a warning
 * is logged.
 *
 * <p><b>When the lease cannot be kept</b>, the leadership becomes invalid and a running {@code onElected} is interrupted
 * {@linkplain Builder#stopTime(Duration) early enough to stop} before the lease ends. As with any lock, a callback that
 * ignores the interrupt, or a paused process, can overlap with the next leader; check its {@linkplain Leadership#token()
 * token} to refuse late writes. A leader that resigns or closes keeps the lock until its callback has returned.
 *
 * <p>Thread-safe. An election has one dedicated thread, and a second one while a callback runs. They are daemon threads: an
 * election alone does not keep the JVM alive.
 */
public interface Election extends AutoCloseable {

    /** A callback of an election. It may block and may be interrupted. */
    @FunctionalInterface
    interface Callback {
        /**
         * Called on a thread of its own.
         *
         * @param leadership the leadership that began or ended
         * @throws Exception which is logged; a leader that fails resigns
         */
        void call(Leadership leadership) throws Exception;
    }

    /**
     * Returns the election's name.
     *
     * @return the name, which is the lock's
     */
    String name();

    /**
     * Returns whether this process leads.
     *
     * @return true if so, by this process's clock; may be stale on return
     */
    boolean isLeader();

    /**
     * Waits until this process leads, at most for the given time. The leadership may have ended again on return.
     *
     * @param timeout the maximum time to wait; zero or less does not wait
     * @return true if this process leads, false if it did not in that time
     * @throws InterruptedException if the thread is interrupted while waiting
     * @throws LockClosedException if the election or its client is closed, or is closed during the wait
     */
    boolean awaitLeadership(Duration timeout) throws InterruptedException;

    /**
     * Asks the server for the current leader: its name, its host and its token. Intended for operators; the answer may be
     * stale on return.
     *
     * @return the leader, in any process; empty if there is none now
     * @throws LockUnavailableException if the store does not answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockClosedException if the client is closed
     */
    Optional<HolderInfo> leader();

    /**
     * Resigns if this process leads, and does not stand again before the given time has passed, so that another candidate can
     * be elected. A running {@code onElected} is interrupted; the lock is released once it has returned. Returns immediately;
     * the callback itself may call it.
     *
     * @param pause how long not to stand, counted from the release; at least one second, so that polling candidates find the
     *     lock free
     * @return true if this process led; false if it did not, and nothing was done
     * @throws IllegalArgumentException if the pause is negative
     */
    boolean yield(Duration pause);

    /**
     * Resigns if this process leads, and does not stand until {@link #resume}. A running {@code onElected} is interrupted; this
     * method waits for it and for {@code onRevoked}, for at most the {@linkplain Builder#stopTime(Duration) stop time}, and not at
     * all if a callback calls it. The lock is released once they have returned. Does nothing if suspended or closed.
     */
    void suspend();

    /** Stands again after {@link #suspend}. Returns immediately; does nothing if not suspended, or closed. */
    void resume();

    /**
     * Ends the candidacy and resigns. A running {@code onElected} is interrupted; this method waits for it and for {@code
     * onRevoked}, for at most the {@linkplain Builder#stopTime(Duration) stop time}, and not at all if a callback calls it.
     * The lock is released once they have returned. Idempotent.
     */
    @Override
    void close();

    /** Builds an election. Not thread-safe; used once. */
    interface Builder {

        /**
         * Sets the callback for the leader. Required.
         *
         * @param callback called when elected; interrupted when it has to stop
         * @return this
         */
        Builder onElected(Callback callback);

        /**
         * Sets the callback for the end of a leadership; it runs after {@code onElected} has returned. Optional.
         *
         * @param callback called once for each leadership
         * @return this
         */
        Builder onRevoked(Callback callback);

        /**
         * Sets the options of the lock. The default is the client's lock options.
         *
         * @param options the options; leases must be renewed, and have no {@code maxHold}
         * @return this
         */
        Builder options(LockOptions options);

        /**
         * Sets how long before the end of its lease the leader is interrupted if the lease cannot be renewed. The default is
         * a third of the lease.
         *
         * @param stopTime how long the leader needs to stop; positive, at most half of the lease
         * @return this
         */
        Builder stopTime(Duration stopTime);

        /**
         * Starts standing for election. Returns immediately.
         *
         * @return the election, to be closed
         * @throws IllegalStateException if {@code onElected} is missing
         * @throws IllegalArgumentException if the name or an option is not acceptable
         */
        Election start();
    }
}
