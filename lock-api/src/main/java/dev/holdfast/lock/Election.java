package dev.holdfast.lock;

import java.time.Duration;
import java.util.Optional;

/**
 * One of several processes leads: it stands for election until it is closed, leads whenever it is elected, and stands again
 * after every failure. Started by {@link LockClient#election(String)}:
 *
 * <pre>{@code
 * Election election = client.election("billing")
 *         .onElected(leadership -> biller.run(leadership.token()))  // interrupted when it has to stop
 *         .onRevoked(leadership -> biller.reset())
 *         .start();
 * }</pre>
 *
 * <p><b>What is promised.</b> The leader holds the {@linkplain LockClient#lock(String) lock} of the election's name.
 * {@code onRevoked} is called exactly once for each call of {@code onElected}, after that has returned, and never otherwise;
 * no two callbacks of one election run at the same time. A leadership that has not been resigned lasts after
 * {@code onElected} has returned. If it fails with an exception, the leader resigns.
 *
 * <p><b>When the lease cannot be kept</b>, the leadership becomes invalid and a running {@code onElected} is interrupted
 * {@linkplain Builder#stopTime(Duration) early enough to stop} before the lease ends. A callback that goes on
 * regardless, or a process that is paused, can run beside the next leader, as with any lock: what it writes late is refused by
 * its {@linkplain Leadership#token() token}. A leader that resigns or closes keeps the lock until its callback has returned.
 *
 * <p>Thread-safe. An election has one thread of its own, and one more while a callback runs.
 */
public interface Election extends AutoCloseable {

    /** What is called. It may block and may be interrupted. */
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
     * Tells whether this process leads.
     *
     * @return true if so by this process's clock; may be stale on return
     */
    boolean isLeader();

    /**
     * Asks the server who leads: who it is, where it runs, and its token. For operators; the answer may be stale on return.
     *
     * @return the leader, in whatever process; empty if there is none now
     * @throws LockUnavailableException if the store does not answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockClosedException if the client is closed
     */
    Optional<HolderInfo> leader();

    /**
     * Resigns, if this process leads, and does not stand again before the given time has passed; others that stand are
     * elected meanwhile. A running {@code onElected} is interrupted; the lock is released when it has returned. Returns at
     * once; may be called by the callback itself.
     *
     * @param pause how long not to stand, from the release on; at least a second is kept, so that those who poll see the
     *     lock free
     * @return true if this process led; false if it did not, and nothing was done
     * @throws IllegalArgumentException if the pause is negative
     */
    boolean yield(Duration pause);

    /**
     * Ends the candidacy and resigns. A running {@code onElected} is interrupted; waits for it and for {@code onRevoked},
     * but no longer than the {@linkplain Builder#stopTime(Duration) time to stop}, and not at all if called by a callback;
     * the lock is released when they have returned. Idempotent.
     */
    @Override
    void close();

    /** Collects what an election needs. Not thread-safe; used once. */
    interface Builder {

        /**
         * Sets what the leader does. Required.
         *
         * @param callback called when elected; interrupted when it has to stop
         * @return this
         */
        Builder onElected(Callback callback);

        /**
         * Sets what is done when a leadership has ended, after {@code onElected} has returned. Without it, nothing.
         *
         * @param callback called once for each leadership
         * @return this
         */
        Builder onRevoked(Callback callback);

        /**
         * Sets the options of the lock. Without them, those of the client.
         *
         * @param options the options; leases must be renewed, and have no {@code maxHold}
         * @return this
         */
        Builder options(LockOptions options);

        /**
         * Sets how long before the end of its lease the leader is interrupted if the lease cannot be renewed. Without it, a
         * third of the lease.
         *
         * @param stopTime how long the leader needs to stop; positive, at most half of the lease
         * @return this
         */
        Builder stopTime(Duration stopTime);

        /**
         * Starts to stand for election. Returns at once.
         *
         * @return the election, to be closed
         * @throws IllegalStateException if {@code onElected} is missing
         * @throws IllegalArgumentException if the name or an option is not acceptable
         */
        Election start();
    }
}
