package dev.holdfast.lock.spring.hold;

import org.jspecify.annotations.Nullable;

/** Observes guarded calls, for traces. Thread-safe; what it throws fails the call. */
public interface CallObserver {

    /** Observes nothing. */
    CallObserver NONE = call -> Observed.NONE;

    /** Where Micrometer's instrumentation of Reactor has the current observation: the key in a subscription's context. */
    String KEY = "micrometer.observation";

    /**
     * A call is about to ask for its lock.
     *
     * @param call what it wants
     * @return the observer of the call's outcome
     */
    Observed begin(LockCall call);

    /**
     * The same for a publisher, which is subscribed to on any thread.
     *
     * @param call what it wants
     * @param parent what the subscription's context has at {@link #KEY}; null if nothing
     * @return the observer of the call's outcome
     */
    default Observed begin(LockCall call, @Nullable Object parent) {
        return begin(call);
    }

    /** One call. The methods may be called on several threads, one after the other. */
    interface Observed {

        /** Observes nothing. */
        Observed NONE = new Observed() {};

        /**
         * Begins to be the current observation of the calling thread.
         *
         * @return to be run on the same thread when it no longer is
         */
        default Runnable enter() {
            return () -> {};
        }

        /**
         * Returns what a publisher's context has at {@link #KEY} while it holds the lock.
         *
         * @return the observation of this call; null to leave there what the caller has
         */
        default @Nullable Object current() {
            return null;
        }

        /**
         * The lock was acquired.
         *
         * @param token the fencing token
         */
        default void acquired(long token) {}

        /** Another holder has the lock, and the code does not run. */
        default void busy() {}

        /**
         * The call failed.
         *
         * @param error what it threw
         */
        default void failed(Throwable error) {}

        /** The call is over. Comes once, after all others. */
        default void end() {}
    }
}
