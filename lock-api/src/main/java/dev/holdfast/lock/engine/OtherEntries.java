package dev.holdfast.lock.engine;

import dev.holdfast.lock.Demand;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The lock entries of a client besides those that hold alone: generations of readers, of which the latest one of a name may
 * take in more of them ({@link Admission}), and one for each acquisition of permits. Each leaves when it is idle. Thread-safe.
 */
final class OtherEntries {
    private final EngineContext engine;
    private final LockEntry.Registry registry;
    private final ConcurrentMap<String, Set<LockEntry>> all = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, LockEntry> latestReaders = new ConcurrentHashMap<>();

    OtherEntries(EngineContext engine, LockEntry.Registry registry) {
        this.engine = engine;
        this.registry = registry;
    }

    boolean isEmpty() {
        return all.isEmpty() && latestReaders.isEmpty();
    }

    Collection<LockEntry> of(String name) {
        Set<LockEntry> entries = all.get(name);
        return entries == null ? Set.of() : entries;
    }

    void forEach(Consumer<LockEntry> action) {
        all.values().forEach(entries -> entries.forEach(action));
    }

    /** Brings a reader to the generation of its own thread, to the latest one, or to a new one. */
    LockEntry read(String name, Waiter waiter) {
        LockEntry own = waiter.thread() == null ? null : readerOf(name, waiter.requester);
        if (own != null && own.submit(waiter)) {
            return own;
        }
        if (!Admission.mayShare(waiter.options)) {
            return submitAlone(name, Demand.SHARED, waiter);
        }
        while (true) {
            LockEntry latest = latestReaders.get(name);
            if (latest == null) {
                latest = latestReaders.computeIfAbsent(name, key -> newEntry(key, Demand.SHARED));
            }
            if (latest.submit(waiter)) {
                return latest;
            }
            latestReaders.remove(name, latest);
        }
    }

    /** Brings a waiter to an entry that it has for itself. */
    LockEntry submitAlone(String name, Demand demand, Waiter waiter) {
        while (true) {
            LockEntry entry = newEntry(name, demand);
            if (entry.submit(waiter)) { // else it has retired: somebody looked at it before its waiter came
                return entry;
            }
        }
    }

    private LockEntry newEntry(String name, Demand demand) {
        LockEntry entry = new LockEntry(name, demand, engine, registry);
        all.compute(name, (key, entries) -> {
            Set<LockEntry> more = entries == null ? ConcurrentHashMap.newKeySet() : entries;
            more.add(entry);
            return more;
        });
        return entry;
    }

    void remove(LockEntry entry) {
        latestReaders.remove(entry.name(), entry);
        all.computeIfPresent(entry.name(), (key, entries) -> {
            entries.remove(entry);
            return entries.isEmpty() ? null : entries;
        });
    }

    /** Where a thread reads by {@code lock}, or did when the lease was lost; null if nowhere. */
    @Nullable LockEntry readerOf(String name, Thread thread) {
        for (LockEntry entry : of(name)) {
            if (entry.demand() instanceof Demand.Shared && entry.holds().heldBy(thread, false) != null) {
                return entry;
            }
        }
        return null;
    }

    /**
     * A thread is about to ask for the lock alone.
     *
     * @throws IllegalStateException if it reads by {@code lock}, and would wait for itself
     */
    void refuseToUpgrade(String name, Waiter waiter) {
        if (waiter.thread() == null || waiter.triesOnce()) {
            return;
        }
        for (LockEntry entry : of(name)) {
            Hold own = entry.holds().heldBy(waiter.requester, false);
            if (own != null
                    && own.state == Hold.State.HELD // in doubt or not, it is in the way
                    && own.heldGrant.remainingNanos(engine.ticker()) > 0) {
                throw Failures.readsAlready(name, own.token, waiter.requester);
            }
        }
    }

    /** One of this client waits to hold a lock alone: soon no more readers join those who read. */
    void onWriterWaiting(String name, Waiter writer) {
        LockEntry latest = latestReaders.get(name);
        if (latest != null) {
            latest.writerWaits(writer);
        }
    }
}
