package dev.holdfast.lock.engine;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The simulated server. With {@code queues} it keeps a FIFO queue and signals its head; with {@code sticky} a grant does not
 * expire, as in stores that bind it to a session that is still alive. A {@link SimKind} defines the behaviour of a kind of
 * store. A {@link Fault} breaks it deliberately.
 */
final class SimStore {
    /** The faults that the checks must be able to find. */
    enum Fault {
        NONE,
        GRANTS_WHILE_HELD,
        RELEASES_FOR_ANYBODY,
        RENEWS_WHAT_IS_GONE,
        RESETS_TOKENS,
        FORGETS_OWNER_ON_RETRY,
        /** A late attempt of a holder resets the lock to the lease of its first grant. */
        LATE_ATTEMPT_PUTS_BACK,
        IGNORES_ABANDON,
        /** After its state was lost, a name starts with the first token again, regardless of the clock. */
        FORGETS_TOKENS,
        /** A token is the position in the queue, which restarts when the queue is empty. */
        TOKEN_IS_PLACE,
        READER_BESIDE_WRITER,
        WRITER_BESIDE_READERS,
        LIMIT_IGNORED,
        SLOT_TWICE,
        SHARE_ENDS_WITH_ANOTHER;

        /** Whether only requests for shares or permits can detect the fault. */
        boolean isOfDemands() {
            return compareTo(READER_BESIDE_WRITER) >= 0;
        }
    }

    /** The limit of every name's permits. */
    static final int LIMIT = 3;

    record SimTicket(String name, OwnerId owner) implements Ticket {}

    private static final long PASSED_NANOS = 30_000_000;
    private static final long CALLED_NANOS = 700_000_000;
    private static final long HANDED_OVER_MILLIS = 2_000;
    private static final long ENTRY_NANOS = 5_000_000_000L;

    /**
     * An entry in the queue. In a store without a queue but with notifications: a subscribed caller, without an entry on the
     * server.
     */
    private static final class Entry {
        final SimWorld.Machine machine;
        final Demand demand;
        final long sinceNanos;
        final long number;
        long endsNanos = Long.MAX_VALUE;
        boolean called;
        /** The latest attempt that has arrived. */
        AcquireRequest latest;

        Entry(SimWorld.Machine machine, AcquireRequest latest, long sinceNanos, long number) {
            this.machine = machine;
            this.latest = latest;
            this.demand = latest.demand();
            this.sinceNanos = sinceNanos;
            this.number = number;
        }
    }

    private static final class Lock {
        final Map<OwnerId, Held> holders = new LinkedHashMap<>();
        long token;
        final Map<OwnerId, Entry> queue = new LinkedHashMap<>();
        /** When the last holder left. */
        long freeSinceNanos;
    }

    private static final class Held {
        final SimWorld.Machine machine;
        final Grant grant;
        long expiresNanos;

        Held(SimWorld.Machine machine, Grant grant) {
            this.machine = machine;
            this.grant = grant;
        }
    }

    private final SimWorld world;
    private final SimKind kind;
    private final boolean notifies;
    private final boolean queues;
    private final boolean sticky;
    private final Fault fault;
    private final Map<String, Lock> locks = new HashMap<>();
    /**
     * When each acquisition was last abandoned: this gives guarantees about the attempts before it, but not about those after
     * it.
     */
    private final Map<OwnerId, Long> abandoned = new HashMap<>();
    /** When the lease of each acquisition's first grant ends. */
    private final Map<OwnerId, Long> firstEnds = new HashMap<>();
    /** Ended by an administrator, which no client can detect in time. */
    final Set<OwnerId> revoked = new HashSet<>();

    private final Map<OwnerId, Runnable> listeners = new HashMap<>();
    Consumer<AcquisitionId> onGrant = acquisition -> {};
    int grants;
    /** Of those, without a request of the waiter. */
    int handOvers;
    /**
     * How often behaviour specific to its kind occurred: lost state, ended sessions, spurious signals, notifications of all
     * waiters.
     */
    int ofItsKind;

    private long requests;
    /** Of the whole store. */
    private long number;

    SimStore(SimWorld world, SimKind kind, boolean queues, boolean notifies, boolean sticky, Fault fault) {
        this.world = world;
        this.kind = kind;
        this.notifies = notifies;
        this.queues = queues;
        this.sticky = sticky;
        this.fault = fault;
    }

    private Lock lock(String name) {
        Lock lock = locks.computeIfAbsent(name, key -> new Lock());
        List<OwnerId> ended = new ArrayList<>();
        lock.holders.forEach((owner, held) -> {
            boolean timeIsUp =
                    world.now() >= (kind == SimKind.ZOOKEEPER ? sessionEnds(held.machine) : held.expiresNanos);
            if (sticky ? held.machine.dead && timeIsUp : timeIsUp) {
                ended.add(owner);
            }
        });
        lock.queue.values().removeIf(entry -> entry.machine.dead || entry.endsNanos <= world.now());
        for (OwnerId owner : ended) {
            Held held = lock.holders.get(owner);
            if (held != null) {
                end(lock, owner);
                if (kind == SimKind.ZOOKEEPER) {
                    endSession(held.machine);
                }
            }
        }
        if (kind == SimKind.REDIS
                && lock.holders.isEmpty()
                && lock.queue.isEmpty()
                && lock.token > 0
                && world.chance(0.1)) {
            ofItsKind++;
            lock.token = 0;
        }
        return lock;
    }

    /** A session lives as long as the longest confirmation of any of its grants. */
    private long sessionEnds(SimWorld.Machine machine) {
        return locks.values().stream()
                .flatMap(lock -> lock.holders.values().stream())
                .filter(held -> held.machine == machine)
                .mapToLong(held -> held.expiresNanos)
                .max()
                .orElse(0);
    }

    /** Removes all its nodes. */
    private void endSession(SimWorld.Machine machine) {
        ofItsKind++;
        for (Lock lock : locks.values()) {
            boolean some = lock.queue.values().removeIf(entry -> entry.machine == machine);
            List<OwnerId> theirs = lock.holders.entrySet().stream()
                    .filter(held -> held.getValue().machine == machine)
                    .map(Map.Entry::getKey)
                    .toList();
            theirs.forEach(owner -> end(lock, owner));
            if (some && theirs.isEmpty()) {
                signal(lock);
            }
        }
    }

    /** Makes the first waiter the holder and notifies it; returns false if it has to send a request. */
    private boolean handOver(Lock lock) {
        Map.Entry<OwnerId, Entry> first =
                lock.queue.entrySet().stream().findFirst().orElse(null);
        if (first == null || !lock.holders.isEmpty()) {
            return false;
        }
        Entry heir = first.getValue();
        Consumer<Grant> onHandOver = heir.latest.onHandOver();
        if (onHandOver == null || !(heir.demand instanceof Demand.Exclusive)) {
            return false;
        }
        ofItsKind++;
        lock.token = nextToken(lock, first.getKey());
        long span = Math.min(heir.latest.leaseMillis(), HANDED_OVER_MILLIS);
        Grant grant = new Grant(heir.latest.acquisition(), lock.token, span, heir.latest.leaseMillis());
        begin(lock, heir.machine, grant, world.now() + span * 1_000_000);
        onHandOver.accept(grant);
        return true;
    }

    private void begin(Lock lock, SimWorld.Machine machine, Grant grant, long ends) {
        grants++;
        handOvers += grant.handle() == null ? 0 : 1;
        onGrant.accept(grant.acquisition());
        OwnerId owner = grant.acquisition().owner();
        lock.queue.remove(owner);
        Held begun = new Held(machine, grant);
        begun.expiresNanos = ends;
        firstEnds(owner, ends);
        lock.holders.put(owner, begun);
    }

    /** By a release or an abandonment, which may hand over. */
    private void endBy(Lock lock, OwnerId owner) {
        if (fault != Fault.NONE) {
            end(lock, owner);
            return;
        }
        remove(lock, owner);
        if (!handOver(lock)) {
            signal(lock);
        }
    }

    private void remove(Lock lock, OwnerId owner) {
        lock.holders.remove(owner);
        lock.freeSinceNanos = world.now();
    }

    private void end(Lock lock, OwnerId owner) {
        remove(lock, owner);
        if (fault == Fault.SHARE_ENDS_WITH_ANOTHER) {
            lock.holders.values().removeIf(held -> held.grant.demand() instanceof Demand.Shared);
        }
        if (fault == Fault.RESETS_TOKENS) {
            lock.token = 0;
        }
        signal(lock);
    }

    /** An entry's number is greater than the tokens of earlier entries, but not than those of entries that overtook it. */
    private long nextToken(Lock lock, OwnerId owner) {
        if (kind == SimKind.REDIS && fault != Fault.FORGETS_TOKENS) {
            return Math.max(lock.token + 1, world.now() / 1000);
        }
        if (!kind.numbersEntries()) {
            return lock.token + 1;
        }
        Entry entry = lock.queue.get(owner);
        return Math.max(lock.token + 1, entry == null ? nextNumber() : entry.number);
    }

    /** Other clients write as well. */
    private long nextNumber() {
        number += 1 + world.random.nextInt(3);
        return number;
    }

    /** Notifies all waiters that can be granted, or all waiters. */
    private void signal(Lock lock) {
        if (notifies) {
            ofItsKind += lock.queue.isEmpty() ? 0 : 1;
            List.copyOf(lock.queue.keySet()).forEach(this::call);
        } else {
            List<Demand> ahead = new ArrayList<>(demands(lock));
            for (Map.Entry<OwnerId, Entry> waiter : List.copyOf(lock.queue.entrySet())) {
                Entry entry = waiter.getValue();
                if (!hasRoom(ahead, entry.demand)) {
                    break;
                }
                ahead.add(entry.demand);
                call(waiter.getKey());
                if (kind == SimKind.REDIS) {
                    entry.called = true;
                    entry.endsNanos = Math.min(entry.endsNanos, world.now() + CALLED_NANOS);
                }
            }
        }
        if (kind == SimKind.ETCD && world.chance(0.1)) { // a spurious signal
            lock.queue.keySet().stream().skip(1).findFirst().ifPresent(second -> {
                ofItsKind++;
                call(second);
            });
        }
    }

    private void call(OwnerId owner) {
        Runnable listener = listeners.get(owner);
        if (listener != null) {
            listener.run();
        }
    }

    private static List<Demand> demands(Lock lock) {
        return lock.holders.values().stream().map(held -> held.grant.demand()).toList();
    }

    /**
     * The compatibility rule, written differently from the stores: each pair must be compatible, and the sum of the permits
     * within the limit.
     */
    private boolean hasRoom(List<Demand> ahead, Demand demand) {
        int permits = 0;
        for (Demand other : ahead) {
            boolean beside = demand.leavesRoomFor(other)
                    || fault == Fault.READER_BESIDE_WRITER && demand instanceof Demand.Shared
                    || fault == Fault.WRITER_BESIDE_READERS && other instanceof Demand.Shared
                    || fault == Fault.LIMIT_IGNORED
                            && demand instanceof Demand.Permits
                            && other instanceof Demand.Permits;
            if (!beside) {
                return false;
            }
            permits += other instanceof Demand.Permits some ? some.permits() : 0;
        }
        return !(demand instanceof Demand.Permits mine)
                || permits + mine.permits() <= LIMIT
                || fault == Fault.LIMIT_IGNORED;
    }

    /** Whether it is compatible with all grants, and with all entries ahead of it that it must not overtake. */
    private boolean isNext(Lock lock, OwnerId owner, Demand demand) {
        List<Demand> ahead = new ArrayList<>(demands(lock));
        if (!hasRoom(ahead, demand)) {
            return false;
        }
        Entry head = null;
        if (queues) {
            for (Map.Entry<OwnerId, Entry> waiter : lock.queue.entrySet()) {
                if (waiter.getKey().equals(owner)) {
                    break;
                }
                head = head == null ? waiter.getValue() : head;
                ahead.add(waiter.getValue().demand);
            }
        }
        if (head == null || hasRoom(ahead, demand)) {
            return true;
        }
        if (kind != SimKind.REDIS) {
            return false;
        }
        if (world.now() - head.sinceNanos < PASSED_NANOS) {
            ofItsKind++;
            return true;
        }
        if (!head.called) {
            signal(lock);
        }
        return false;
    }

    private int slot(Lock lock, Demand demand) {
        if (!(demand instanceof Demand.Permits)) {
            return 0;
        }
        int slot = 1;
        while (fault != Fault.SLOT_TWICE && slot(lock, slot)) {
            slot++;
        }
        return slot;
    }

    private static boolean slot(Lock lock, int slot) {
        return lock.holders.values().stream().anyMatch(held -> held.grant.slot() == slot);
    }

    /** Numbers the requests in the order in which the engine makes them. */
    long nextRequest() {
        return ++requests;
    }

    AcquireResult tryAcquire(AcquireRequest request, SimWorld.Machine machine, long sent) {
        AcquisitionId acquisition = request.acquisition();
        OwnerId owner = acquisition.owner();
        Lock lock = lock(acquisition.name());
        if (abandoned.getOrDefault(owner, 0L) > sent && !kind.grantsLate() && fault != Fault.IGNORES_ABANDON) {
            return new AcquireResult.Busy(-1, null);
        }
        Held held = fault == Fault.FORGETS_OWNER_ON_RETRY ? null : lock.holders.get(owner);
        long ends = world.now() + request.leaseMillis() * 1_000_000;
        if (held != null) {
            lock.queue.remove(owner);
            held.expiresNanos = fault == Fault.LATE_ATTEMPT_PUTS_BACK ? firstEnds(owner, ends) : ends;
            Grant again = held.grant;
            return new AcquireResult.Granted(
                    new Grant(acquisition, again.token(), request.leaseMillis(), again.slot(), null));
        }
        if (fault == Fault.GRANTS_WHILE_HELD) {
            lock.holders.clear();
        }
        if (fault == Fault.GRANTS_WHILE_HELD || isNext(lock, owner, request.demand())) {
            lock.token = fault == Fault.TOKEN_IS_PLACE ? lock.queue.size() + 1 : nextToken(lock, owner);
            Grant grant = new Grant(acquisition, lock.token, request.leaseMillis(), slot(lock, request.demand()), null);
            begin(lock, machine, grant, ends);
            return new AcquireResult.Granted(grant);
        }
        boolean queued = (queues || notifies) && request.waitMillis() > 0;
        if (queued) {
            Entry entry = lock.queue.get(owner);
            if (entry == null) {
                entry = new Entry(machine, request, world.now(), kind.numbersEntries() ? nextNumber() : 0);
                lock.queue.put(owner, entry);
            }
            entry.latest = request;
            if (kind == SimKind.REDIS || kind == SimKind.TABLE) {
                entry.called = false;
                entry.endsNanos = world.now() + (kind == SimKind.REDIS ? ENTRY_NANOS : 2 * ENTRY_NANOS);
            }
        }
        long remaining = sticky
                ? -1
                : lock.holders.values().stream()
                        .mapToLong(other -> (other.expiresNanos - world.now()) / 1_000_000)
                        .min()
                        .orElse(-1);
        return new AcquireResult.Busy(remaining, queued ? new SimTicket(acquisition.name(), owner) : null);
    }

    private long firstEnds(OwnerId owner, long ends) {
        Long first = firstEnds.putIfAbsent(owner, ends);
        return first == null ? ends : first;
    }

    boolean listen(SimTicket ticket, @Nullable Runnable listener) {
        if (listener == null) {
            listeners.remove(ticket.owner());
            return false;
        }
        listeners.put(ticket.owner(), listener);
        Lock lock = lock(ticket.name());
        Entry waiting = lock.queue.get(ticket.owner());
        return waiting == null || hasRoom(demands(lock), waiting.demand);
    }

    boolean abandon(AcquisitionId acquisition, long sent) {
        abandoned.merge(acquisition.owner(), sent, Math::max);
        Lock lock = lock(acquisition.name());
        boolean waited = lock.queue.remove(acquisition.owner()) != null;
        if (lock.holders.containsKey(acquisition.owner())) {
            endBy(lock, acquisition.owner());
        } else if (waited) {
            signal(lock);
        }
        return true;
    }

    RenewResult renew(Grant grant) {
        Lock lock = lock(grant.acquisition().name());
        Held held = lock.holders.get(grant.acquisition().owner());
        if (held == null && fault != Fault.RENEWS_WHAT_IS_GONE) {
            return new RenewResult.Lost(LossReason.REVOKED, "not the holder");
        }
        long leaseMillis = grant.handle() instanceof Long full ? full : grant.leaseMillis();
        long ends = world.now() + leaseMillis * 1_000_000;
        lock.holders.values().stream()
                .filter(other -> held == null || other == held)
                .forEach(other -> other.expiresNanos = ends);
        return new RenewResult.Renewed(leaseMillis);
    }

    ReleaseResult release(Grant grant) {
        Lock lock = lock(grant.acquisition().name());
        OwnerId owner = grant.acquisition().owner();
        if (fault == Fault.RELEASES_FOR_ANYBODY && !lock.holders.isEmpty()) {
            owner = lock.holders.keySet().iterator().next();
        }
        if (!lock.holders.containsKey(owner)) {
            return ReleaseResult.NOT_HELD;
        }
        endBy(lock, owner);
        return ReleaseResult.RELEASED;
    }

    /** An administrator deletes the first holder's entry; returns its owner. */
    @Nullable OwnerId revoke(String name) {
        Lock lock = lock(name);
        if (lock.holders.isEmpty()) {
            return null;
        }
        OwnerId holder = lock.holders.keySet().iterator().next();
        revoked.add(holder);
        end(lock, holder);
        return holder;
    }

    /** Whether a machine holds a name or waits for it. */
    boolean holdsOrAwaits(SimWorld.Machine machine) {
        return locks.keySet().stream()
                .map(this::lock)
                .anyMatch(lock -> lock.holders.values().stream().anyMatch(held -> held.machine == machine)
                        || queues && lock.queue.values().stream().anyMatch(entry -> entry.machine == machine));
    }

    /** Since when a name is free; the current time if it is held. Changes nothing. */
    long freeSinceNanos(String name) {
        Lock lock = locks.get(name);
        return lock == null ? 0 : lock.holders.isEmpty() ? lock.freeSinceNanos : world.now();
    }

    boolean isHeldOrAwaited(String name) {
        Lock lock = lock(name);
        return !lock.holders.isEmpty() || queues && !lock.queue.isEmpty();
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        locks.forEach((name, lock) -> text.append(name)
                .append(": held=")
                .append(lock.holders.size())
                .append(" queue=")
                .append(lock.queue.size())
                .append("; "));
        return text.toString();
    }
}
