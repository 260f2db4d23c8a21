package dev.holdfast.lock.engine;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The simulated server. With {@code queues} it keeps a FIFO queue and signals its head; with {@code sticky} a grant does
 * not end by itself, as with stores that bind it to a session that lives on. A {@link SimKind} says what is a store's own. A
 * {@link Fault} breaks it on purpose.
 */
final class SimStore {
    /** What the checks must be able to find. */
    enum Fault {
        NONE,
        GRANTS_WHILE_HELD,
        RELEASES_FOR_ANYBODY,
        RENEWS_WHAT_IS_GONE,
        RESETS_TOKENS,
        FORGETS_OWNER_ON_RETRY,
        /** A holder's attempt that comes late puts the lock back on the lease of its first grant. */
        LATE_ATTEMPT_PUTS_BACK,
        IGNORES_ABANDON,
        /** What was forgotten begins with the first token again, whatever the clock says. */
        FORGETS_TOKENS,
        /** A token is the place in the queue, which begins anew when the queue is empty. */
        TOKEN_IS_PLACE
    }

    record SimTicket(String name, OwnerId owner) implements Ticket {}

    private static final long PASSED_NANOS = 30_000_000;
    private static final long CALLED_NANOS = 700_000_000;
    private static final long ENTRY_NANOS = 5_000_000_000L;

    /** A place in the queue; of a store that has none but notifies, a caller that listens, which is nothing on the server. */
    private static final class Entry {
        final SimWorld.Machine machine;
        final long sinceNanos;
        final long number;
        long endsNanos = Long.MAX_VALUE;
        boolean called;

        Entry(SimWorld.Machine machine, long sinceNanos, long number) {
            this.machine = machine;
            this.sinceNanos = sinceNanos;
            this.number = number;
        }
    }

    private static final class Lock {
        @Nullable OwnerId holder;

        SimWorld.@Nullable Machine holderMachine;
        long expiresNanos;
        long token;
        final Map<OwnerId, Entry> queue = new LinkedHashMap<>();
    }

    private final SimWorld world;
    private final SimKind kind;
    private final boolean notifies;
    private final boolean queues;
    private final boolean sticky;
    private final Fault fault;
    private final Map<String, Lock> locks = new HashMap<>();
    /** When each was last abandoned: that promises something of the attempts before it, and nothing of those after it. */
    private final Map<OwnerId, Long> abandoned = new HashMap<>();
    /** When the lease of each acquisition's first grant ends. */
    private final Map<OwnerId, Long> firstEnds = new HashMap<>();
    /** Ended by an administrator: no client can know of that in time. */
    final Set<OwnerId> revoked = new HashSet<>();

    private final Map<OwnerId, Runnable> listeners = new HashMap<>();
    BiConsumer<String, OwnerId> onGrant = (name, owner) -> {};
    int grants;
    /** How often it did what only its kind does: what is forgotten, sessions that end, signals without a reason, calls of all. */
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
        boolean timeIsUp =
                world.now() >= (kind == SimKind.ZOOKEEPER ? sessionEnds(lock.holderMachine) : lock.expiresNanos);
        boolean ends = sticky ? lock.holderMachine != null && lock.holderMachine.dead && timeIsUp : timeIsUp;
        if (lock.holder != null && ends) {
            SimWorld.Machine machine = lock.holderMachine;
            free(lock);
            if (kind == SimKind.ZOOKEEPER) {
                endSession(machine);
            }
        }
        lock.queue.values().removeIf(entry -> entry.machine.dead || entry.endsNanos <= world.now());
        if (kind == SimKind.REDIS
                && lock.holder == null
                && lock.queue.isEmpty()
                && lock.token > 0
                && world.chance(0.1)) {
            ofItsKind++;
            lock.token = 0;
        }
        return lock;
    }

    /** A session lives as long as the longest that any of its grants was confirmed for. */
    private long sessionEnds(SimWorld.@Nullable Machine machine) {
        return locks.values().stream()
                .filter(lock -> lock.holder != null && lock.holderMachine == machine)
                .mapToLong(lock -> lock.expiresNanos)
                .max()
                .orElse(0);
    }

    /** All its nodes go. */
    private void endSession(SimWorld.@Nullable Machine machine) {
        ofItsKind++;
        for (Lock lock : locks.values()) {
            boolean isHolder = lock.holder != null && lock.holderMachine == machine;
            boolean some = lock.queue.values().removeIf(entry -> entry.machine == machine);
            if (isHolder) {
                free(lock);
            } else if (some && lock.holder == null) {
                callFirst(lock);
            }
        }
    }

    private long nextToken(Lock lock, OwnerId owner) {
        if (kind == SimKind.REDIS && fault != Fault.FORGETS_TOKENS) {
            return Math.max(lock.token + 1, world.now() / 1000);
        }
        if (!kind.numbersEntries()) {
            return lock.token + 1;
        }
        Entry entry = lock.queue.get(owner);
        return entry == null ? nextNumber() : entry.number;
    }

    /** Others write as well. */
    private long nextNumber() {
        number += 1 + world.random.nextInt(3);
        return number;
    }

    private void free(Lock lock) {
        lock.holder = null;
        lock.holderMachine = null;
        if (fault == Fault.RESETS_TOKENS) {
            lock.token = 0;
        }
        callFirst(lock);
    }

    private void callFirst(Lock lock) {
        if (notifies) {
            ofItsKind += lock.queue.isEmpty() ? 0 : 1;
            List.copyOf(lock.queue.keySet()).forEach(this::call);
        } else {
            lock.queue.entrySet().stream().findFirst().ifPresent(head -> {
                call(head.getKey());
                if (kind == SimKind.REDIS) {
                    head.getValue().called = true;
                    head.getValue().endsNanos = Math.min(head.getValue().endsNanos, world.now() + CALLED_NANOS);
                }
            });
        }
        if (kind == SimKind.ETCD && world.chance(0.1)) { // a signal without a reason
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

    /** Whether a free lock may be given to an owner: nobody is before it in the queue, or whoever is may be passed. */
    private boolean isNext(Lock lock, OwnerId owner) {
        Map.Entry<OwnerId, Entry> head =
                lock.queue.entrySet().stream().findFirst().orElse(null);
        if (!queues || head == null || head.getKey().equals(owner)) {
            return true;
        }
        if (kind != SimKind.REDIS) {
            return false;
        }
        if (world.now() - head.getValue().sinceNanos < PASSED_NANOS) {
            ofItsKind++;
            return true;
        }
        if (!head.getValue().called) {
            callFirst(lock);
        }
        return false;
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
        boolean mine = owner.equals(lock.holder) && fault != Fault.FORGETS_OWNER_ON_RETRY;
        boolean free = lock.holder == null && isNext(lock, owner);
        if (mine || free || fault == Fault.GRANTS_WHILE_HELD) {
            if (!mine) {
                lock.token = fault == Fault.TOKEN_IS_PLACE ? lock.queue.size() + 1 : nextToken(lock, owner);
                grants++;
                onGrant.accept(acquisition.name(), owner);
            }
            lock.queue.remove(owner);
            lock.holder = owner;
            lock.holderMachine = machine;
            long ends = world.now() + request.leaseMillis() * 1_000_000;
            long firstEnds = firstEnds(owner, ends);
            lock.expiresNanos = mine && fault == Fault.LATE_ATTEMPT_PUTS_BACK ? firstEnds : ends;
            return new AcquireResult.Granted(new Grant(acquisition, lock.token, request.leaseMillis(), null));
        }
        boolean queued = (queues || notifies) && request.waitMillis() > 0;
        if (queued) {
            Entry entry = lock.queue.get(owner);
            if (entry == null) {
                entry = new Entry(machine, world.now(), kind.numbersEntries() ? nextNumber() : 0);
                lock.queue.put(owner, entry);
            }
            if (kind == SimKind.REDIS || kind == SimKind.TABLE) {
                entry.called = false;
                entry.endsNanos = world.now() + (kind == SimKind.REDIS ? ENTRY_NANOS : 2 * ENTRY_NANOS);
            }
        }
        long remaining = sticky || lock.holder == null ? -1 : (lock.expiresNanos - world.now()) / 1_000_000;
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
        return lock.holder == null;
    }

    boolean abandon(AcquisitionId acquisition, long sent) {
        abandoned.merge(acquisition.owner(), sent, Math::max);
        Lock lock = lock(acquisition.name());
        boolean head =
                !lock.queue.isEmpty() && lock.queue.keySet().iterator().next().equals(acquisition.owner());
        lock.queue.remove(acquisition.owner());
        if (acquisition.owner().equals(lock.holder) || head && lock.holder == null) {
            free(lock);
        }
        return true;
    }

    RenewResult renew(Grant grant) {
        Lock lock = lock(grant.acquisition().name());
        if (!grant.acquisition().owner().equals(lock.holder) && fault != Fault.RENEWS_WHAT_IS_GONE) {
            return new RenewResult.Lost(LossReason.REVOKED, "not the holder");
        }
        lock.expiresNanos = world.now() + grant.leaseMillis() * 1_000_000;
        return new RenewResult.Renewed(grant.leaseMillis());
    }

    ReleaseResult release(Grant grant) {
        Lock lock = lock(grant.acquisition().name());
        if (lock.holder != null
                && (grant.acquisition().owner().equals(lock.holder) || fault == Fault.RELEASES_FOR_ANYBODY)) {
            free(lock);
            return ReleaseResult.RELEASED;
        }
        return ReleaseResult.NOT_HELD;
    }

    /** An administrator deletes the holder's entry; returns whose it was. */
    @Nullable OwnerId revoke(String name) {
        Lock lock = lock(name);
        OwnerId holder = lock.holder;
        if (holder != null) {
            revoked.add(holder);
            free(lock);
        }
        return holder;
    }

    /** Whether a machine holds a name or waits for it. */
    boolean knows(SimWorld.Machine machine) {
        return locks.keySet().stream()
                .map(this::lock)
                .anyMatch(lock -> lock.holderMachine == machine
                        || queues && lock.queue.values().stream().anyMatch(entry -> entry.machine == machine));
    }

    boolean isHeldOrAwaited(String name) {
        Lock lock = lock(name);
        return lock.holder != null || queues && !lock.queue.isEmpty();
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        locks.forEach((name, lock) -> text.append(name)
                .append(": held=")
                .append(lock.holder != null)
                .append(" queue=")
                .append(lock.queue.size())
                .append("; "));
        return text.toString();
    }
}
