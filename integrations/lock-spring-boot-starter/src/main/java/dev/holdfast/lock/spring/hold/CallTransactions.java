package dev.holdfast.lock.spring.hold;

import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;

/** The transactions that calls are made in. */
interface CallTransactions {

    /** Returns Spring's, or none if the application has none. */
    static CallTransactions present() {
        return ClassUtils.isPresent(
                        "org.springframework.transaction.support.TransactionSynchronizationManager",
                        CallTransactions.class.getClassLoader())
                ? new ThreadTransactions()
                : new None();
    }

    /** Returns whether the calling thread is in a transaction whose end is still to come. */
    boolean isActive();

    /**
     * Gives a hold back when the thread's transaction has completed, and refuses the commit if the lease is lost then.
     *
     * @throws IllegalStateException if the transaction manager does not report the completion of transactions
     */
    void defer(Hold hold);

    /** Takes a share of the lease that the thread's transaction keeps for the same lock; null if it keeps none. */
    Hold.@Nullable OfLease share(LockCall call);

    /** No transactions. */
    final class None implements CallTransactions {
        @Override
        public boolean isActive() {
            return false;
        }

        @Override
        public void defer(Hold hold) {
            throw new IllegalStateException("there is no transaction");
        }

        @Override
        public Hold.@Nullable OfLease share(LockCall call) {
            return null;
        }
    }
}
