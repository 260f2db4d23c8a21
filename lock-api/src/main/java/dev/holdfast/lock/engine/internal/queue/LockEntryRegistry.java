package dev.holdfast.lock.engine.internal.queue;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.internal.runtime.Failures;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The names that a client uses now: one {@link LockEntry} for each exclusive lock, which is removed when it is idle, and {@link
 * SharedEntries} for readers and permits.
 */
public final class LockEntryRegistry implements LockEntry.Registry, GrantListener {
    private final EngineContext engine;
    private final ConcurrentMap<String, LockEntry> entries = new ConcurrentHashMap<>();
    private final SharedEntries shared;
    private final AtomicBoolean closed = new AtomicBoolean();

    public LockEntryRegistry(EngineContext engine) {
        this.engine = engine;
        this.shared = new SharedEntries(engine, this);
    }

    /** Submits a waiter for the exclusive lock to the entry of its name. */
    public LockEntry submit(String name, Waiter waiter) {
        if (shared.isEmpty()) {
            return submitExclusive(name, waiter);
        }
        shared.refuseToUpgrade(name, waiter);
        LockEntry entry = submitExclusive(name, waiter);
        if (waiter.state == Waiter.State.WAITING) {
            shared.onWriterWaiting(name, waiter);
            shared.of(name).forEach(other -> other.watch(waiter));
        }
        return entry;
    }

    /** Submits a reader: to the exclusive lock that its thread holds, or to the other readers. */
    public LockEntry read(String name, Waiter waiter) {
        LockEntry alone = entries.get(name);
        if (alone != null && waiter.thread() != null && alone.readWithin(waiter)) {
            return alone;
        }
        LockEntry entry = shared.read(name, waiter);
        if (waiter.state == Waiter.State.WAITING) {
            if (alone != null) {
                alone.watch(waiter);
            }
            shared.watchShares(name, entry, waiter);
        }
        return entry;
    }

    /** Submits a waiter for permits to an entry of its own. */
    public LockEntry permit(String name, Demand.Permits demand, Waiter waiter) {
        LockEntry entry = shared.submitAlone(name, demand, waiter);
        if (waiter.state == Waiter.State.WAITING) {
            LockEntry alone = entries.get(name);
            if (alone != null) {
                alone.watch(waiter);
            }
            shared.watchPermits(name, demand, waiter);
        }
        return entry;
    }

    /** Submits a waiter to the name's exclusive entry. An entry that has retired meanwhile refuses it and is replaced by a new one. */
    private LockEntry submitExclusive(String name, Waiter waiter) {
        while (true) {
            LockEntry entry = entries.get(name);
            if (entry == null) {
                LockEntry made = new LockEntry(name, engine, this);
                LockEntry other = entries.putIfAbsent(name, made);
                entry = other == null ? made : other;
            }
            if (entry.submit(waiter)) {
                return entry;
            }
            entries.remove(name, entry);
        }
    }

    /** The present exclusive entry of a name; null if it is unused. */
    public @Nullable LockEntry find(String name) {
        return entries.get(name);
    }

    /** The entry where a thread holds the read lock, or held it when the lease was lost; null if there is none. */
    public @Nullable LockEntry findReader(String name, Thread thread) {
        LockEntry alone = entries.get(name);
        return alone != null && alone.holds().heldBy(thread, true) != null ? alone : shared.readerOf(name, thread);
    }

    @Override
    public void retired(LockEntry entry) {
        if (entry.demand() instanceof Demand.Exclusive) {
            entries.remove(entry.name(), entry);
        } else {
            shared.remove(entry);
        }
    }

    public boolean isEmpty() {
        return entries.isEmpty() && shared.isEmpty();
    }

    /** The held locks and the waiters. */
    public List<LockUsage> usage() {
        List<LockUsage> used = new ArrayList<>();
        forEach(entry -> used.add(entry.usage()));
        return EntryUsage.byName(used);
    }

    // ---- reports of the backend

    @Override
    public void suspect(Grant grant, String detail) {
        forEach(grant, entry -> entry.doubt(grant.acquisition().owner(), detail));
    }

    @Override
    public void lost(Grant grant, LossReason reason, String detail) {
        forEach(grant, entry -> entry.lost(grant, reason, detail));
    }

    /** Applies an action to all entries that may hold a grant; at most one of them has its owner. */
    private void forEach(Grant grant, Consumer<LockEntry> action) {
        String name = grant.acquisition().name();
        if (!(grant.demand() instanceof Demand.Exclusive)) {
            shared.of(name).forEach(action);
            return;
        }
        LockEntry entry = entries.get(name);
        if (entry != null) {
            action.accept(entry);
        }
    }

    private void forEach(Consumer<LockEntry> action) {
        entries.values().forEach(action);
        shared.forEach(action);
    }

    // ---- the end

    @Override
    public boolean isClosed() {
        return closed.get();
    }

    public void requireOpen(String name) {
        if (isClosed()) {
            throw Failures.closed(name);
        }
    }

    /** Refuses all further waiters; returns false if that was so already. */
    public boolean refuseWaiters() {
        return closed.compareAndSet(false, true);
    }

    /** Fails the waiters and releases the held locks, but for those under which work still runs. */
    public void close(Set<String> running) {
        forEach(entry -> entry.close(running.contains(entry.name())));
    }
}
