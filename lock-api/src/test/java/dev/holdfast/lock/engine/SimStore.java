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
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The simulated server. With {@code queues} it keeps a FIFO queue and signals its head; with {@code sticky} a grant does
 * not end by itself, as with stores that bind it to a session that lives on. A {@link Fault} breaks it on purpose.
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
        IGNORES_ABANDON
    }

    record SimTicket(String name, OwnerId owner) implements Ticket {}

    private static final class Lock {
        @Nullable OwnerId holder;

        SimWorld.@Nullable Machine holderMachine;
        long expiresNanos;
        long token;
        final Map<OwnerId, SimWorld.Machine> queue = new LinkedHashMap<>();
    }

    private final SimWorld world;
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
    private long requests;

    SimStore(SimWorld world, boolean queues, boolean sticky, Fault fault) {
        this.world = world;
        this.queues = queues;
        this.sticky = sticky;
        this.fault = fault;
    }

    private Lock lock(String name) {
        Lock lock = locks.computeIfAbsent(name, key -> new Lock());
        boolean timeIsUp = world.now() >= lock.expiresNanos;
        boolean ends = sticky ? lock.holderMachine != null && lock.holderMachine.dead && timeIsUp : timeIsUp;
        if (lock.holder != null && ends) {
            free(lock);
        }
        lock.queue.values().removeIf(machine -> machine.dead);
        return lock;
    }

    private void free(Lock lock) {
        lock.holder = null;
        lock.holderMachine = null;
        if (fault == Fault.RESETS_TOKENS) {
            lock.token = 0;
        }
        lock.queue.keySet().stream().findFirst().ifPresent(head -> {
            Runnable listener = listeners.get(head);
            if (listener != null) {
                listener.run();
            }
        });
    }

    /** Numbers the requests in the order in which the engine makes them. */
    long nextRequest() {
        return ++requests;
    }

    AcquireResult tryAcquire(AcquireRequest request, SimWorld.Machine machine, long sent) {
        AcquisitionId acquisition = request.acquisition();
        OwnerId owner = acquisition.owner();
        Lock lock = lock(acquisition.name());
        if (abandoned.getOrDefault(owner, 0L) > sent && fault != Fault.IGNORES_ABANDON) {
            return new AcquireResult.Busy(-1, null);
        }
        boolean mine = owner.equals(lock.holder) && fault != Fault.FORGETS_OWNER_ON_RETRY;
        boolean first =
                lock.queue.isEmpty() || lock.queue.keySet().iterator().next().equals(owner);
        boolean free = lock.holder == null && (first || !queues);
        if (mine || free || fault == Fault.GRANTS_WHILE_HELD) {
            if (!mine) {
                lock.token++;
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
        boolean queued = queues && request.waitMillis() > 0;
        if (queued) {
            lock.queue.putIfAbsent(owner, machine);
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
                .anyMatch(lock -> lock.holderMachine == machine || lock.queue.containsValue(machine));
    }

    boolean isHeldOrAwaited(String name) {
        Lock lock = lock(name);
        return lock.holder != null || !lock.queue.isEmpty();
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
