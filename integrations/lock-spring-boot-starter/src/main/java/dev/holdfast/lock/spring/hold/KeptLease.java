package dev.holdfast.lock.spring.hold;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.transaction.reactive.TransactionSynchronization;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * A lease that a reactive transaction keeps, from the moment on that one of its publishers asks for the lock: checks it before the
 * commit, and releases it after the completion. Thread-safe.
 */
final class KeptLease implements TransactionSynchronization {
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
