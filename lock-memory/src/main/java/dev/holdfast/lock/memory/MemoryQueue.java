package dev.holdfast.lock.memory;

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
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The holder and the waiters of one name, first come first served. Guarded by the store's mutex.
 *
 * <p>A place whose owner does not ask again lapses as a grant does, so that a waiter that died while it was first in
 * line does not block the others for ever.
 */
final class MemoryQueue {

    /** How often a waiter asks again even if it is not signalled. */
    static final long POLL_MILLIS = 1_000;

    private final String name;
    private final Map<OwnerId, Place> places = new LinkedHashMap<>();
    private @Nullable Holder holder;

    MemoryQueue(String name) {
        this.name = name;
    }

    long entries() {
        return places.size() + (holder == null ? 0L : 1L);
    }

    AcquireResult tryAcquire(AcquireRequest request, MemoryLockBackend backend, long now, LongSupplier nextToken) {
        OwnerId owner = request.acquisition().owner();
        long endNanos = now + TimeUnit.MILLISECONDS.toNanos(request.leaseMillis());
        Holder held = holder;
        if (held != null && held.grant.acquisition().owner().equals(owner)) {
            held.endNanos = endNanos;
            return new AcquireResult.Granted(held.grant);
        }
        if (held == null && isFirst(owner)) {
            places.remove(owner);
            Grant grant = new Grant(request.acquisition(), nextToken.getAsLong(), request.leaseMillis(), null);
            holder = new Holder(grant, request, endNanos);
            return new AcquireResult.Granted(grant);
        }
        long remainingMillis = held == null ? -1 : Math.max(1, TimeUnit.NANOSECONDS.toMillis(held.endNanos - now));
        if (request.waitMillis() == 0) {
            places.remove(owner);
            return new AcquireResult.Busy(remainingMillis, null);
        }
        Place place = places.computeIfAbsent(
                owner, any -> new Place(backend, request.identity().holderInfo(0, Instant.now())));
        place.endNanos = now + TimeUnit.MILLISECONDS.toNanos(Math.max(request.leaseMillis(), 3 * POLL_MILLIS));
        place.signalled = false;
        return new AcquireResult.Busy(remainingMillis, new MemoryTicket(name, owner));
    }

    private boolean isFirst(OwnerId owner) {
        return places.isEmpty() || places.keySet().iterator().next().equals(owner);
    }

    RenewResult renew(Grant grant, long now) {
        Holder held = holder;
        if (held == null) {
            return new RenewResult.Lost(LossReason.REVOKED, "nobody holds it any more");
        }
        if (!held.grant.acquisition().equals(grant.acquisition())) {
            return new RenewResult.Lost(LossReason.REVOKED, "held by token " + held.grant.token() + " now");
        }
        held.endNanos = now + TimeUnit.MILLISECONDS.toNanos(grant.leaseMillis());
        return new RenewResult.Renewed(grant.leaseMillis());
    }

    ReleaseResult release(Grant grant) {
        Holder held = holder;
        if (held == null || !held.grant.acquisition().equals(grant.acquisition())) {
            return ReleaseResult.NOT_HELD;
        }
        holder = null;
        return ReleaseResult.RELEASED;
    }

    void end() {
        holder = null;
    }

    boolean remove(OwnerId owner) {
        boolean removed = places.remove(owner) != null;
        if (holder != null && holder.grant.acquisition().owner().equals(owner)) {
            holder = null;
            removed = true;
        }
        return removed;
    }

    Optional<HolderInfo> holder() {
        return Optional.ofNullable(holder).map(Holder::info);
    }

    ListedLock listed() {
        return new ListedLock(
                name,
                holder(),
                places.values().stream()
                        .limit(ListedLock.MOST_WAITERS)
                        .map(place -> place.info)
                        .toList());
    }

    /** Returns whether the owner still has a place; if not, it had better ask again. */
    boolean subscribe(OwnerId owner, @Nullable Runnable onMaybeFree) {
        Place place = places.get(owner);
        if (place != null) {
            place.onMaybeFree = onMaybeFree;
            place.signalled = false;
        }
        return place != null;
    }

    void dropPlaces(MemoryLockBackend backend) {
        places.values().removeIf(place -> place.backend == backend);
    }

    void dropLapsed(long now) {
        if (holder != null && holder.endNanos - now <= 0) {
            holder = null;
        }
        if (holder == null) {
            // Only who is first can stand in the way.
            Iterator<Place> inOrder = places.values().iterator();
            while (inOrder.hasNext() && inOrder.next().endNanos - now <= 0) {
                inOrder.remove();
            }
        }
    }

    /** Returns the callback of the waiter that can have the lock now, unless it was called since it last asked. */
    @Nullable Runnable nextSignal() {
        if (holder != null || places.isEmpty()) {
            return null;
        }
        Place first = places.values().iterator().next();
        if (first.signalled || first.onMaybeFree == null) {
            return null;
        }
        first.signalled = true;
        return first.onMaybeFree;
    }

    private static final class Holder {
        final Grant grant;
        final HolderInfo info;
        long endNanos;

        Holder(Grant grant, AcquireRequest request, long endNanos) {
            this.grant = grant;
            this.endNanos = endNanos;
            this.info = request.identity().holderInfo(grant.token(), Instant.now());
        }

        HolderInfo info() {
            return info;
        }
    }

    private static final class Place {
        final MemoryLockBackend backend;
        final HolderInfo info;
        long endNanos;
        boolean signalled;

        @Nullable Runnable onMaybeFree;

        Place(MemoryLockBackend backend, HolderInfo info) {
            this.backend = backend;
            this.info = info;
        }
    }
}
