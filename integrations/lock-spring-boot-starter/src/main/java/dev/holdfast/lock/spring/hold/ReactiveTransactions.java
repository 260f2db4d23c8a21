package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.Lease;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.transaction.NoTransactionException;
import org.springframework.transaction.reactive.TransactionSynchronization;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

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

    /**
     * A lease that a reactive transaction keeps, from the moment on that one of its publishers asks for the lock: checks it before the
     * commit, and releases it after the completion. Thread-safe.
     */
    private static final class KeptLease implements TransactionSynchronization {
        private static final Logger LOG = LoggerFactory.getLogger(KeptLease.class);

        private final LockCall call;
        private final Executor releases;
        private final CompletableFuture<Optional<Hold.OfLease>> decided = new CompletableFuture<>();

        KeptLease(LockCall call, Executor releases) {
            this.call = call;
            this.releases = releases;
        }

        LockCall call() {
            return call;
        }

        boolean isOf(LockCall other) {
            return call.client() == other.client()
                    && call.lock().name().equals(other.lock().name());
        }

        /** Keeps a share of its own, unless the publisher was cancelled meanwhile. */
        void keep(Hold.OfLease granted) {
            boolean kept = granted.lease().retain();
            if (!decided.complete(kept ? Optional.of(granted) : Optional.empty()) && kept) {
                releases.execute(() -> release(granted)); // the transaction is over already
            }
        }

        /** To be called if the lock was not acquired. */
        void keepNothing() {
            decided.complete(Optional.empty());
        }

        /** Completes when the acquisition has ended, with or without a lease; never exceptionally. */
        CompletableFuture<Optional<Hold.OfLease>> decided() {
            return decided;
        }

        boolean keepsNothing() {
            return decided.isDone() && decided.join().isEmpty();
        }

        @Override
        public Mono<Void> beforeCommit(boolean readOnly) {
            return Mono.<Void>fromRunnable(() -> ifKept(Hold::requireValid)).subscribeOn(Schedulers.boundedElastic());
        }

        @Override
        public Mono<Void> afterCompletion(int status) {
            return Mono.<Void>create(sink -> releases.execute(() -> {
                        keepNothing(); // a pending acquisition is not kept any more
                        ifKept(KeptLease::release);
                        sink.success();
                    }))
                    .publishOn(Schedulers.boundedElastic());
        }

        private void ifKept(Consumer<Hold.OfLease> action) {
            decided.getNow(Optional.empty()).ifPresent(action);
        }

        private static void release(Hold.OfLease hold) {
            try {
                hold.release();
            } catch (RuntimeException e) {
                LOG.warn("{} of a reactive transaction: lost or not released while it completed", hold.view(), e);
            }
        }
    }
}
