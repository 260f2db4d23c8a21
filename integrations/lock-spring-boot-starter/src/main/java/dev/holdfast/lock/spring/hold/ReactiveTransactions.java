package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.Lease;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.transaction.NoTransactionException;
import org.springframework.transaction.reactive.TransactionSynchronization;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Transactions that are bound to a subscription. */
final class ReactiveTransactions {
    private static final Logger LOG = LoggerFactory.getLogger(ReactiveCalls.class);

    private ReactiveTransactions() {}

    /** Acquires the lock, by the rules for calls within transactions if there is one. */
    static Mono<Lease> acquire(ReactiveHold hold, LockedCalls calls) {
        return TransactionSynchronizationManager.forCurrentTransaction()
                .filter(transaction -> transaction.isActualTransactionActive() && transaction.isSynchronizationActive())
                .onErrorResume(NoTransactionException.class, none -> Mono.empty())
                .map(Optional::of)
                .defaultIfEmpty(Optional.empty())
                .flatMap(transaction -> {
                    if (transaction.isEmpty()) {
                        return hold.acquire();
                    }
                    calls.refuseOrWarn(hold.call());
                    return hold.acquire().doOnNext(lease -> defer(hold.granted(), transaction.get(), calls));
                });
    }

    private static void defer(Hold.OfLease hold, TransactionSynchronizationManager transaction, LockedCalls calls) {
        if (!hold.lease().retain()) {
            return; // cancelled meanwhile
        }
        try {
            transaction.registerSynchronization(new Release(hold, calls));
        } catch (RuntimeException e) {
            hold.releaseAfter(e);
            throw e;
        }
    }

    /** Checks the lease before the commit, and releases the lock after it. */
    private record Release(Hold.OfLease hold, LockedCalls calls) implements TransactionSynchronization {
        @Override
        public boolean equals(@Nullable Object other) {
            return this == other; // each share is given back: Spring keeps a set
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(this);
        }

        @Override
        public Mono<Void> beforeCommit(boolean readOnly) {
            return Mono.<Void>fromRunnable(hold::requireValid).subscribeOn(Schedulers.boundedElastic());
        }

        @Override
        public Mono<Void> afterCompletion(int status) {
            return Mono.<Void>create(sink -> calls.releases().execute(() -> {
                        try {
                            hold.release();
                        } catch (RuntimeException e) {
                            LOG.warn(
                                    "{} of a reactive transaction: lost or not released while it completed",
                                    hold.view(),
                                    e);
                        }
                        sink.success();
                    }))
                    .publishOn(Schedulers.boundedElastic());
        }
    }
}
