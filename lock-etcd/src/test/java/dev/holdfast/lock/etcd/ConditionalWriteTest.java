package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.BackendDriver;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What is not written at all: without a server. */
final class ConditionalWriteTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");

    private final MadeUpWatch etcd = new MadeUpWatch();
    private final SharedLease lease = new SharedLease(7, 30, SentAt.now(), 0);
    private final ConditionalWrite writes =
            new ConditionalWrite(etcd.calls(), KEYS, new SharedLeases(etcd.calls(), (place, detail) -> {}));

    @AfterEach
    void close() {
        etcd.close();
    }

    /** A thread stood still before it. The tombstones that are being written keep out what was sent before, and this would come later. */
    @Test
    void writeOfAnAcquisitionThatIsBeingEnded_isNotSent() throws Exception {
        var acquisition = BackendDriver.newAcquisition("n");
        var slot = new QueueSlots.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        var place = new EtcdAcquisition(acquisition, slot, KEYS.place(acquisition, slot), BackendDriver.IDENTITY);
        place.ending();

        var result = writes.send(place, lease, write -> List.of(place.put(write, null)));

        assertThat(result.get()).isInstanceOf(ConditionalWrite.Result.Ended.class);
        assertThat(etcd.requests).hasValue(0);
        assertThat(place.openCreations()).isEmpty();
    }
}
