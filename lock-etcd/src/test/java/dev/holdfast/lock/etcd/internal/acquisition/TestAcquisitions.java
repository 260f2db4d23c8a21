package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import java.util.Objects;
import java.util.UUID;

/** Acquisitions and leases as a backend makes them, without one. */
public final class TestAcquisitions {
    public static final EtcdKeys KEYS = new EtcdKeys("b/");
    public static final String NAME = "n";

    private TestAcquisitions() {}

    public static EtcdAcquisition create() {
        return create(NAME, Demand.EXCLUSIVE);
    }

    public static EtcdAcquisition create(String name, Demand demand) {
        var acquisition = new AcquisitionId(name, OwnerId.random(), demand);
        var slot = new ClientKeyPool.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        return new EtcdAcquisition(acquisition, slot, KEYS.acquisitionKey(acquisition, slot), BackendDriver.IDENTITY);
    }

    /** Of thirty seconds, granted now. */
    public static SharedLease lease(long id) {
        return lease(id, 30, Duration.ZERO);
    }

    public static SharedLease lease(long id, long ttlSeconds, Duration age) {
        LeaseRequestTime now = LeaseRequestTime.now();
        return new SharedLease(
                id, ttlSeconds, new LeaseRequestTime(now.nanos() - age.toNanos(), now.wallAheadNanos()), 0);
    }

    /** One whose key was last seen on that lease, as it was created. */
    public static EtcdAcquisition seenOn(SharedLease lease, long created) {
        EtcdAcquisition acquisition = create();
        acquisition.update(new KeyState(created, created, created, 0, lease));
        return acquisition;
    }

    public static EtcdAcquisition waitingOn(SharedLease lease, long created) {
        EtcdAcquisition acquisition = seenOn(lease, created);
        acquisition.keepWaiting();
        return acquisition;
    }

    public static Grant heldOn(SharedLease lease, long created, long leaseMillis) {
        EtcdAcquisition acquisition = seenOn(lease, created);
        Grant grant = new Grant(acquisition.id(), created, leaseMillis, 0, acquisition);
        acquisition.hold(grant, leaseMillis);
        return grant;
    }

    public static EtcdAcquisition acquisitionOf(Grant grant) {
        return Objects.requireNonNull(EtcdAcquisition.of(grant));
    }
}
