package dev.holdfast.lock.etcd;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.FailureTranslator;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Ends acquisitions on the server, by {@link EtcdRemoval}, and repeats each removal that has failed: what is left does not
 * end by itself as long as other locks keep its lease alive. The engine repeats what it has asked for as well, without end,
 * and asks for nothing new while too much waits. But it tries only once to end what a refused attempt may have left, and
 * knows nothing of the removals after a loss: those are repeated here alone. Whoever succeeds first ends both.
 *
 * <p>One removal is tried at a time, with a pause that doubles while they fail, until it is done or etcd says that the
 * leases are gone. That their time is over by our clock proves nothing: a cluster without a leader ends no lease, and a new
 * leader prolongs them all.
 *
 * <p>Thread-safe: what has failed is known to the executor's one thread only.
 */
final class Withdrawals {
    private static final long FIRST_PAUSE_MILLIS = 500;
    private static final long MAX_PAUSE_MILLIS = 5_000;
    private static final long TIMEOUT_MILLIS = 3_000;

    private final EtcdCalls calls;
    private final EtcdRemoval removal;
    private final Consumer<EtcdAcquisition> forget;
    private final Set<EtcdAcquisition> failed = new LinkedHashSet<>();
    private boolean planned;
    private long pauseMillis = FIRST_PAUSE_MILLIS;

    Withdrawals(EtcdCalls calls, EtcdRemoval removal, Consumer<EtcdAcquisition> forget) {
        this.calls = calls;
        this.removal = removal;
        this.forget = forget;
    }

    /**
     * Removes the key and, for each lease on which a creation may still arrive, leaves a tombstone on that lease. Completes
     * with whether the key was there with that create revision, the token of a grant; 0 if there is none.
     */
    CompletableFuture<Boolean> withdraw(EtcdAcquisition acquisition, long revision, Deadline deadline) {
        return once(acquisition, revision, deadline).exceptionallyCompose(failure -> {
            onExecutor(() -> keep(acquisition), 0);
            return CompletableFuture.failedFuture(EtcdFailures.isLoginRefused(failure) ? untilLogin(failure) : failure);
        });
    }

    /** Right credentials make it pass, so the engine is to ask again. */
    private static LockUnavailableException untilLogin(Throwable failure) {
        Throwable cause = FailureTranslator.unwrap(failure);
        return new LockUnavailableException("etcd says '" + cause.getMessage() + "'; check user and password", cause);
    }

    private CompletableFuture<Boolean> once(EtcdAcquisition acquisition, long revision, Deadline deadline) {
        acquisition.beginEnd();
        if (acquisition.isGone()) {
            forget.accept(acquisition);
            return CompletableFuture.completedFuture(false);
        }
        return removal.of(acquisition, revision, acquisition.openCreations(), deadline)
                .thenApply(there -> {
                    acquisition.markTombstoned();
                    forget.accept(acquisition);
                    return there;
                });
    }

    private void keep(EtcdAcquisition acquisition) {
        if (!acquisition.isEnded() && failed.add(acquisition)) {
            plan(pauseMillis);
        }
    }

    private void plan(long delayMillis) {
        if (!planned) {
            planned = true;
            onExecutor(this::next, delayMillis);
        }
    }

    private void next() {
        planned = false;
        failed.removeIf(EtcdAcquisition::isEnded);
        Iterator<EtcdAcquisition> oldest = failed.iterator();
        if (!oldest.hasNext()) {
            pauseMillis = FIRST_PAUSE_MILLIS;
            return;
        }
        EtcdAcquisition acquisition = oldest.next();
        oldest.remove();
        planned = true;
        once(acquisition, 0, new Deadline(System.nanoTime(), TIMEOUT_MILLIS))
                .exceptionallyCompose(failure -> askForLeases(acquisition, failure))
                .whenComplete((there, failure) -> onExecutor(() -> answered(acquisition, failure == null), 0));
    }

    private void answered(EtcdAcquisition acquisition, boolean done) {
        planned = false;
        pauseMillis = done ? FIRST_PAUSE_MILLIS : Math.min(MAX_PAUSE_MILLIS, 2 * pauseMillis);
        if (!done) {
            failed.add(acquisition);
        }
        plan(done ? 0 : pauseMillis);
    }

    /** If no lease that it may be on was renewed for twice its length: with etcd's answer that all are gone, it is done. */
    private CompletableFuture<Boolean> askForLeases(EtcdAcquisition acquisition, Throwable failure) {
        long now = System.nanoTime();
        List<SharedLease> on = Stream.concat(
                        acquisition.possibleLeases().stream(), acquisition.openCreations().stream())
                .filter(lease -> !lease.isGone())
                .distinct()
                .toList();
        if (on.stream().anyMatch(lease -> lease.certainNanos(now) >= -lease.ttlNanos())) {
            return CompletableFuture.failedFuture(failure);
        }
        List<CompletableFuture<Void>> asked = on.stream().map(this::ask).toList();
        return CompletableFuture.allOf(asked.toArray(CompletableFuture[]::new)).thenCompose(nothing -> {
            if (!on.stream().allMatch(SharedLease::isGone)) {
                return CompletableFuture.failedFuture(failure);
            }
            forget.accept(acquisition);
            return CompletableFuture.completedFuture(false);
        });
    }

    private CompletableFuture<Void> ask(SharedLease lease) {
        return calls.bounded(calls.isThere(lease.id()), TIMEOUT_MILLIS).thenAccept(there -> {
            if (!there) {
                removal.leases().markGone(lease, "etcd does not know the lease any more: expired or revoked");
            }
        });
    }

    private void onExecutor(Runnable task, long delayMillis) {
        try {
            calls.executor().schedule(task, delayMillis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            // closed: its leases are revoked, or run out
        }
    }
}
