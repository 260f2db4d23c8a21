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
 * The holders and the waiters of one name, first come first served, and the limit of its permits. Guarded by the store's mutex.
 *
 * <p>A place whose owner does not ask again lapses as a grant does, so that a waiter that died while it was first in
 * line does not block the others for ever.
 */
final class MemoryQueue {

    /** How often a waiter asks again even if it is not signalled. */
    static final long POLL_MILLIS = 1_000;

    private final String name;
    private final Map<OwnerId, Place> places = new LinkedHashMap<>();
    private final Map<OwnerId, Holder> holders = new LinkedHashMap<>();
    /** Zero if no permits were asked for yet. */
    private int limit;

    MemoryQueue(String name) {
        this.name = name;
    }

    long entries() {
        return places.size() + (long) holders.size();
    }

    /** Nothing has to be remembered of it. */
    boolean isForgettable() {
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
            places.remove(owner);
            return new AcquireResult.OtherLimit(limit);
        }
        boolean room = hasRoom(owner, request.demand());
        if (!room && request.waitMillis() == 0) {
            places.remove(owner);
            return new AcquireResult.Busy(remainingMillis(now), null);
        }
        if (request.demand() instanceof Demand.Permits asked) {
            limit = asked.limit();
        }
        if (room) {
            places.remove(owner);
            Grant grant = new Grant(
                    request.acquisition(),
                    nextToken.getAsLong(),
                    request.leaseMillis(),
                    request.demand() instanceof Demand.Permits ? freeSlot() : 0,
                    null);
            holders.put(owner, new Holder(grant, request, endNanos));
            return new AcquireResult.Granted(grant);
        }
        Place place = places.computeIfAbsent(owner, any -> new Place(backend, request));
        place.endNanos = now + TimeUnit.MILLISECONDS.toNanos(Math.max(request.leaseMillis(), 3 * POLL_MILLIS));
        place.signalled = false;
        return new AcquireResult.Busy(remainingMillis(now), new MemoryTicket(name, owner));
    }

    /** Whether what is held and what is ahead in line leaves room. */
    private boolean hasRoom(OwnerId owner, Demand demand) {
        Room room = roomBesideHolders(demand instanceof Demand.Permits asked ? asked.limit() : limit);
        for (Map.Entry<OwnerId, Place> ahead : places.entrySet()) {
            if (ahead.getKey().equals(owner)) {
                break;
            }
            room.take(ahead.getValue().demand);
        }
        return room.isFor(demand);
    }

    private Room roomBesideHolders(int permits) {
        Room room = new Room(permits);
        for (Holder holder : holders.values()) {
            room.take(holder.grant.demand());
        }
        return room;
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

    /** Until the first of the holders' leases ends; -1 if there is none. */
    private long remainingMillis(long now) {
        return holders.values().stream()
                .mapToLong(held -> Math.max(1, TimeUnit.NANOSECONDS.toMillis(held.endNanos - now)))
                .min()
                .orElse(-1);
    }

    RenewResult renew(Grant grant, long now) {
        Holder held = holders.get(grant.acquisition().owner());
        if (held == null) {
            return new RenewResult.Lost(LossReason.REVOKED, "not held any more; " + holderText());
        }
        held.endNanos = now + TimeUnit.MILLISECONDS.toNanos(grant.leaseMillis());
        return new RenewResult.Renewed(grant.leaseMillis());
    }

    private String holderText() {
        return holder().map(now -> "held by token " + now.token() + " now").orElse("nobody holds it");
    }

    ReleaseResult release(Grant grant) {
        return holders.remove(grant.acquisition().owner()) == null ? ReleaseResult.NOT_HELD : ReleaseResult.RELEASED;
    }

    void end() {
        holders.clear();
    }

    boolean remove(OwnerId owner) {
        boolean waited = places.remove(owner) != null;
        return holders.remove(owner) != null || waited;
    }

    /** Returns the limit that is stored then. */
    int changeLimit(int from, int to) {
        if (limit == 0 || limit == from) {
            limit = to;
            places.values().forEach(place -> place.signalled = false);
        }
        return limit;
    }

    Optional<HolderInfo> holder() {
        return holders().stream().findFirst();
    }

    /** Grants are kept in the order of their tokens. */
    List<HolderInfo> holders() {
        return holders.values().stream().map(holder -> holder.info).toList();
    }

    ListedLock listed() {
        return new ListedLock(
                name,
                holders(),
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
        if (!holders.isEmpty()) {
            holders.values().removeIf(holder -> holder.endNanos - now <= 0);
        }
        if (isHeldAlone()) {
            return; // nobody is in the way of anybody yet
        }
        if (!holders.isEmpty()) {
            places.values().removeIf(place -> place.endNanos - now <= 0);
            return;
        }
        // Only who is first can stand in the way.
        Iterator<Place> inOrder = places.values().iterator();
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

    /** Tells the callbacks of all waiters that can have the lock now, but those that were called since they last asked. */
    void signal(Consumer<Runnable> signals) {
        if (places.isEmpty()) {
            return;
        }
        Room room = roomBesideHolders(limit);
        for (Place place : places.values()) {
            boolean refused = place.demand instanceof Demand.Permits asked && asked.limit() != limit;
            if (!refused && !room.isFor(place.demand)) {
                return; // and nobody behind it either
            }
            if (!refused) {
                room.take(place.demand);
            }
            if (!place.signalled && place.onMaybeFree != null) {
                place.signalled = true;
                signals.accept(place.onMaybeFree);
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

    private static final class Place {
        final MemoryLockBackend backend;
        final Demand demand;
        final HolderInfo info;
        long endNanos;
        boolean signalled;

        @Nullable Runnable onMaybeFree;

        Place(MemoryLockBackend backend, AcquireRequest request) {
            this.backend = backend;
            this.demand = request.demand();
            this.info = request.identity().holderInfo(0, Instant.now(), demand, 0);
        }
    }
}
