package dev.holdfast.lock.engine.internal.hold;

import dev.holdfast.lock.engine.internal.runtime.Durations;
import dev.holdfast.lock.engine.internal.runtime.EngineRuntime;
import dev.holdfast.lock.engine.internal.runtime.Housekeeper;
import dev.holdfast.lock.engine.internal.runtime.InFlightRequests;
import dev.holdfast.lock.engine.internal.runtime.RequestTime;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.text.Printable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Renews all held leases of a client, and ends those whose time has passed.
 *
 * <p>A lease is due a third of its length after the last confirmed request was sent. Each run of the {@link Housekeeper} sends
 * one request for all leases that are due, or will be within half of that time, so that leases acquired at different times are
 * renewed together: leases of similar length (up to a factor of two) share a request of at most {@value #MAX_BATCH} leases. A
 * failure means that the outcome is unknown: the renewal is retried until the lease's validity has passed. The schedule of a
 * lease is part of it, so a release has nothing to cancel.
 */
public final class Renewals {
    private static final BackgroundLog LOG = BackgroundLog.of(Renewals.class);
    private static final int MAX_BATCH = 1_000;
    private static final long MAX_RETRY_NANOS = 1_000_000_000;

    private final LockBackend backend;
    private final EngineRuntime runtime;
    private final InFlightRequests requests;
    private final Housekeeper housekeeper;
    private final long timeoutNanos;
    private final Set<HeldGrant> held = ConcurrentHashMap.newKeySet();

    public Renewals(
            LockBackend backend,
            EngineRuntime runtime,
            InFlightRequests requests,
            Housekeeper housekeeper,
            long timeoutNanos) {
        this.backend = backend;
        this.runtime = runtime;
        this.requests = requests;
        this.housekeeper = housekeeper;
        this.timeoutNanos = timeoutNanos;
    }

    public void add(HeldGrant heldGrant) {
        held.add(heldGrant);
        housekeeper.needWithin(
                Math.max(0, nextRunNanos(heldGrant, runtime.ticker().nanos())));
    }

    public boolean isIdle() {
        return held.isEmpty();
    }

    public void remove(HeldGrant heldGrant) {
        held.remove(heldGrant);
    }

    /** Schedules a run at once. */
    public void soon() {
        housekeeper.needWithin(0);
    }

    /** Ends the leases whose time has passed and renews those that are due; returns the nanoseconds until the next run. */
    public long run(long nowNanos) {
        List<HeldGrant> due = new ArrayList<>();
        boolean late = false;
        for (HeldGrant heldGrant : held) {
            if (heldGrant.remainingNanos(runtime.ticker()) <= 0) {
                heldGrant.listener.expireSoon(heldGrant);
            } else if (isRenewable(heldGrant)) {
                long left = heldGrant.renewDueNanos - nowNanos;
                if (left <= heldGrant.thirdOfLeaseNanos() / 2 && heldGrant.listener.prepareRenewal(heldGrant)) {
                    due.add(heldGrant);
                    late |= left <= 0;
                }
            }
        }
        if (late) {
            send(due);
        }
        long next = Housekeeper.NEVER;
        for (HeldGrant heldGrant : held) {
            next = Math.min(next, nextRunNanos(heldGrant, nowNanos));
        }
        return next;
    }

    private long nextRunNanos(HeldGrant heldGrant, long nowNanos) {
        long untilEnd = heldGrant.remainingNanos(runtime.ticker());
        return Math.max(0, isRenewable(heldGrant) ? Math.min(untilEnd, heldGrant.renewDueNanos - nowNanos) : untilEnd);
    }

    private static boolean isRenewable(HeldGrant heldGrant) {
        return (heldGrant.autoRenew || heldGrant.isDoubted())
                && !heldGrant.renewing
                && heldGrant.abandonedBecause == null;
    }

    /**
     * Groups leases of similar length, the shortest first, and sends each group in batches one after the other. So a short lease
     * never waits for the answer to thousands of long ones.
     */
    private void send(List<HeldGrant> due) {
        try {
            due.forEach(heldGrant -> heldGrant.renewing = true);
            sendByLength(due);
        } catch (
                Throwable
                        e) { // no memory: the next run sends them again, which changes nothing for those that were sent
            mayBeSentAgain(due);
            throw e;
        }
    }

    private void sendByLength(List<HeldGrant> due) {
        NavigableMap<Integer, Deque<HeldGrant>> byLength = new TreeMap<>();
        for (HeldGrant heldGrant : due) {
            int length = Long.SIZE - Long.numberOfLeadingZeros(heldGrant.thirdOfLeaseNanos());
            byLength.computeIfAbsent(length, key -> new ArrayDeque<>()).add(heldGrant);
        }
        byLength.values().forEach(this::sendInBatches);
    }

    private void sendInBatches(Deque<HeldGrant> due) {
        List<HeldGrant> batch = new ArrayList<>(Math.min(due.size(), MAX_BATCH));
        while (!due.isEmpty() && batch.size() < MAX_BATCH) {
            HeldGrant next = due.remove();
            if (held.contains(next)) { // not released meanwhile
                batch.add(next);
            }
        }
        if (batch.isEmpty()) {
            return;
        }
        Runnable renew = () -> renew(batch, false).thenAccept(known -> {
            if (known) {
                sendInBatches(due);
            } else {
                unknown(List.copyOf(due), "the store did not answer for other leases");
            }
        });
        if (!backend.info().blocking()) {
            renew.run();
            return;
        }
        try {
            runtime.renewals().execute(renew);
        } catch (Throwable e) { // no thread could be started
            unknown(batch, Printable.ofFailure(e));
            unknown(List.copyOf(due), Printable.ofFailure(e));
        }
    }

    /** Renews one lease now, on the calling thread if the backend blocks; the stage completes within the time-out. */
    public CompletionStage<?> renewNow(HeldGrant heldGrant) {
        return renew(List.of(heldGrant), true);
    }

    /** Whatever happened to a request, its leases are renewed by the next one. Needs no memory. */
    private static void mayBeSentAgain(List<HeldGrant> heldGrants) {
        for (int i = 0; i < heldGrants.size(); i++) {
            heldGrants.get(i).renewing = false;
        }
    }

    /** The stage completes with whether the store has answered; it never fails. */
    private CompletionStage<Boolean> renew(List<HeldGrant> heldGrants, boolean asked) {
        try {
            return request(heldGrants, asked);
        } catch (Throwable e) { // no memory for the request
            mayBeSentAgain(heldGrants);
            scheduleNextRun(heldGrants);
            return CompletableFuture.completedStage(false);
        }
    }

    private CompletionStage<Boolean> request(List<HeldGrant> heldGrants, boolean asked) {
        List<Grant> grants =
                heldGrants.stream().map(heldGrant -> heldGrant.grant).toList();
        long timeout = timeoutNanos;
        for (HeldGrant heldGrant : heldGrants) {
            timeout = Math.min(timeout, heldGrant.thirdOfLeaseNanos());
        }
        long limit = Math.max(1_000_000, timeout);
        CompletableFuture<Boolean> answered = new CompletableFuture<>();
        AtomicBoolean inTime = new AtomicBoolean(true);
        InFlightRequests.Request request = requests.begin(limit, () -> {
            if (inTime.getAndSet(false)) {
                unknown(heldGrants, "the store did not answer within " + Durations.text(limit));
                answered.complete(false);
            }
        });
        RequestTime sent = RequestTime.now(runtime.ticker());
        FailureTranslator.guard(() -> backend.renew(grants, Durations.ceilMillis(limit)))
                .whenComplete((results, error) -> {
                    request.end();
                    boolean first = inTime.getAndSet(false);
                    boolean known = error == null && results.size() == heldGrants.size();
                    try {
                        if (known) {
                            apply(heldGrants, results, sent, first, asked);
                        } else if (first) {
                            unknown(heldGrants, detail(heldGrants, results, error));
                        }
                    } catch (Throwable e) {
                        mayBeSentAgain(heldGrants);
                        scheduleNextRun(heldGrants);
                    } finally {
                        answered.complete(known);
                    }
                });
        return answered;
    }

    private static String detail(List<HeldGrant> asked, List<RenewResult> results, @Nullable Throwable error) {
        return error == null
                ? "the backend returned " + results.size() + " results for " + asked.size() + " grants"
                : String.valueOf(Printable.messageOf(FailureTranslator.unwrap(error)));
    }

    private void apply(
            List<HeldGrant> heldGrants, List<RenewResult> results, RequestTime sent, boolean first, boolean asked) {
        for (int i = 0; i < heldGrants.size(); i++) {
            HeldGrant heldGrant = heldGrants.get(i);
            RenewResult result = results.get(i);
            if (result instanceof RenewResult.Renewed renewed) {
                heldGrant.listener.renewed(heldGrant, sent, renewed.leaseMillis(), asked || heldGrant.autoRenew);
            } else if (result instanceof RenewResult.Lost lost) {
                heldGrant.listener.ended(heldGrant, lost.reason(), lost.detail());
            } else if (first) {
                unknown(List.of(heldGrant), ((RenewResult.Unknown) result).detail());
            }
        }
    }

    /** Marks leases with an unknown outcome as suspect, and schedules a retry while they are valid. */
    private void unknown(List<HeldGrant> heldGrants, String detail) {
        long now = runtime.ticker().nanos();
        for (HeldGrant heldGrant : heldGrants) {
            int failed = heldGrant.renewalFailed(detail);
            long max = Math.min(MAX_RETRY_NANOS, Math.max(1_000_000, heldGrant.thirdOfLeaseNanos() / 4));
            long delay = Math.min(max, 20_000_000L << Math.min(failed - 1, 6));
            heldGrant.renewDueNanos = now + delay / 2 + runtime.random().get().nextLong(delay / 2 + 1);
            heldGrant.renewing = false;
            LOG.debug(
                    "lock '{}': renewal failed {} times, {}; {}",
                    LockName.printable(heldGrant.name()),
                    failed,
                    heldGrant.lastConfirmed(now),
                    detail);
            if (failed == 1) {
                heldGrant.listener.suspected(heldGrant, detail);
            }
        }
        scheduleNextRun(heldGrants);
    }

    /** Schedules the next run for a lease that was renewed. */
    public void scheduleNextRun(HeldGrant heldGrant) {
        if (held.contains(heldGrant)) {
            housekeeper.needWithin(nextRunNanos(heldGrant, runtime.ticker().nanos()));
        }
    }

    private void scheduleNextRun(List<HeldGrant> heldGrants) {
        long now = runtime.ticker().nanos();
        long next = Housekeeper.NEVER;
        for (HeldGrant heldGrant : heldGrants) {
            if (held.contains(heldGrant)) {
                next = Math.min(next, nextRunNanos(heldGrant, now));
            }
        }
        if (next != Housekeeper.NEVER) {
            housekeeper.needWithin(next);
        }
    }
}
