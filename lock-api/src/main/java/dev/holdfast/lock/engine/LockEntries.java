package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** The names that a client deals with now: one {@link LockEntry} each, which leaves when it is idle. */
final class LockEntries implements LockEntry.Registry, GrantListener {
    private final EngineContext engine;
    private final ConcurrentMap<String, LockEntry> entries = new ConcurrentHashMap<>();
    private final AtomicBoolean closed = new AtomicBoolean();

    LockEntries(EngineContext engine) {
        this.engine = engine;
    }

    /** Brings a waiter to the entry of its name. */
    LockEntry submit(String name, Waiter waiter) {
        while (true) {
            LockEntry entry = entries.get(name);
            if (entry == null) {
                entry = entries.computeIfAbsent(name, key -> new LockEntry(key, engine, this));
            }
            if (entry.submit(waiter)) {
                return entry;
            }
            entries.remove(name, entry);
        }
    }

    /** The present entry of a name, or null if nobody contends for it. */
    @Nullable LockEntry find(String name) {
        return entries.get(name);
    }

    @Override
    public void forget(LockEntry entry) {
        entries.remove(entry.name(), entry);
    }

    boolean isEmpty() {
        return entries.isEmpty();
    }

    /** What is held and waited for now. */
    List<LockUsage> usage() {
        List<LockUsage> used = new ArrayList<>();
        for (LockEntry entry : entries.values()) {
            LockUsage usage = entry.usage();
            if (usage != null) {
                used.add(usage);
            }
        }
        return List.copyOf(used);
    }

    // ---- the backend's side

    @Override
    public void suspect(Grant grant, String detail) {
        LockEntry entry = entries.get(grant.acquisition().name());
        if (entry != null) {
            entry.doubt(grant.acquisition().owner(), detail);
        }
    }

    @Override
    public void lost(Grant grant, LossReason reason, String detail) {
        LockEntry entry = entries.get(grant.acquisition().name());
        if (entry != null) {
            entry.lost(grant.acquisition().owner(), reason, detail);
        }
    }

    // ---- the end

    @Override
    public boolean isClosed() {
        return closed.get();
    }

    void requireOpen(String name) {
        if (isClosed()) {
            throw Failures.closed(name);
        }
    }

    /** From now on nobody is let in; false if that was so already. */
    boolean refuse() {
        return closed.compareAndSet(false, true);
    }

    /** Fails the waiters and releases what is held. */
    void close() {
        entries.values().forEach(LockEntry::close);
    }
}
