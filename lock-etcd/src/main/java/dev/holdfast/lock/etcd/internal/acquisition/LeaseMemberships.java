package dev.holdfast.lock.etcd.internal.acquisition;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/** The leases that have one acquisition among their members. Thread-safe. */
final class LeaseMemberships {
    private final LeaseMember member;
    private final Set<SharedLease> leases = ConcurrentHashMap.newKeySet();

    LeaseMemberships(LeaseMember member) {
        this.member = member;
    }

    void join(SharedLease lease) {
        if (leases.add(lease)) {
            lease.join(member);
        }
    }

    void leaveUnless(Predicate<SharedLease> needed) {
        for (SharedLease lease : leases) {
            if (!needed.test(lease) && leases.remove(lease)) {
                lease.leave(member);
            }
        }
    }

    void leaveAll() {
        leases.forEach(lease -> lease.leave(member));
        leases.clear();
    }
}
