package dev.holdfast.lock.engine;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUsage;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Describes lock entries for {@link dev.holdfast.lock.LockClient#held()}. */
final class EntryUsage {
    private EntryUsage() {}

    /** The holders and the waiters of an entry; called within a transition. */
    static LockUsage of(EntryContext entry, HeldLock heldLock, Collection<Waiter> stuck) {
        List<LockUsage.Waiter> waiting = new ArrayList<>();
        for (Waiter waiter = entry.queue().head(); waiter != null; waiter = waiter.after) {
            waiting.add(of(waiter, entry));
        }
        stuck.forEach(waiter -> waiting.add(of(waiter, entry)));
        return new LockUsage(entry.name(), heldLock.usage(), waiting);
    }

    private static LockUsage.Waiter of(Waiter waiter, EntryContext entry) {
        Demand demand = entry.demand();
        return new LockUsage.Waiter(
                waiter.requester.getName(),
                waiter.thread() == null,
                waiter.asLease,
                entry.engine().wallTimeOf(waiter.sinceNanos),
                demand);
    }

    /** Merges the descriptions of each name and leaves out unused names; keeps the order of arrival. */
    static List<LockUsage> byName(List<LockUsage> usages) {
        Map<String, LockUsage> used = new LinkedHashMap<>();
        for (LockUsage usage : usages) {
            if (!usage.holders().isEmpty() || !usage.waiters().isEmpty()) {
                used.merge(usage.name(), usage, EntryUsage::together);
            }
        }
        return List.copyOf(used.values());
    }

    private static LockUsage together(LockUsage one, LockUsage other) {
        List<LockUsage.Holder> holders = new ArrayList<>(one.holders());
        holders.addAll(other.holders());
        holders.sort(Comparator.comparingLong(LockUsage.Holder::token));
        List<LockUsage.Waiter> waiters = new ArrayList<>(one.waiters());
        waiters.addAll(other.waiters());
        waiters.sort(Comparator.comparing(LockUsage.Waiter::since));
        return new LockUsage(one.name(), holders, waiters);
    }
}
