package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.BackendDriver;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Who looks after leases: without a server. */
final class SharedLeasesTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");

    private final MadeUpWatch etcd = new MadeUpWatch();
    private final SharedLeases leases = new SharedLeases(etcd.calls(), (place, detail) -> {});

    @AfterEach
    void close() {
        etcd.close();
    }

    /** A member pauses, say. The waiter does not ask meanwhile, and would lose its place. */
    @Test
    void renewalForAWaiterFails_isTriedAgain_untilTheLeaseIsGone() {
        SharedLease lease = new SharedLease(7, 1, SentAt.now(), 0);
        var acquisition = BackendDriver.newAcquisition("n");
        var slot = new QueueSlots.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        var place = new EtcdAcquisition(acquisition, slot, KEYS.place(acquisition, slot), BackendDriver.IDENTITY);
        place.saw(new KeyState(10, 10, 10, 0, lease));
        place.waiting();

        leases.lookAfter(lease);

        long startNanos = System.nanoTime();
        await().atMost(Duration.ofSeconds(60)).until(() -> {
            assertThat(etcd.runPlanned()).as("something is planned").isPositive();
            return System.nanoTime() - startNanos > 2 * lease.ttlNanos();
        });
        lease.end();
        await().atMost(Duration.ofSeconds(60)).until(() -> {
            etcd.runPlanned();
            return !lease.upkeep().get();
        });
    }
}
