package dev.holdfast.lock.etcd;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import java.util.Objects;
import java.util.UUID;

/** Acquisitions and leases as a backend makes them, without one. */
final class Places {
    static final EtcdKeys KEYS = new EtcdKeys("b/");
    static final String NAME = "n";

    private Places() {}

    static EtcdAcquisition create() {
        return create(NAME, Demand.EXCLUSIVE);
    }

    static EtcdAcquisition create(String name, Demand demand) {
        var acquisition = new AcquisitionId(name, OwnerId.random(), demand);
        var slot = new QueueSlots.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        return new EtcdAcquisition(acquisition, slot, KEYS.acquisitionKey(acquisition, slot), BackendDriver.IDENTITY);
    }

    /** Of thirty seconds, granted now. */
    static SharedLease lease(long id) {
        return lease(id, 30, Duration.ZERO);
    }

    static SharedLease lease(long id, long ttlSeconds, Duration age) {
        SentAt now = SentAt.now();
        return new SharedLease(id, ttlSeconds, new SentAt(now.nanos() - age.toNanos(), now.wallAheadNanos()), 0);
    }

    /** One whose key was last seen on that lease, as it was created. */
    static EtcdAcquisition seenOn(SharedLease lease, long created) {
        EtcdAcquisition acquisition = create();
        acquisition.update(new KeyState(created, created, created, 0, lease));
        return acquisition;
    }

    static EtcdAcquisition waitingOn(SharedLease lease, long created) {
        EtcdAcquisition acquisition = seenOn(lease, created);
        acquisition.keepWaiting();
        return acquisition;
    }

    static Grant heldOn(SharedLease lease, long created, long leaseMillis) {
        EtcdAcquisition acquisition = seenOn(lease, created);
        Grant grant = new Grant(acquisition.id(), created, leaseMillis, 0, acquisition);
        acquisition.hold(grant, leaseMillis);
        return grant;
    }

    static EtcdAcquisition acquisitionOf(Grant grant) {
        return Objects.requireNonNull(EtcdAcquisition.of(grant));
    }
}
