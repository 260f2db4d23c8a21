package dev.holdfast.lock.engine;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Checks the properties of a {@link Simulation} other than safety:
 *
 * <ul>
 *   <li>grants: a grant has its caller's options, and the lock is busy only because of another caller;
 *   <li>order: a waiter for the exclusive lock is not overtaken by a later caller of the same client;
 *   <li>lease length: a hold starts with the lease minus the duration of its request, and does not end early without a
 *     reason;
 *   <li>promptness: a free lock is granted to its waiter within the time of a signal.
 * </ul>
 *
 * <p>The options of grants and the order are checked in every run, the rest only in undisturbed runs: without faults, pauses,
 * clock jumps, suspect leases, revocations and closes.
 */
final class SimJudge {
    private static final long ROUND_TRIP_NANOS = 7_000_000;
    /** The part of a lease that the margins for clocks and scheduling leave, computed differently from {@link Validity}. */
    private static final long MIN_NANOS_PER_MILLI = 880_000;
    /** A signal, an attempt, and the waiters that may be overtaken or notified before. */
    private static final long SIGNALLED_NANOS = 50_000_000;

    private record Asked(int client, String name, Demand demand, AsyncWaiter waiter, long sinceNanos) {
        boolean isWaiting() {
            return waiter.state == Waiter.State.WAITING;
        }

        /** Of one local queue. */
        boolean isBeside(Asked other) {
            return client == other.client
                    && name.equals(other.name)
                    && demand.equals(Demand.EXCLUSIVE)
                    && other.demand.equals(Demand.EXCLUSIVE);
        }
    }

    private final LongSupplier clockNanos;
    private final SimStore store;
    private final BiConsumer<Boolean, String> check;
    /** In the order of their requests. */
    private final List<Asked> waiting = new ArrayList<>();
    /** By client, name and token. */
    private final Map<String, Asked> holding = new HashMap<>();

    /** Whether this run is undisturbed. */
    boolean undisturbed;
    /** How long a lock may stay free while callers wait, if the store notifies them; 0 if that is not checked. */
    boolean signals;
    /** How often each property was checked. */
    int turns;

    int lengths;
    int prompt;
    int refusals;
    int ends;

    SimJudge(LongSupplier clockNanos, SimStore store, BiConsumer<Boolean, String> check) {
        this.clockNanos = clockNanos;
        this.store = store;
        this.check = check;
    }

    private void check(boolean holds, String otherwise) {
        check.accept(holds, otherwise);
    }

    /** A caller sends a request. */
    void asks(int client, String name, Demand demand, AsyncWaiter waiter) {
        waiting.add(new Asked(client, name, demand, waiter, clockNanos.getAsLong()));
    }

    private @Nullable Asked find(AsyncWaiter waiter) {
        for (Asked asked : waiting) {
            if (asked.waiter == waiter) {
                return asked;
            }
        }
        return null;
    }

    /** The store grants a name that was free until now. */
    void grants(AcquisitionId acquisition) {
        if (!undisturbed || !signals || !acquisition.demand().equals(Demand.EXCLUSIVE)) {
            return;
        }
        long since = Long.MAX_VALUE;
        for (Asked asked : waiting) {
            if (asked.isWaiting() && asked.name.equals(acquisition.name())) {
                since = Math.min(since, asked.sinceNanos);
            }
        }
        if (since != Long.MAX_VALUE) {
            prompt++;
            long free = clockNanos.getAsLong() - Math.max(since, store.freeSinceNanos(acquisition.name()));
            check(free <= SIGNALLED_NANOS, "free for " + free + " ns while a caller waited");
        }
    }

    /** A caller got a hold, with the given lease in the store. */
    void served(AsyncWaiter waiter, Hold hold, Ticker clock, long keptMillis) {
        Asked served = find(waiter);
        if (served == null) {
            return;
        }
        judgeTurn(served);
        waiting.remove(served);
        holding.put(served.client + served.name + hold.token, served);
        HeldGrant heldGrant = hold.heldGrant;
        Grant grant = heldGrant.grant;
        check(grant.demand().equals(served.demand), served.demand + " was asked for, and granted " + grant.demand());
        boolean ofRelease = grant.handle() != null;
        check(
                heldGrant.leaseMillis() == waiter.options.lease().toMillis()
                        && (grant.leaseMillis() == keptMillis || ofRelease && grant.leaseMillis() <= keptMillis),
                "a lease of " + waiter.options.lease() + " was asked for, of which " + keptMillis
                        + " ms are kept, and granted " + grant.leaseMillis() + " ms");
        check(
                heldGrant.autoRenew == (waiter.options.renewal() == Renewal.AUTO),
                "asked for renewal " + waiter.options.renewal());
        boolean fresh = heldGrant.handOffs == 0 && !ofRelease;
        if (undisturbed && fresh && served.demand.equals(Demand.EXCLUSIVE)) {
            lengths++;
            long least = grant.leaseMillis() * MIN_NANOS_PER_MILLI - ROUND_TRIP_NANOS;
            long left = waiter.options
                    .maxHold()
                    .map(bound -> Math.min(least, bound.toNanos() - ROUND_TRIP_NANOS))
                    .orElse(least);
            check(
                    heldGrant.remainingNanos(clock) >= left,
                    "begins with " + heldGrant.remainingNanos(clock) + " ns of " + grant.leaseMillis() + " ms");
        }
    }

    private void judgeTurn(Asked served) {
        boolean later = false;
        for (Asked other : waiting) {
            later |= other == served;
            if (other != served && other.isBeside(served)) {
                turns++;
                check(later || !other.isWaiting(), "passed by a later caller of the same client");
            }
        }
    }

    /** A caller did not get the lock. */
    void refused(AsyncWaiter waiter) {
        Asked refused = find(waiter);
        waiting.remove(refused);
        if (refused == null || !undisturbed || !signals || !refused.demand.equals(Demand.EXCLUSIVE)) {
            return;
        }
        if (waiter.state == Waiter.State.BUSY) {
            refusals++;
            long free = clockNanos.getAsLong() - Math.max(refused.sinceNanos, store.freeSinceNanos(refused.name));
            check(free <= SIGNALLED_NANOS, "refused as busy, but it was free for " + free + " ns");
        }
        check(waiter.state != Waiter.State.FAILED, "fails without a fault: " + waiter.failure);
    }

    /** A hold is lost. */
    void loses(int client, String name, long token, Duration held, LossReason reason) {
        Asked asked = holding.get(client + name + token);
        if (asked == null || !undisturbed || !asked.demand.equals(Demand.EXCLUSIVE)) {
            return;
        }
        ends++;
        Duration bound = asked.waiter.options.maxHold().orElse(Duration.ZERO);
        boolean ofMaxHold = reason == LossReason.MAX_HOLD && !bound.isZero() && held.compareTo(bound) >= 0;
        boolean ofItself = reason == LossReason.EXPIRED && asked.waiter.options.renewal() == Renewal.NONE;
        check(ofMaxHold || ofItself, "lost for no reason: " + reason + " after " + held);
    }
}
