package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.spi.LockName;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/** The transactions that calls are made in. */
interface CallTransactions {

    /** Returns Spring's, or none if the application has none. */
    static CallTransactions present() {
        return ClassUtils.isPresent(
                        "org.springframework.transaction.support.TransactionSynchronizationManager",
                        CallTransactions.class.getClassLoader())
                ? new OfThread()
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

    /**
     * Transactions that are bound to threads. The lease is looked at after all that may still write at the commit, such as an
     * object-relational mapper, since this synchronization has the lowest precedence.
     */
    final class OfThread implements CallTransactions {
        private static final Logger LOG = LoggerFactory.getLogger(OfThread.class);

        @Override
        public boolean isActive() {
            return TransactionSynchronizationManager.isActualTransactionActive()
                    && TransactionSynchronizationManager.isSynchronizationActive(); // not in listeners after the commit
        }

        @Override
        public void defer(Hold hold) {
            TransactionSynchronizationManager.registerSynchronization(new Release(hold));
        }

        @Override
        public Hold.@Nullable OfLease share(LockCall call) {
            if (!isActive()) {
                return null;
            }
            for (TransactionSynchronization each : TransactionSynchronizationManager.getSynchronizations()) {
                if (each instanceof Release release
                        && release.hold() instanceof Hold.OfLease own
                        && own.retainFor(call)) {
                    return own;
                }
            }
            return null;
        }

        /** Checks the lease before the commit, and releases the lock after it. */
        private record Release(Hold hold) implements TransactionSynchronization {
            @Override
            public boolean equals(@Nullable Object other) {
                return this == other; // each share is given back: Spring keeps a set
            }

            @Override
            public int hashCode() {
                return System.identityHashCode(this);
            }

            @Override
            public void beforeCommit(boolean readOnly) {
                hold.requireValid();
            }

            @Override
            public void afterCompletion(int status) {
                try {
                    hold.release();
                } catch (RuntimeException e) {
                    String name = LockName.printable(hold.view().name());
                    if (status == STATUS_ROLLED_BACK) {
                        LOG.debug("lock '{}' was not released in order after a rollback", name, e);
                    } else {
                        LOG.warn(
                                "lock '{}' (token {}): lost or not released while its transaction completed; check what it wrote",
                                name,
                                hold.view().token(),
                                e);
                    }
                }
            }
        }
    }
}
