package dev.holdfast.lock.etcd.internal.renewal;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLease;
import dev.holdfast.lock.etcd.internal.client.Deadline;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import dev.holdfast.lock.spi.support.FailureTranslator;
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
 * Ends acquisitions on the server, by {@link EtcdRemoval}, and repeats each failed removal: a remaining key does not
 * expire while other locks renew its lease. The engine also repeats its own requests without end, and makes no new ones
 * while too many wait. But it tries only once to remove what a refused attempt may have left, and does not take part in
 * removals after a loss: only this class repeats those. The first success ends both.
 *
 * <p>One removal is tried at a time, with a pause that doubles while removals fail, until it succeeds or etcd reports
 * that the leases are gone. Their end by our clock proves nothing: a cluster without a leader ends no lease, and a new
 * leader extends them all.
 *
 * <p>Thread-safe: the set of failed removals is confined to the executor's one thread.
 */
public final class Withdrawals {
    private static final long FIRST_PAUSE_MILLIS = 500;
    private static final long MAX_PAUSE_MILLIS = 5_000;
    private static final long TIMEOUT_MILLIS = 3_000;

    private final EtcdCalls calls;
    private final EtcdRemoval removal;
    private final Consumer<EtcdAcquisition> onEnded;
    private final Set<EtcdAcquisition> failed = new LinkedHashSet<>();
    private boolean planned;
    private long pauseMillis = FIRST_PAUSE_MILLIS;

    public Withdrawals(EtcdCalls calls, EtcdRemoval removal, Consumer<EtcdAcquisition> onEnded) {
        this.calls = calls;
        this.removal = removal;
        this.onEnded = onEnded;
    }

    /**
     * Removes the key, and leaves a tombstone on each lease on which a creation may still arrive. Completes with
     * whether the key existed with that create revision, the token of a grant; 0 if there is none.
     */
    public CompletableFuture<Boolean> withdraw(EtcdAcquisition acquisition, long revision, Deadline deadline) {
        return once(acquisition, revision, deadline).exceptionallyCompose(failure -> {
            onExecutor(() -> keep(acquisition), 0);
            return CompletableFuture.failedFuture(EtcdFailures.isLoginRefused(failure) ? untilLogin(failure) : failure);
        });
    }

    /** Valid credentials solve it, so the engine must ask again. */
    private static LockUnavailableException untilLogin(Throwable failure) {
        Throwable cause = FailureTranslator.unwrap(failure);
        return new LockUnavailableException(
                "etcd reports '" + cause.getMessage() + "'; check user and password", cause);
    }

    private CompletableFuture<Boolean> once(EtcdAcquisition acquisition, long revision, Deadline deadline) {
        acquisition.beginEnd();
        if (acquisition.isGone()) {
            onEnded.accept(acquisition);
            return CompletableFuture.completedFuture(false);
        }
        return removal.of(acquisition, revision, acquisition.openCreations(), deadline)
                .thenApply(there -> {
                    acquisition.markTombstoned();
                    onEnded.accept(acquisition);
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

    /**
     * If no possible lease was renewed for twice its length, and etcd reports that all are gone, the removal is done.
     */
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
        List<CompletableFuture<Void>> answers = on.stream().map(this::ask).toList();
        return CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
                .thenCompose(nothing -> {
                    if (!on.stream().allMatch(SharedLease::isGone)) {
                        return CompletableFuture.failedFuture(failure);
                    }
                    onEnded.accept(acquisition);
                    return CompletableFuture.completedFuture(false);
                });
    }

    private CompletableFuture<Void> ask(SharedLease lease) {
        return calls.bounded(calls.isThere(lease.id()), TIMEOUT_MILLIS).thenAccept(there -> {
            if (!there) {
                removal.leases().markGone(lease, "etcd no longer has the lease: expired or revoked");
            }
        });
    }

    private void onExecutor(Runnable task, long delayMillis) {
        try {
            calls.executor().schedule(task, delayMillis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            // closed: its leases are revoked or expire ==package-info
        }
    }
}
