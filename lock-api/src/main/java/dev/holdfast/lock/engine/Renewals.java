package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.RenewResult;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Renews all held leases of a client, and ends those whose time has passed.
 *
 * <p>A lease is due a third of its length after the last confirmed request was sent. Each beat of the {@link Pulse} sends
 * one request for all that are due, or will be within half of that time, so that leases acquired at different times
 * fall into step: one a length, to a factor of two, and no more than {@value #LARGEST_BATCH} leases in each. A failure means "unknown": the lease is retried until its validity has passed. A lease that is
 * released takes its schedule with it; there is nothing to cancel.
 */
final class Renewals {
    private static final Logger LOG = LoggerFactory.getLogger(Renewals.class);
    private static final int LARGEST_BATCH = 1_000;
    private static final long LONGEST_RETRY_NANOS = 1_000_000_000;

    private final LockBackend backend;
    private final EngineRuntime runtime;
    private final Requests requests;
    private final Pulse pulse;
    private final long timeoutNanos;
    private final Set<Tenure> held = ConcurrentHashMap.newKeySet();

    Renewals(LockBackend backend, EngineRuntime runtime, Requests requests, Pulse pulse, long timeoutNanos) {
        this.backend = backend;
        this.runtime = runtime;
        this.requests = requests;
        this.pulse = pulse;
        this.timeoutNanos = timeoutNanos;
    }

    void add(Tenure tenure) {
        held.add(tenure);
        pulse.needWithin(Math.max(0, nextLookNanos(tenure, runtime.ticker().nanos())));
    }

    boolean isIdle() {
        return held.isEmpty();
    }

    void remove(Tenure tenure) {
        held.remove(tenure);
    }

    /** A tenure wants a look earlier than planned. */
    void soon() {
        pulse.needWithin(0);
    }

    /** Ends and renews what is due; returns the nanoseconds until the next look. */
    long beat(long nowNanos) {
        List<Tenure> due = new ArrayList<>();
        boolean late = false;
        for (Tenure tenure : held) {
            if (tenure.remainingNanos(runtime.ticker()) <= 0) {
                tenure.holding.expireIfDue(tenure);
            } else if (isRenewable(tenure)) {
                long left = tenure.renewDueNanos - nowNanos;
                if (left <= tenure.thirdOfLeaseNanos() / 2 && tenure.holding.mayRenew(tenure)) {
                    due.add(tenure);
                    late |= left <= 0;
                }
            }
        }
        if (late) {
            send(due);
        }
        long next = Pulse.NEVER;
        for (Tenure tenure : held) {
            next = Math.min(next, nextLookNanos(tenure, nowNanos));
        }
        return next;
    }

    private long nextLookNanos(Tenure tenure, long nowNanos) {
        long untilEnd = tenure.remainingNanos(runtime.ticker());
        return Math.max(0, isRenewable(tenure) ? Math.min(untilEnd, tenure.renewDueNanos - nowNanos) : untilEnd);
    }

    private static boolean isRenewable(Tenure tenure) {
        return (tenure.autoRenew || tenure.isDoubted()) && !tenure.renewing && tenure.abandonedBecause == null;
    }

    /**
     * Leases of about the same length go together, the shortest first, in batches of a bounded size one behind the other:
     * a short lease never waits for the answer to thousands of long ones.
     */
    private void send(List<Tenure> due) {
        due.forEach(tenure -> tenure.renewing = true);
        NavigableMap<Integer, Deque<Tenure>> byLength = new TreeMap<>();
        for (Tenure tenure : due) {
            int length = Long.SIZE - Long.numberOfLeadingZeros(tenure.thirdOfLeaseNanos());
            byLength.computeIfAbsent(length, key -> new ArrayDeque<>()).add(tenure);
        }
        byLength.values().forEach(this::sendInBatches);
    }

    private void sendInBatches(Deque<Tenure> due) {
        List<Tenure> batch = new ArrayList<>(Math.min(due.size(), LARGEST_BATCH));
        while (!due.isEmpty() && batch.size() < LARGEST_BATCH) {
            Tenure next = due.remove();
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
                unknown(List.copyOf(due), "the store did not answer for others");
            }
        });
        if (!backend.info().blocking()) {
            renew.run();
            return;
        }
        try {
            runtime.renewals().execute(renew);
        } catch (Throwable e) { // no thread to be had
            unknown(batch, String.valueOf(e));
            unknown(List.copyOf(due), String.valueOf(e));
        }
    }

    /** Renews one lease now, on the calling thread as far as the backend blocks; the stage ends within the time-out. */
    CompletionStage<?> renewNow(Tenure tenure) {
        return renew(List.of(tenure), true);
    }

    /** The stage tells whether the store has answered; it never fails. */
    private CompletionStage<Boolean> renew(List<Tenure> tenures, boolean asked) {
        List<Grant> grants = tenures.stream().map(tenure -> tenure.grant).toList();
        long timeout = timeoutNanos;
        for (Tenure tenure : tenures) {
            timeout = Math.min(timeout, tenure.thirdOfLeaseNanos());
        }
        long limit = Math.max(1_000_000, timeout);
        CompletableFuture<Boolean> answered = new CompletableFuture<>();
        AtomicBoolean inTime = new AtomicBoolean(true);
        Requests.Request request = requests.begin(limit, () -> {
            if (inTime.getAndSet(false)) {
                unknown(tenures, "the store did not answer within " + Durations.text(limit));
                answered.complete(false);
            }
        });
        Sent sent = Sent.now(runtime.ticker());
        Failures.call(() -> backend.renew(grants, Durations.ceilMillis(limit))).whenComplete((results, error) -> {
            request.end();
            boolean first = inTime.getAndSet(false);
            boolean known = error == null && results.size() == tenures.size();
            if (known) {
                apply(tenures, results, sent, first, asked);
            } else if (first) {
                unknown(tenures, error == null ? "the backend lost count" : String.valueOf(error.getMessage()));
            }
            answered.complete(known);
        });
        return answered;
    }

    private void apply(List<Tenure> tenures, List<RenewResult> results, Sent sent, boolean first, boolean asked) {
        for (int i = 0; i < tenures.size(); i++) {
            Tenure tenure = tenures.get(i);
            RenewResult result = results.get(i);
            if (result instanceof RenewResult.Renewed renewed) {
                tenure.holding.confirm(tenure, sent, renewed.leaseMillis(), asked || tenure.autoRenew);
                tenure.renewing = false;
            } else if (result instanceof RenewResult.Lost lost) {
                tenure.holding.revoke(tenure, lost.reason(), lost.detail());
            } else if (first) {
                unknown(List.of(tenure), ((RenewResult.Unknown) result).detail());
            }
        }
        lookAgain(tenures);
    }

    /** The outcome is not known: the leases are suspect, and tried again while they are valid. */
    private void unknown(List<Tenure> tenures, String detail) {
        long now = runtime.ticker().nanos();
        for (Tenure tenure : tenures) {
            int failed = tenure.failedRenewals.incrementAndGet();
            long most = Math.min(LONGEST_RETRY_NANOS, Math.max(1_000_000, tenure.thirdOfLeaseNanos() / 4));
            long delay = Math.min(most, 20_000_000L << Math.min(failed - 1, 6));
            tenure.renewDueNanos = now + delay / 2 + runtime.random().get().nextLong(delay / 2 + 1);
            tenure.renewing = false;
            LOG.debug(
                    "lock '{}': renewal failed {} times, {}; {}",
                    LockName.printable(tenure.name()),
                    failed,
                    tenure.lastConfirmed(now),
                    detail);
            if (failed == 1) {
                tenure.holding.suspected(tenure, detail);
            }
        }
        lookAgain(tenures);
    }

    private void lookAgain(List<Tenure> tenures) {
        long now = runtime.ticker().nanos();
        long next = Pulse.NEVER;
        for (Tenure tenure : tenures) {
            if (held.contains(tenure)) {
                next = Math.min(next, nextLookNanos(tenure, now));
            }
        }
        if (next != Pulse.NEVER) {
            pulse.needWithin(next);
        }
    }
}
