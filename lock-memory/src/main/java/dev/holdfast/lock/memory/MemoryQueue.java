package dev.holdfast.lock.memory;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import java.time.Instant;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The holders and the waiters of one name, in first-come, first-served order, and the limit of its permits. Guarded by the
 * store's mutex.
 *
 * <p>A waiter that does not poll again lapses as a grant does, so that a dead waiter at the head of the queue does not block the
 * others.
 */
final class MemoryQueue {

    /** The interval at which a waiter polls, even without a signal. */
    static final long POLL_MILLIS = 1_000;

    private final String name;
    private final Map<OwnerId, Waiter> waiters = new LinkedHashMap<>();
    private final Map<OwnerId, Holder> holders = new LinkedHashMap<>();
    /** Zero before the first request for permits. */
    private int limit;

    MemoryQueue(String name) {
        this.name = name;
    }

    long entries() {
        return waiters.size() + (long) holders.size();
    }

    /** Whether the queue has no state and can be dropped. */
    boolean isUnused() {
        return entries() == 0 && limit == 0;
    }

    AcquireResult tryAcquire(AcquireRequest request, MemoryLockBackend backend, long now, LongSupplier nextToken) {
        OwnerId owner = request.acquisition().owner();
        long endNanos = now + TimeUnit.MILLISECONDS.toNanos(request.leaseMillis());
        Holder held = holders.get(owner);
        if (held != null) {
            held.endNanos = endNanos;
            return new AcquireResult.Granted(held.grant);
        }
        if (request.demand() instanceof Demand.Permits asked && limit != 0 && limit != asked.limit()) {
            waiters.remove(owner);
            return new AcquireResult.OtherLimit(limit);
        }
        boolean admitted = hasCapacity(owner, request.demand());
        if (!admitted && request.waitMillis() == 0) {
            waiters.remove(owner);
            return new AcquireResult.Busy(remainingMillis(now), null);
        }
        if (request.demand() instanceof Demand.Permits asked) {
            limit = asked.limit();
        }
        if (admitted) {
            waiters.remove(owner);
            Grant grant = new Grant(
                    request.acquisition(),
                    nextToken.getAsLong(),
                    request.leaseMillis(),
                    request.demand() instanceof Demand.Permits ? freeSlot() : 0,
                    null);
            holders.put(owner, new Holder(grant, request, endNanos));
            return new AcquireResult.Granted(grant);
        }
        Waiter waiter = waiters.computeIfAbsent(owner, any -> new Waiter(backend, request));
        waiter.endNanos = now + TimeUnit.MILLISECONDS.toNanos(Math.max(request.leaseMillis(), 3 * POLL_MILLIS));
        waiter.signalled = false;
        return new AcquireResult.Busy(remainingMillis(now), new MemoryTicket(name, owner));
    }

    /** Whether the holders and the waiters ahead leave enough capacity. */
    private boolean hasCapacity(OwnerId owner, Demand demand) {
        Capacity capacity = remainingCapacity(demand instanceof Demand.Permits asked ? asked.limit() : limit);
        for (Map.Entry<OwnerId, Waiter> ahead : waiters.entrySet()) {
            if (ahead.getKey().equals(owner)) {
                break;
            }
            capacity.take(ahead.getValue().demand);
        }
        return capacity.admits(demand);
    }

    private Capacity remainingCapacity(int permits) {
        Capacity capacity = new Capacity(permits);
        for (Holder holder : holders.values()) {
            capacity.take(holder.grant.demand());
        }
        return capacity;
    }

    private int freeSlot() {
        int slot = 1;
        while (isTaken(slot)) {
            slot++;
        }
        return slot;
    }

    private boolean isTaken(int slot) {
        return holders.values().stream().anyMatch(holder -> holder.grant.slot() == slot);
    }

    /** Milliseconds until the first of the holders' leases ends; -1 if there is no holder. */
    private long remainingMillis(long now) {
        return holders.values().stream()
                .mapToLong(held -> Math.max(1, TimeUnit.NANOSECONDS.toMillis(held.endNanos - now)))
                .min()
                .orElse(-1);
    }

    RenewResult renew(Grant grant, long now) {
        Holder held = holders.get(grant.acquisition().owner());
        if (held == null) {
            return new RenewResult.Lost(LossReason.REVOKED, "no longer held; " + holderText());
        }
        held.endNanos = now + TimeUnit.MILLISECONDS.toNanos(grant.leaseMillis());
        return new RenewResult.Renewed(grant.leaseMillis());
    }

    private String holderText() {
        return holder().map(now -> "now held with token " + now.token()).orElse("it has no holder");
    }

    ReleaseResult release(Grant grant) {
        return holders.remove(grant.acquisition().owner()) == null ? ReleaseResult.NOT_HELD : ReleaseResult.RELEASED;
    }

    void end() {
        holders.clear();
    }

    boolean remove(OwnerId owner) {
        boolean wasWaiting = waiters.remove(owner) != null;
        return holders.remove(owner) != null || wasWaiting;
    }

    /** Returns the limit that is stored afterwards. */
    int changeLimit(int from, int to) {
        if (limit == 0 || limit == from) {
            limit = to;
            waiters.values().forEach(waiter -> waiter.signalled = false);
        }
        return limit;
    }

    Optional<HolderInfo> holder() {
        return holders().stream().findFirst();
    }

    /** In the order of their tokens. */
    List<HolderInfo> holders() {
        return holders.values().stream().map(holder -> holder.info).toList();
    }

    ListedLock listed() {
        return new ListedLock(
                name,
                holders(),
                waiters.values().stream()
                        .limit(ListedLock.MAX_WAITERS)
                        .map(waiter -> waiter.info)
                        .toList());
    }

    /** Returns whether the owner is still queued; if not, it should try again. */
    boolean subscribe(OwnerId owner, @Nullable Runnable onMaybeFree) {
        Waiter waiter = waiters.get(owner);
        if (waiter != null) {
            waiter.onMaybeFree = onMaybeFree;
            waiter.signalled = false;
        }
        return waiter != null;
    }

    void dropWaiters(MemoryLockBackend backend) {
        waiters.values().removeIf(waiter -> waiter.backend == backend);
    }

    void dropLapsed(long now) {
        if (!holders.isEmpty()) {
            holders.values().removeIf(holder -> holder.endNanos - now <= 0);
        }
        if (isHeldAlone()) {
            return; // waiters are all blocked by the holder, so lapsed ones block no other waiter yet
        }
        if (!holders.isEmpty()) {
            waiters.values().removeIf(waiter -> waiter.endNanos - now <= 0);
            return;
        }
        // Only the first waiter can block others.
        Iterator<Waiter> inOrder = waiters.values().iterator();
        while (inOrder.hasNext() && inOrder.next().endNanos - now <= 0) {
            inOrder.remove();
        }
    }

    private boolean isHeldAlone() {
        for (Holder holder : holders.values()) {
            if (holder.grant.demand() instanceof Demand.Exclusive) {
                return true;
            }
        }
        return false;
    }

    /** Passes on the callbacks of all waiters that can acquire now, except those that were signalled since their last attempt. */
    void signal(Consumer<Runnable> signals) {
        if (waiters.isEmpty()) {
            return;
        }
        Capacity capacity = remainingCapacity(limit);
        for (Waiter waiter : waiters.values()) {
            boolean refused = waiter.demand instanceof Demand.Permits asked && asked.limit() != limit;
            if (!refused && !capacity.admits(waiter.demand)) {
                return; // all waiters behind it are blocked as well
            }
            if (!refused) {
                capacity.take(waiter.demand);
            }
            if (!waiter.signalled && waiter.onMaybeFree != null) {
                waiter.signalled = true;
                signals.accept(waiter.onMaybeFree);
            }
        }
    }

    private static final class Holder {
        final Grant grant;
        final HolderInfo info;
        long endNanos;

        Holder(Grant grant, AcquireRequest request, long endNanos) {
            this.grant = grant;
            this.endNanos = endNanos;
            this.info = request.identity().holderInfo(grant.token(), Instant.now(), grant.demand(), grant.slot());
        }
    }

    private static final class Waiter {
        final MemoryLockBackend backend;
        final Demand demand;
        final HolderInfo info;
        long endNanos;
        boolean signalled;

        @Nullable Runnable onMaybeFree;

        Waiter(MemoryLockBackend backend, AcquireRequest request) {
            this.backend = backend;
            this.demand = request.demand();
            this.info = request.identity().holderInfo(0, Instant.now(), demand, 0);
        }
    }
}
