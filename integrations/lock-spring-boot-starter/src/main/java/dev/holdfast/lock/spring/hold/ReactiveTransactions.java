package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.Lease;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.NoTransactionException;
import org.springframework.transaction.reactive.TransactionSynchronization;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;
import reactor.core.publisher.Mono;

/**
 * Transactions that are bound to a subscription. A transaction keeps each lock that one of its publishers acquired, and the others
 * share the lease: those that come later, and those that come while it is being acquired.
 */
final class ReactiveTransactions {
    /** Spring's own set of synchronizations is not made for several threads. */
    private static final ReentrantLock REGISTERING = new ReentrantLock();

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
                    return acquire(hold, transaction.get(), calls);
                });
    }

    private static Mono<Lease> acquire(
            ReactiveHold hold, TransactionSynchronizationManager transaction, LockedCalls calls) {
        KeptLease own = new KeptLease(hold.call(), calls.releases());
        KeptLease known = knownOrRegistered(transaction, own);
        if (known == null) {
            return hold.acquire()
                    .doOnNext(lease -> own.keep(hold.granted()))
                    .doOnError(failure -> own.keepNothing())
                    .doOnCancel(own::keepNothing);
        }
        return decided(known, hold.call())
                .flatMap(kept -> kept.isPresent() && kept.get().retainFor(hold.call())
                        ? hold.share(kept.get())
                        : acquire(hold, transaction, calls));
    }

    /** Returns what the transaction keeps or is about to keep of the same lock; null if nothing, and then this is it. */
    private static @Nullable KeptLease knownOrRegistered(TransactionSynchronizationManager transaction, KeptLease own) {
        REGISTERING.lock();
        try {
            for (TransactionSynchronization each : transaction.getSynchronizations()) {
                if (each instanceof KeptLease known && known.isOf(own.call()) && !known.keepsNothing()) {
                    return known;
                }
            }
            transaction.registerSynchronization(own);
            return null;
        } finally {
            REGISTERING.unlock();
        }
    }

    private static Mono<Optional<Hold.OfLease>> decided(KeptLease known, LockCall call) {
        Mono<Optional<Hold.OfLease>> decided = Mono.fromFuture(known.decided(), true);
        Duration wait = call.waitFor();
        return wait == null || known.decided().isDone()
                ? decided
                : decided.timeout(wait).onErrorMap(TimeoutException.class, late -> call.busy());
    }
}
