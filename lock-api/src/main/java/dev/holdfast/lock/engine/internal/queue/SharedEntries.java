package dev.holdfast.lock.engine.internal.queue;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.runtime.Failures;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The lock entries of a client for readers and permits: generations of readers, of which the latest of a name may admit more
 * ({@link Admission}), and one entry for each acquisition of permits. Idle entries are removed. Thread-safe.
 */
final class SharedEntries {
    private final EngineContext engine;
    private final LockEntry.Registry registry;
    private final ConcurrentMap<String, Set<LockEntry>> all = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, LockEntry> latestReaders = new ConcurrentHashMap<>();

    SharedEntries(EngineContext engine, LockEntry.Registry registry) {
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

    /** Submits a reader to the generation of its own thread, to the latest one, or to a new one. */
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

    /** Submits a waiter to an entry of its own. */
    LockEntry submitAlone(String name, Demand demand, Waiter waiter) {
        while (true) {
            LockEntry entry = newEntry(name, demand);
            if (entry.submit(waiter)) { // otherwise the entry was retired by a query before its waiter arrived
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

    /** The entry where a thread holds the read lock, or held it when the lease was lost; null if there is none. */
    @Nullable LockEntry readerOf(String name, Thread thread) {
        for (LockEntry entry : of(name)) {
            if (entry.demand() instanceof Demand.Shared && entry.holds().heldBy(thread, false) != null) {
                return entry;
            }
        }
        return null;
    }

    /**
     * Refuses a request for the exclusive lock by a thread that reads.
     *
     * @throws IllegalStateException if the thread holds the read lock, and would wait for itself
     */
    void refuseToUpgrade(String name, Waiter waiter) {
        if (waiter.thread() == null || waiter.triesOnce()) {
            return;
        }
        for (LockEntry entry : of(name)) {
            Hold own = entry.holds().heldBy(waiter.requester, false);
            if (own != null
                    && own.state == Hold.State.HELD // it blocks the writer even while it is in doubt
                    && own.heldGrant.remainingNanos(engine.ticker()) > 0) {
                throw Failures.readsAlready(name, own.token, waiter.requester);
            }
        }
    }

    /** Reports that a writer of this client waits: soon no more readers join the present ones. */
    void onWriterWaiting(String name, Waiter writer) {
        LockEntry latest = latestReaders.get(name);
        if (latest != null) {
            latest.writerWaits(writer);
        }
    }

    /** Watches a reader that waits although its thread reads: then a writer stands between the two, and waits for the first. */
    void watchShares(String name, LockEntry entry, Waiter waiter) {
        for (LockEntry other : of(name)) {
            if (other != entry && other.demand() instanceof Demand.Shared) {
                other.watch(waiter);
            }
        }
    }

    /** Watches a waiter for permits if its thread has so many that the limit cannot be kept before it closes some. */
    void watchPermits(String name, Demand.Permits demand, Waiter waiter) {
        int held = 0;
        LockEntry own = null;
        for (LockEntry other : of(name)) {
            if (other.demand() instanceof Demand.Permits more && other.isAskedForBy(waiter.requester)) {
                held += more.permits();
                own = other;
            }
        }
        if (own != null && held + demand.permits() > demand.limit()) {
            own.watch(waiter);
        }
    }
}
