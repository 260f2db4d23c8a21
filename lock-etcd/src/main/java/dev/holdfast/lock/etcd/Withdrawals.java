package dev.holdfast.lock.etcd;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.FailureTranslator;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Ends acquisitions on the server, by {@link EtcdRemoval}. The engine asks no more for a removal that etcd has refused, or
 * has not answered for as long as a lease, because what is left ends with its lease. Here other locks may keep that lease
 * alive. So a removal that has failed is repeated until it is done or the lease has run out: one removal at a time, with a
 * pause that doubles while they fail. Nobody else on the lease is concerned.
 *
 * <p>Thread-safe: what has failed is known to the executor's one thread only.
 */
final class Withdrawals {
    private static final long FIRST_PAUSE_MILLIS = 500;
    private static final long LONGEST_PAUSE_MILLIS = 5_000;
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
     * with whether the key was there with that create revision.
     */
    CompletableFuture<Boolean> withdraw(EtcdAcquisition place, long revision, Deadline deadline) {
        return once(place, revision, deadline).exceptionallyCompose(failure -> {
            onExecutor(() -> keep(place), 0);
            return CompletableFuture.failedFuture(EtcdFailures.isLoginRefused(failure) ? untilLogin(failure) : failure);
        });
    }

    /** Right credentials make it pass, so the engine is to ask again. */
    private static LockUnavailableException untilLogin(Throwable failure) {
        Throwable cause = FailureTranslator.unwrap(failure);
        return new LockUnavailableException("etcd says '" + cause.getMessage() + "'; check user and password", cause);
    }

    private CompletableFuture<Boolean> once(EtcdAcquisition place, long revision, Deadline deadline) {
        place.ending();
        if (place.isNowhere()) {
            forget.accept(place);
            return CompletableFuture.completedFuture(false);
        }
        return removal.of(place, revision, place.openCreations(), deadline).thenApply(there -> {
            place.tombstoned();
            forget.accept(place);
            return there;
        });
    }

    private void keep(EtcdAcquisition place) {
        if (!place.isEnded() && failed.add(place)) {
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
        failed.removeIf(place -> place.isEnded() || hasRunOut(place));
        Iterator<EtcdAcquisition> oldest = failed.iterator();
        if (!oldest.hasNext()) {
            pauseMillis = FIRST_PAUSE_MILLIS;
            return;
        }
        EtcdAcquisition place = oldest.next();
        oldest.remove();
        planned = true;
        once(place, 0, new Deadline(System.nanoTime(), TIMEOUT_MILLIS))
                .whenComplete((there, failure) -> onExecutor(() -> answered(place, failure == null), 0));
    }

    private void answered(EtcdAcquisition place, boolean done) {
        planned = false;
        pauseMillis = done ? FIRST_PAUSE_MILLIS : Math.min(LONGEST_PAUSE_MILLIS, 2 * pauseMillis);
        if (!done) {
            failed.add(place);
        }
        plan(done ? 0 : pauseMillis);
    }

    /** No lease that it may be on was renewed for twice its length: nothing of it is there any more. */
    private boolean hasRunOut(EtcdAcquisition place) {
        long now = System.nanoTime();
        boolean over = java.util.stream.Stream.concat(place.mayBeOn().stream(), place.openCreations().stream())
                .allMatch(lease -> lease.isGone() || lease.certainNanos(now) < -lease.ttlNanos());
        if (over) {
            forget.accept(place);
        }
        return over;
    }

    private void onExecutor(Runnable task, long delayMillis) {
        try {
            calls.executor().schedule(task, delayMillis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            // closed: its leases are revoked, or run out
        }
    }
}
